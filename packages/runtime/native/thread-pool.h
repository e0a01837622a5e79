// A pool of threads for one short job at a time, shared by every JavaScript thread of the process.
//
// A job is cut into pieces, and a short one's into a share of neighbours for each thread: a thread takes the pieces of its own
// share first, then what is left of the others'. So the same elements are met by the same thread from call to call, and
// found in its caches, while nobody waits for a slow one. The pieces of a long job are one share, for what goes through
// memory is read faster where threads go through it beside each other (by a tenth, in DRAM's open rows).
//
// A share is a 64-bit word that holds the job's number and how many of its pieces are unclaimed. A claim succeeds only while
// the job is running, and a job ends only when every claimed piece is done: so the job's fields are stable for the one who
// reads them after a claim, and a worker that the system keeps off the CPU has claimed nothing and holds up nobody. Claims go
// from a share's first piece to its last, and the caller's from the first share to the last: whatever a piece of its waits
// for is claimed, as is whatever the lowest of those waits for, so pieces may wait for those before them (`ordered`).
//
// Idle workers spin for a while, then sleep on a futex; they keep off the CPU of the thread whose job it is. Threads are
// started by the first job that wants them, take no signals, and never keep the process alive. The library is linked
// `nodelete`, since they run its code to the end.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "float-environment.h"
#include "thread-placement.h"

namespace pool {

using Body = void (*)(void *context, long begin, long end);

constexpr int maxThreads = 256;
constexpr int spins = 20000;          // 0.4 to 1 ms: longer than the gap between two kernels of one graph
constexpr int piecesPerThread = 16;   // of long jobs, so that a slow thread costs a sixteenth of its share at most
constexpr int longJob = 4;            // grains per thread from which on a job is cut finer than one piece per thread
constexpr int shortJob = 32;          // grains per thread up to which a job's elements may lie in the threads' own caches
constexpr size_t leastStackBytes = 1 << 20;

struct Job {
  Body body;
  void *context;
  long total;
  long piece;
  uint32_t pieces;
  uint32_t shares;  // no more than threads, nor than pieces
  /** The first piece of a share; that behind the last one, for the number of shares. */
  uint32_t first(uint32_t share) const { return static_cast<uint32_t>(static_cast<uint64_t>(pieces) * share / shares); }
};

// Each on a line of its own.
struct alignas(64) Share {
  std::atomic<uint64_t> state{0};  // job number << 32 | unclaimed pieces
};

inline pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;  // held by the thread whose job is running
inline Share shares[maxThreads];                          // the caller's first, then each worker's
inline uint32_t jobs = 0;                                 // guarded by `gate`
inline std::atomic<uint32_t> finished{0};                 // pieces done; the caller sleeps on it
inline std::atomic<uint32_t> epoch{0};                    // moves with each job; workers sleep on it
inline std::atomic<int> sleepers{0};
inline std::atomic<int> callerSleeps{0};
inline std::atomic<int> wanted{1};                        // threads, the caller's included
inline Job job{};
inline pthread_t workers[maxThreads];
inline int started = 0;                                   // guarded by `gate`
inline placement::Placed placed;                          // guarded by `gate`
inline bool forkHandler = false;                          // guarded by `gate`
inline thread_local bool inside = false;                  // this thread is running a piece

inline void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

inline void futexWait(std::atomic<uint32_t> &word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

inline void futexWake(std::atomic<uint32_t> &word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Claims and runs pieces of a share until none is left.
inline void runShare(uint32_t share) {
  std::atomic<uint64_t> &state = shares[share].state;
  uint64_t seen = state.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(seen) != 0) {
    if (!state.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    const long index = job.first(share + 1) - static_cast<uint32_t>(seen);
    const long begin = index * job.piece;
    const long end = job.total - begin < job.piece ? job.total : begin + job.piece;
    const uint32_t pieces = job.pieces;
    inside = true;
    job.body(job.context, begin, end);
    inside = false;
    if (finished.fetch_add(1) + 1 == pieces && callerSleeps.load() != 0) futexWake(finished, 1);
    seen = state.load(std::memory_order_acquire);
  }
}

// Runs the pieces of one's own share, then those that others have left. Shares that no job has set are empty.
inline void runPieces(uint32_t own, uint32_t count) {
  for (uint32_t step = 0; step < count; step++) runShare((own + step) % count);
}

inline void *work(void *argument) {
  const int index = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  resetFloatEnvironment();
  for (;;) {
    const uint32_t seen = epoch.load();
    if (index >= wanted.load() - 1) return nullptr;
    runPieces(static_cast<uint32_t>(index) + 1, static_cast<uint32_t>(wanted.load()));
    bool moved = false;
    for (int i = 0; i < spins && !moved; i++) {
      moved = epoch.load(std::memory_order_relaxed) != seen;
      pauseBriefly();
    }
    if (moved) continue;
    sleepers.fetch_add(1);
    if (epoch.load() == seen) futexWait(epoch, seen);
    sleepers.fetch_sub(1);
  }
}

// In the child of a fork there is one thread and no job.
inline void afterFork() {
  started = 0;
  placed = {};
  sleepers.store(0);
  for (Share &share : shares) share.state.store(0);
  pthread_mutex_init(&gate, nullptr);
}

// Starts the workers that are missing; what the system refuses is done without. Needs `gate`.
inline void startWorkers() {
  if (!forkHandler) {
    pthread_atfork(nullptr, nullptr, afterFork);
    forkHandler = true;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Kernels keep blocks of some hundred KB on the stack, for which not every C library's default has room.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  if (stack < leastStackBytes) pthread_attr_setstacksize(&attributes, leastStackBytes);
  while (started < wanted.load() - 1) {
    void *index = reinterpret_cast<void *>(static_cast<intptr_t>(started));
    if (pthread_create(&workers[started], &attributes, work, index) != 0) break;
    pthread_setname_np(workers[started], "tsinductor");
    started++;
    placed = {};
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Waits for pieces that workers have claimed.
inline void join(uint32_t pieces) {
  for (int i = 0; i < spins; i++) {
    if (finished.load(std::memory_order_acquire) == pieces) return;
    pauseBriefly();
  }
  callerSleeps.store(1);
  for (uint32_t done = finished.load(); done != pieces; done = finished.load()) futexWait(finished, done);
  callerSleeps.store(0);
}

// The length of a piece, a multiple of the grain.
inline long pieceLength(long grains, long grain, long threads) {
  const long share = grains >= longJob * threads ? threads * piecesPerThread : threads;
  const long pieces = grains < share ? grains : share;
  return (grains / pieces + (grains % pieces != 0)) * grain;
}

inline void parallel(Body body, void *context, long total, long grain) {
  if (total <= 0) return;
  if (grain < 1) grain = 1;
  const int threads = wanted.load(std::memory_order_relaxed);
  if (total <= grain || threads == 1 || inside || pthread_mutex_trylock(&gate) != 0) {
    body(context, 0, total);
    return;
  }
  if (started < threads - 1) startWorkers();
  placement::keepOffCaller(placed, workers, started);
  const long grains = total / grain + (total % grain != 0);
  const long piece = pieceLength(grains, grain, threads);
  const uint32_t pieces = static_cast<uint32_t>(total / piece + (total % piece != 0));
  const uint32_t most = grains > shortJob * threads ? 1 : static_cast<uint32_t>(threads);
  job = Job{body, context, total, piece, pieces, pieces < most ? pieces : most};
  finished.store(0);
  const uint64_t number = static_cast<uint64_t>(++jobs) << 32;
  for (uint32_t share = 0; share < job.shares; share++) {
    shares[share].state.store(number | (job.first(share + 1) - job.first(share)), std::memory_order_release);
  }
  epoch.fetch_add(1);
  const int asleep = sleepers.load();
  if (asleep > 0) futexWake(epoch, asleep < static_cast<int>(pieces) - 1 ? asleep : static_cast<int>(pieces) - 1);
  runPieces(0, job.shares);
  join(pieces);
  pthread_mutex_unlock(&gate);
}

// Sets the number of threads, the caller's included; workers beyond it have ended when this returns.
inline void setThreads(int threads) {
  pthread_mutex_lock(&gate);
  wanted.store(threads < 1 ? 1 : threads > maxThreads ? maxThreads : threads);
  if (started > wanted.load() - 1) {
    epoch.fetch_add(1);
    futexWake(epoch, INT_MAX);
    while (started > wanted.load() - 1) pthread_join(workers[--started], nullptr);
    placed = {};
  }
  pthread_mutex_unlock(&gate);
}

}  // namespace pool
