// Keeps workers off the CPU of the thread whose job they share in.
//
// A system wakes a worker where it pleases: often on the CPU of the thread that woke it, whose cache is warm. There it waits
// while the caller does all the work, or takes slices of the caller's time to spin in. Kernels that pack the threads of a
// virtual machine onto few of its CPUs leave it there for tens of milliseconds (seen: two threads at a quarter of the speed
// of one). So workers may run on every CPU of the caller's but the caller's own; among those the system chooses.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace placement {

constexpr int none = -1;

/**
 * Lets `count` workers run where the calling thread may, but not on `cpu`, where it runs. Where there are fewer CPUs than
 * threads, they may run on all. What the system refuses is done without.
 */
inline void keepOff(int cpu, const pthread_t *workers, int count) {
  cpu_set_t set;
  if (cpu < 0 || cpu >= CPU_SETSIZE || pthread_getaffinity_np(pthread_self(), sizeof set, &set) != 0) return;
  if (CPU_COUNT(&set) > count) CPU_CLR(cpu, &set);
  for (int i = 0; i < count; i++) pthread_setaffinity_np(workers[i], sizeof set, &set);
}

}  // namespace placement
