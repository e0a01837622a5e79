// A pool of threads for one short job at a time, shared by every JavaScript thread of the process.
//
// A job is cut into chunks, and a short one's into a share of neighbours for each thread: a thread takes the chunks of its own
// share first, then what is left of the others'. So the same elements are met by the same thread from call to call, and
// found in its caches, while nobody waits for a slow one. The chunks of a long job are one share, for what goes through
// memory is read faster where threads go through it beside each other (by a tenth, in DRAM's open rows).
//
// A share lies in one cache line: a 64-bit word that holds the job's number and how many of its chunks are unclaimed, and what
// the chunks are of. Where threads have no cache in common, each line that one gets from another costs as much as some hundred
// elements: a worker watches its own share's line, which brings it the job as well, and nothing else is told to it.
//
// A claim succeeds only while the job is running, and a job ends only when every claimed chunk is done: so a share is stable for
// the one who reads it after a claim, and a worker that the system keeps off the CPU has claimed nothing and holds up nobody.
// Claims go from a share's first chunk to its last, and the caller's from the first share to the last: whatever a chunk of its
// waits for is claimed, as is whatever the lowest of those waits for, so chunks may wait for those before them (`ordered`).
//
// Idle workers spin for a while, then sleep on a futex; they keep off the CPU of the thread whose job it is. Nobody depends on
// them: the caller runs what no worker has claimed. Threads are started by the first job that wants them, take no signals, and
// never keep the process alive. The library is linked `nodelete`, since they run its code to the end.
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
constexpr int longJob = 4;            // grains per thread from which on a job is cut finer than one chunk per thread; codegen-cpp's `chunks.several`
constexpr int shortJob = 32;          // grains per thread up to which a job's elements may lie in the threads' own caches
constexpr size_t leastStackBytes = 2 << 20;

struct Job {
  Body body;
  void *context;
  long total;
  long chunk;
};

/** The caller's first, then each worker's, which spins on `call` and sleeps on `asleep`. */
struct alignas(64) Share {
  std::atomic<uint64_t> state{0};   // job number << 32 | unclaimed chunks
  std::atomic<uint32_t> call{0};    // the last job that its worker was told of
  std::atomic<uint32_t> shares{0};  // of that job
  Job job{};                        // stable from a claim until what was claimed is done
  uint32_t end = 0;                 // the chunk behind the last one
  std::atomic<uint32_t> asleep{0};
};
static_assert(sizeof(Share) == 64, "a share is one line");

inline pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;  // held by the thread whose job is running
inline Share shares[maxThreads];
inline uint32_t jobs = 0;                                 // guarded by `gate`
inline uint32_t expected = 0;                             // `finished` when the job is done; guarded by `gate`
alignas(64) inline std::atomic<uint32_t> finished{0};     // chunks that workers have done; the caller sleeps on it
inline std::atomic<int> callerSleeps{0};
alignas(64) inline std::atomic<int> wanted{1};            // threads, the caller's included
inline std::atomic<int> sleepers{0};
inline pthread_t workers[maxThreads];
inline int started = 0;                                   // guarded by `gate`
inline placement::Placed placed;                          // guarded by `gate`
inline bool forkHandler = false;                          // guarded by `gate`
inline thread_local bool inside = false;                  // this thread is running a chunk

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

inline void futexWake(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

inline void runChunk(const Job &job, long index) {
  const long begin = index * job.chunk;
  const long end = job.total - begin < job.chunk ? job.total : begin + job.chunk;
  inside = true;
  job.body(job.context, begin, end);
  inside = false;
}

// Claims and runs chunks of a share until none is left; how many they were.
inline uint32_t runShare(Share &share) {
  uint64_t seen = share.state.load(std::memory_order_acquire);
  uint32_t done = 0;
  while (static_cast<uint32_t>(seen) != 0) {
    if (!share.state.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    runChunk(share.job, share.end - static_cast<uint32_t>(seen));
    done++;
    seen = share.state.load(std::memory_order_acquire);
  }
  return done;
}

// Runs the chunks of a worker's own share, then those that others have left. Shares that no job has set are empty. What was done
// is counted once for a share: the count's line would go from thread to thread at each chunk.
inline void help(uint32_t own) {
  const uint32_t count = shares[own].shares.load(std::memory_order_relaxed);
  for (uint32_t step = 0; step < count; step++) {
    const uint32_t done = runShare(shares[(own + step) % count]);
    if (done == 0) continue;
    finished.fetch_add(done);
    if (callerSleeps.load() != 0) futexWake(finished);
  }
}

inline void *work(void *argument) {
  const uint32_t own = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(argument));
  Share &share = shares[own];
  resetFloatEnvironment();
  for (;;) {
    const uint32_t seen = share.call.load(std::memory_order_acquire);
    if (static_cast<int>(own) >= wanted.load(std::memory_order_acquire)) return nullptr;
    help(own);
    bool moved = false;
    for (int i = 0; i < spins && !moved; i++) {
      moved = share.call.load(std::memory_order_relaxed) != seen;
      pauseBriefly();
    }
    if (moved) continue;
    share.asleep.store(1);
    sleepers.fetch_add(1);
    if (share.call.load() == seen) futexWait(share.asleep, 1);
    sleepers.fetch_sub(1);
    share.asleep.store(0);
  }
}

// Wakes the workers of the shares before `end`. A worker says that it sleeps before it looks at its `call` a last time, so whoever
// looks here after a fence misses nobody; who looks before it may miss one that is about to sleep. What a worker sleeps on is
// what is changed to wake it, so one that is woken before it sleeps does not.
inline void wake(uint32_t end) {
  if (sleepers.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t own = 1; own < end; own++) {
    Share &share = shares[own];
    if (share.asleep.load(std::memory_order_relaxed) != 0 && share.asleep.exchange(0) != 0) futexWake(share.asleep);
  }
}

// In the child of a fork there is one thread and no job.
inline void afterFork() {
  started = 0;
  placed = {};
  sleepers.store(0);
  expected = finished.load();
  for (Share &share : shares) {
    share.state.store(0);
    share.asleep.store(0);
  }
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
  // Kernels keep blocks of up to a MB on the stack, for which not every C library's default has room.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  size_t stack = 0;
  pthread_attr_getstacksize(&attributes, &stack);
  if (stack < leastStackBytes) pthread_attr_setstacksize(&attributes, leastStackBytes);
  while (started < wanted.load() - 1) {
    void *own = reinterpret_cast<void *>(static_cast<uintptr_t>(started + 1));
    if (pthread_create(&workers[started], &attributes, work, own) != 0) break;
    pthread_setname_np(workers[started], "tsinductor");
    started++;
    placed = {};
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Waits for chunks that workers have claimed.
inline void join() {
  for (int i = 0; i < spins; i++) {
    if (finished.load(std::memory_order_acquire) == expected) return;
    pauseBriefly();
  }
  callerSleeps.store(1);
  for (uint32_t done = finished.load(); done != expected; done = finished.load()) futexWait(finished, done);
  callerSleeps.store(0);
}

// The length of a chunk, a multiple of the grain.
inline long chunkLength(long grains, long grain, long threads) {
  const long share = grains >= longJob * threads ? threads * piecesPerThread : threads;
  const long chunks = grains < share ? grains : share;
  return (grains / chunks + (grains % chunks != 0)) * grain;
}

// Hands out the chunks of a job, the first to the caller, and tells the workers: their own shares come first, unless all is in
// the caller's. How many threads were told, the caller included: no more than there are chunks, whoever else is idle.
inline uint32_t publish(const Job &job, uint32_t chunks, uint32_t count, uint32_t threads) {
  const uint32_t helped = chunks < threads ? chunks : threads;
  const uint32_t number = ++jobs;
  const auto fill = [&](uint32_t own) {
    Share &share = shares[own];
    const uint32_t first = static_cast<uint32_t>(static_cast<uint64_t>(chunks) * own / count);
    share.job = job;
    share.end = static_cast<uint32_t>(static_cast<uint64_t>(chunks) * (own + 1) / count);
    const uint32_t unclaimed = share.end - first - (own == 0);
    share.state.store(static_cast<uint64_t>(number) << 32 | unclaimed, std::memory_order_release);
  };
  if (count == 1) fill(0);
  for (uint32_t own = 1; own < helped; own++) {
    if (own < count) fill(own);
    shares[own].shares.store(count, std::memory_order_relaxed);
    shares[own].call.store(number, std::memory_order_release);
  }
  if (count > 1) fill(0);
  return helped;
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
  const Job job{body, context, total, chunkLength(grains, grain, threads)};
  const uint32_t chunks = static_cast<uint32_t>(total / job.chunk + (total % job.chunk != 0));
  const uint32_t most = grains > shortJob * threads ? 1 : static_cast<uint32_t>(threads);
  const uint32_t count = chunks < most ? chunks : most;
  const uint32_t helped = publish(job, chunks, count, static_cast<uint32_t>(threads));
  wake(helped);
  runChunk(job, 0);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake(helped);
  uint32_t own = 1;
  for (uint32_t share = 0; share < count; share++) own += runShare(shares[share]);
  expected += chunks - own;
  join();
  pthread_mutex_unlock(&gate);
}

// Sets the number of threads, the caller's included; workers beyond it have ended when this returns.
inline void setThreads(int threads) {
  pthread_mutex_lock(&gate);
  wanted.store(threads < 1 ? 1 : threads > maxThreads ? maxThreads : threads);
  for (; started > wanted.load() - 1; started--) {
    Share &share = shares[started];
    share.call.store(++jobs);
    share.asleep.store(0);
    futexWake(share.asleep);
    pthread_join(workers[started - 1], nullptr);
    placed = {};
  }
  pthread_mutex_unlock(&gate);
}

}  // namespace pool
