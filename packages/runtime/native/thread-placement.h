// Keeps workers off the CPU of the thread whose job they share in.
//
// A system wakes a worker where it pleases: often on the CPU of the thread that woke it, whose cache is warm. There it waits
// while the caller does all the work, or takes slices of the caller's time to spin in. Kernels that pack the threads of a
// virtual machine onto few of its CPUs leave it there for tens of milliseconds (seen: two threads at less than half the
// speed of one). So workers may run on every CPU of the caller's but the caller's own; among those the system chooses.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace placement {

constexpr int mostWorkers = 16;  // more meet the caller seldom, and each costs a call of the system whenever it moves

/** For whom workers were placed last: the caller, where it ran, how many they are, and where they may run since. */
struct Placed {
  pthread_t caller{};
  int cpu = -1;
  int count = 0;
  cpu_set_t set{};
};

/**
 * Lets `count` workers run where the calling thread may, but not where it runs. Where there are fewer CPUs than threads, or many
 * workers, they may run on all. What the system refuses is done without. A caller whose own CPUs change is followed when it moves.
 */
inline void keepOffCaller(Placed &placed, const pthread_t *workers, int count) {
  const int cpu = sched_getcpu();
  const pthread_t caller = pthread_self();
  if (cpu == placed.cpu && pthread_equal(caller, placed.caller) && count == placed.count) return;
  cpu_set_t set;
  if (cpu < 0 || cpu >= CPU_SETSIZE || pthread_getaffinity_np(caller, sizeof set, &set) != 0) return;
  if (CPU_COUNT(&set) > count && count <= mostWorkers) CPU_CLR(cpu, &set);
  if (count != placed.count || !CPU_EQUAL(&set, &placed.set))
    for (int i = 0; i < count; i++) pthread_setaffinity_np(workers[i], sizeof set, &set);
  placed = {caller, cpu, count, set};
}

}  // namespace placement
