// The CUDA execution model on the host, for the subset that generated code uses: blocks, warps, barriers, shuffles and
// votes, shared memory, atomic updates, matrix instructions with the fragment layouts that PTX documents, asynchronous
// copies. Included in front of an unchanged .cu, which any C++17 compiler then builds. x86-64 has its own stack switch;
// elsewhere contexts of the C library are used.
//
// A launch runs twice from the same memory: threads and blocks in ascending order, then in descending order. Different
// results are a race. Around every buffer is memory that cannot be touched: in the first run the buffer lies against the one behind
// it, in the second against the one in front; what alignment leaves between must stay as it was filled, otherwise in each run.
// Shared memory is filled with NaN before each block; what an asynchronous copy brings is NaN until its group is waited for; a wide access must be aligned; a barrier or
// a warp's collective that some threads miss is reported. What is wrong is said with kernel, block and thread.
#define TSINDUCTOR_CUDA_EMULATION 1
// Kernels run once on little data: compiling them is what takes time.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O0")
#endif
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define __global__ __attribute__((weak))
#define __device__
#define __host__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__ __restrict
#define __launch_bounds__(...)

namespace emulation {

struct Index3 {
  unsigned x, y, z;
};

enum class State : uint8_t { ready, atBarrier, atWarp, done };

enum class Collective : uint8_t { none, sync, shuffle, vote, matrix, address };

constexpr unsigned warpSize = 32;
constexpr unsigned mostThreads = 1024;
constexpr size_t stackBytes = 256 << 10;
constexpr size_t mostShared = 228 << 10;
constexpr unsigned mostCopies = 64;
constexpr unsigned mostBuffers = 64;
constexpr int failed = -1;

/** An asynchronous copy whose data has not landed. */
struct Copy {
  void *to;
  const void *from;
  unsigned bytes, filled, group;
};

struct Fiber {
#if defined(__x86_64__)
  void *stack;
#else
  ucontext_t context;
#endif
  unsigned number;
  State state;
  Collective kind;
  uint32_t mask;
  uint64_t value[4];
  unsigned groups, copyCount;
  Copy copies[mostCopies];
};

/** What a launch printed: records of a block's number and a length, 8 bytes each, and a line of text. */
struct PrintLog {
  char *text;
  long bytes, room, lost, unused[3];
};

/** Memory of a buffer: pages that may be touched, `inside`, in the middle of a span of which nothing else may be. */
struct Buffer {
  const char *name;
  char *base, *inside, *place;
  size_t bytes, span, insideBytes;
  unsigned char filling;
};

struct Machine {
  Fiber fibers[mostThreads];
  uint64_t gathered[mostThreads][4];
#if defined(__x86_64__)
  void *mainStack;
#else
  ucontext_t mainContext;
#endif
  char *stacks;
  char *shared;
  unsigned sharedBytes;
  unsigned threads;
  Fiber *current;
  Index3 block, blocks;
  bool descending;
  void (*body)(char *const *, const long *, int *);
  char *const *arguments;
  const long *sizes;
  int *status;
  const char *kernel;
  bool hasFailed;
  char message[512];
  PrintLog log;
  sigjmp_buf escape;
  Buffer buffers[mostBuffers];
  unsigned bufferCount;
};

inline Machine *machine() {
  static thread_local Machine *own = nullptr;
  if (own == nullptr) {
    own = static_cast<Machine *>(mmap(nullptr, sizeof(Machine), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    own->stacks = static_cast<char *>(mmap(nullptr, mostThreads * stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  return own;
}

/** Says what is wrong, where, and leaves the launch. */
[[noreturn]] inline void fail(const char *format, ...) {
  Machine &m = *machine();
  char what[320];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(m.message, sizeof m.message, "%s: %s (block %u, thread %u, threads in %s order)", m.kernel, what, m.block.x,
           m.current == nullptr ? 0 : m.current->number, m.descending ? "descending" : "ascending");
  m.hasFailed = true;
  siglongjmp(m.escape, 1);
}

/** What `printf` is to a kernel: a line is kept once, from the run in ascending order. */
__attribute__((format(printf, 1, 2))) inline int print(const char *format, ...) {
  Machine &m = *machine();
  PrintLog &log = m.log;
  va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int length = vsnprintf(nullptr, 0, format, values);
  const long block = m.block.x, size = length, end = log.bytes + 16 + size;
  if (!m.descending && end >= log.room) {
    void *grown = realloc(log.text, 2 * end + 1024);
    if (grown != nullptr) log.text = static_cast<char *>(grown), log.room = 2 * end + 1024;
  }
  if (!m.descending && end < log.room) {
    memcpy(log.text + log.bytes, &block, 8);
    memcpy(log.text + log.bytes + 8, &size, 8);
    vsnprintf(log.text + log.bytes + 16, size + 1, format, again);
    log.bytes = end;
  } else if (!m.descending) {
    ++log.lost;
  }
  va_end(again);
  va_end(values);
  return length;
}

// --- fibers ---------------------------------------------------------------------------------------------------------

#if defined(__x86_64__)
extern "C" void tsinductor_emulation_switch(void **save, void *to);
__asm__(R"(
.pushsection .text
.weak tsinductor_emulation_switch
.hidden tsinductor_emulation_switch
.type tsinductor_emulation_switch,@function
tsinductor_emulation_switch:
 pushq %rbp
 pushq %rbx
 pushq %r12
 pushq %r13
 pushq %r14
 pushq %r15
 movq %rsp, (%rdi)
 movq %rsi, %rsp
 popq %r15
 popq %r14
 popq %r13
 popq %r12
 popq %rbx
 popq %rbp
 ret
.size tsinductor_emulation_switch,.-tsinductor_emulation_switch
.popsection
)");
inline void leave(Fiber *fiber) { tsinductor_emulation_switch(&fiber->stack, machine()->mainStack); }
inline void enter(Fiber *fiber) { tsinductor_emulation_switch(&machine()->mainStack, fiber->stack); }
#else
inline void leave(Fiber *fiber) { swapcontext(&fiber->context, &machine()->mainContext); }
inline void enter(Fiber *fiber) { swapcontext(&machine()->mainContext, &fiber->context); }
#endif

[[noreturn]] inline void fiberMain() {
  Machine &m = *machine();
  m.body(m.arguments, m.sizes, m.status);
  Fiber *own = m.current;
  own->state = State::done;
  leave(own);
  abort();
}

inline void startFiber(unsigned number) {
  Machine &m = *machine();
  Fiber &fiber = m.fibers[number];
  fiber.number = number;
  fiber.state = State::ready;
  fiber.kind = Collective::none;
  fiber.groups = fiber.copyCount = 0;
  char *low = m.stacks + number * stackBytes;
#if defined(__x86_64__)
  // Tops of neighbouring stacks fall into different sets of a cache.
  uintptr_t top = reinterpret_cast<uintptr_t>(low + stackBytes) - 64 - (number & 15) * 64;
  void **slot = reinterpret_cast<void **>(top & ~uintptr_t(15));
  *--slot = nullptr;
  *--slot = reinterpret_cast<void *>(fiberMain);
  for (int saved = 0; saved < 6; ++saved) *--slot = nullptr;
  fiber.stack = slot;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = low;
  fiber.context.uc_stack.ss_size = stackBytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(fiberMain), 0);
#endif
}

// --- meetings -------------------------------------------------------------------------------------------------------

inline void run(Fiber &fiber) {
  Machine &m = *machine();
  m.current = &fiber;
  enter(&fiber);
}

/** The fiber that is `position`th in the order of this run, of those from `first` on. */
inline Fiber &ordered(unsigned first, unsigned count, unsigned position) {
  Machine &m = *machine();
  return m.fibers[first + (m.descending ? count - 1 - position : position)];
}

/** Completes a collective of a warp if all threads that its mask names have arrived. */
inline bool meetWarp(unsigned first, unsigned count) {
  Machine &m = *machine();
  for (unsigned lane = 0; lane < count; ++lane) {
    Fiber &fiber = m.fibers[first + lane];
    if (fiber.state != State::atWarp) continue;
    const uint32_t all = count == warpSize ? ~0u : (1u << count) - 1;
    const uint32_t wanted = fiber.mask & all;
    uint32_t here = 0;
    for (unsigned other = 0; other < count; ++other) {
      Fiber &peer = m.fibers[first + other];
      if (!(wanted >> other & 1)) continue;
      m.current = &peer;
      if (peer.state == State::done) fail("has ended, but a collective of its warp names it");
      if (peer.state != State::atWarp) continue;
      if (peer.mask != fiber.mask || peer.kind != fiber.kind) fail("takes part in another collective than its warp");
      here |= 1u << other;
    }
    if (here != wanted) continue;
    for (unsigned other = 0; other < count; ++other) {
      if (!(wanted >> other & 1)) continue;
      memcpy(m.gathered[first + other], m.fibers[first + other].value, sizeof m.gathered[0]);
      m.fibers[first + other].state = State::ready;
    }
    return true;
  }
  return false;
}

inline void runWarp(unsigned first, unsigned count, bool &moved) {
  Machine &m = *machine();
  for (;;) {
    bool ran = false;
    for (unsigned position = 0; position < count; ++position) {
      Fiber &fiber = ordered(first, count, position);
      if (fiber.state != State::ready) continue;
      run(fiber);
      ran = true;
    }
    const bool met = meetWarp(first, count);
    moved |= ran || met;
    if (!met) return;
  }
  (void)m;
}

inline void runFibers() {
  Machine &m = *machine();
  for (unsigned thread = 0; thread < m.threads; ++thread) startFiber(thread);
  const unsigned warps = (m.threads + warpSize - 1) / warpSize;
  for (;;) {
    bool moved = false;
    for (unsigned position = 0; position < warps; ++position) {
      const unsigned first = (m.descending ? warps - 1 - position : position) * warpSize;
      const unsigned left = m.threads - first;
      runWarp(first, left < warpSize ? left : warpSize, moved);
    }
    unsigned waiting = 0, done = 0;
    for (unsigned thread = 0; thread < m.threads; ++thread) {
      waiting += m.fibers[thread].state == State::atBarrier;
      done += m.fibers[thread].state == State::done;
    }
    if (done == m.threads) return;
    if (waiting == m.threads) {
      for (unsigned thread = 0; thread < m.threads; ++thread) m.fibers[thread].state = State::ready;
      continue;
    }
    if (moved) continue;
    for (unsigned thread = 0; thread < m.threads; ++thread) {
      if (m.fibers[thread].state == State::atBarrier) continue;
      m.current = &m.fibers[thread];
      fail(waiting > 0 ? "divergent barrier: this thread does not reach the barrier that others wait at"
                       : "divergent collective: threads that its mask names do not arrive");
    }
  }
}

inline void barrier() {
  Machine &m = *machine();
  m.current->state = State::atBarrier;
  leave(m.current);
}

/** Gives values to the threads that `mask` names, and waits until all of them have given theirs. */
inline void gather(Collective kind, uint32_t mask, const void *value, size_t bytes) {
  Machine &m = *machine();
  Fiber &own = *m.current;
  if (!(mask >> (own.number % warpSize) & 1)) fail("takes part in a collective whose mask does not name it");
  own.kind = kind;
  own.mask = mask;
  memset(own.value, 0, sizeof own.value);
  memcpy(own.value, value, bytes);
  own.state = State::atWarp;
  leave(&own);
}

inline const uint64_t *gathered(unsigned lane) {
  Machine &m = *machine();
  return m.gathered[m.current->number / warpSize * warpSize + lane];
}

inline unsigned lane() { return machine()->current->number % warpSize; }

template <class T> inline T exchange(uint32_t mask, T value, unsigned from) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
  gather(Collective::shuffle, mask, &value, sizeof value);
  T result;
  memcpy(&result, gathered(from < warpSize ? from : lane()), sizeof result);
  return result;
}

// --- memory ---------------------------------------------------------------------------------------------------------

inline size_t pageBytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/** The widest access. */
constexpr size_t bufferAlignment = 16;
/** As far as an index of 32 bits reaches in elements of 8 bytes. */
constexpr size_t reach = size_t(1) << 34;

/** Addresses for a buffer, with such around it as cannot be touched: few where the system gives no more. */
inline void reserve(Buffer &buffer, const char *name, size_t bytes) {
  const size_t page = pageBytes();
  buffer.name = name;
  buffer.bytes = bytes;
  buffer.insideBytes = (bytes + page - 1) / page * page;
  for (size_t guard = reach;; guard = page) {
    buffer.span = buffer.insideBytes + 2 * guard;
    void *base = mmap(nullptr, buffer.span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED && guard == reach) continue;
    if (base == MAP_FAILED) abort();
    buffer.base = static_cast<char *>(base);
    buffer.inside = buffer.base + guard;
    break;
  }
  if (buffer.insideBytes > 0) mprotect(buffer.inside, buffer.insideBytes, PROT_READ | PROT_WRITE);
}

/** Where the buffer lies in a run: against what is behind it, as far as alignment lets it, or against what is in front. */
inline char *place(Buffer &buffer, bool inFront) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(buffer.inside + buffer.insideBytes);
  buffer.place = inFront ? buffer.inside : reinterpret_cast<char *>((end - buffer.bytes) & ~(bufferAlignment - 1));
  buffer.filling = inFront ? 0x5a : 0xff;
  if (buffer.insideBytes > 0) memset(buffer.inside, buffer.filling, buffer.insideBytes);
  return buffer.place;
}

/** Which buffer a fault is next to. */
inline void describeFault(uintptr_t address) {
  Machine &m = *machine();
  for (unsigned number = 0; number < m.bufferCount; ++number) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(m.buffers[number].base);
    if (address < base || address >= base + m.buffers[number].span) continue;
    fail("out of bounds: touches memory beside %s, which has %zu bytes", m.buffers[number].name, m.buffers[number].bytes);
  }
  fail("out of bounds: touches address %#zx, which is in none of its buffers", static_cast<size_t>(address));
}

inline void onFault(int, siginfo_t *information, void *) { describeFault(reinterpret_cast<uintptr_t>(information->si_addr)); }

/** Finds what was written beside a buffer, where it could be touched. */
inline void checkSurroundings(const Buffer &buffer) {
  const auto check = [&](const char *from, const char *to) {
    for (const char *byte = from; byte < to; ++byte)
      if (static_cast<unsigned char>(*byte) != buffer.filling) describeFault(reinterpret_cast<uintptr_t>(byte));
  };
  check(buffer.inside, buffer.place);
  check(buffer.place + buffer.bytes, buffer.inside + buffer.insideBytes);
}

/** The address of a vector in memory, checked. */
template <class Vector, class Element> inline Vector *wide(Element *address) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(Vector) != 0)
    fail("misaligned access of %zu bytes at %#zx", sizeof(Vector), reinterpret_cast<size_t>(address));
  return reinterpret_cast<Vector *>(address);
}

inline char *sharedMemory() { return machine()->shared; }

// --- asynchronous copies --------------------------------------------------------------------------------------------

/** The copy is noted; until it is waited for, its place holds NaN. `filled`: the bytes beyond are zeros. */
inline void copyLater(void *to, const void *from, unsigned bytes, unsigned filled) {
  Fiber &own = *machine()->current;
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 || reinterpret_cast<uintptr_t>(from) % bytes != 0)
    fail("misaligned asynchronous copy of %u bytes", bytes);
  if (own.copyCount == mostCopies) fail("more than %u asynchronous copies are under way", mostCopies);
  memset(to, 0xff, bytes);
  own.copies[own.copyCount++] = {to, from, bytes, filled, own.groups};
}

inline void commitCopies() { ++machine()->current->groups; }

/** All but the latest `pending` groups land. */
inline void waitCopies(unsigned pending) {
  Fiber &own = *machine()->current;
  unsigned kept = 0;
  for (unsigned number = 0; number < own.copyCount; ++number) {
    const Copy copy = own.copies[number];
    if (copy.group + pending < own.groups) {
      memset(copy.to, 0, copy.bytes);
      memcpy(copy.to, copy.from, copy.filled);
    } else {
      own.copies[kept++] = copy;
    }
  }
  own.copyCount = kept;
}

// --- matrix instructions --------------------------------------------------------------------------------------------

inline float fromBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline float bfloatValue(uint16_t bits) { return fromBits(static_cast<uint32_t>(bits) << 16); }

inline float halfValue(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const int exponent = bits >> 10 & 31;
  const uint32_t fraction = bits & 1023;
  if (exponent == 31) return fromBits(sign | 0x7f800000 | fraction << 13);
  const float magnitude = exponent == 0 ? static_cast<float>(fraction) * 0x1p-24f
                                        : fromBits(static_cast<uint32_t>(exponent + 112) << 23 | fraction << 13);
  return sign == 0 ? magnitude : -magnitude;
}

/** The 10 bits of fraction that a tf32 operand keeps. */
inline float tf32Value(uint32_t bits) { return fromBits(bits & 0xffffe000u); }

using Convert16 = float (*)(uint16_t);

/**
 * mma.sync.aligned.m16n8k16.row.col.f32.{f16,bf16}.{f16,bf16}.f32. Lane l, g = l / 4, t = l % 4: a[0] is row g and
 * columns 2t, 2t + 1; a[1] row g + 8; a[2] and a[3] the same, 8 columns further; b[0] is rows 2t, 2t + 1 of column g,
 * b[1] 8 rows further; d[0], d[1] are row g, columns 2t, 2t + 1; d[2], d[3] row g + 8.
 */
inline void multiply16816(float *d, const uint32_t *a, const uint32_t *b, const float *c, Convert16 convert) {
  uint32_t given[8] = {a[0], a[1], a[2], a[3], b[0], b[1], 0, 0};
  gather(Collective::matrix, ~0u, given, sizeof given);
  static thread_local float left[16][16], right[16][8];
  for (unsigned from = 0; from < warpSize; ++from) {
    uint32_t part[8];
    memcpy(part, gathered(from), sizeof part);
    const unsigned g = from / 4, t = from % 4;
    for (unsigned slot = 0; slot < 4; ++slot) {
      const unsigned row = g + (slot & 1) * 8, column = 2 * t + (slot >> 1) * 8;
      left[row][column] = convert(static_cast<uint16_t>(part[slot]));
      left[row][column + 1] = convert(static_cast<uint16_t>(part[slot] >> 16));
    }
    for (unsigned slot = 0; slot < 2; ++slot) {
      right[2 * t + slot * 8][g] = convert(static_cast<uint16_t>(part[4 + slot]));
      right[2 * t + slot * 8 + 1][g] = convert(static_cast<uint16_t>(part[4 + slot] >> 16));
    }
  }
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned slot = 0; slot < 4; ++slot) {
    const unsigned row = g + (slot >> 1) * 8, column = 2 * t + (slot & 1);
    float sum = 0;
    for (unsigned k = 0; k < 16; ++k) sum += left[row][k] * right[k][column];
    d[slot] = c[slot] + sum;
  }
}

/** mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32: a[0] is (g, t), a[1] (g + 8, t), a[2] and a[3] 4 columns further. */
inline void multiply1688(float *d, const uint32_t *a, const uint32_t *b, const float *c) {
  uint32_t given[8] = {a[0], a[1], a[2], a[3], b[0], b[1], 0, 0};
  gather(Collective::matrix, ~0u, given, sizeof given);
  static thread_local float left[16][8], right[8][8];
  for (unsigned from = 0; from < warpSize; ++from) {
    uint32_t part[8];
    memcpy(part, gathered(from), sizeof part);
    const unsigned g = from / 4, t = from % 4;
    for (unsigned slot = 0; slot < 4; ++slot) left[g + (slot & 1) * 8][t + (slot >> 1) * 4] = tf32Value(part[slot]);
    for (unsigned slot = 0; slot < 2; ++slot) right[t + slot * 4][g] = tf32Value(part[4 + slot]);
  }
  const unsigned g = lane() / 4, t = lane() % 4;
  for (unsigned slot = 0; slot < 4; ++slot) {
    const unsigned row = g + (slot >> 1) * 8, column = 2 * t + (slot & 1);
    float sum = 0;
    for (unsigned k = 0; k < 8; ++k) sum += left[row][k] * right[k][column];
    d[slot] = c[slot] + sum;
  }
}

/** ldmatrix.sync.aligned.m8n8.x4.shared.b16: lane l names row l % 8 of matrix l / 8 and gets two elements of each. */
inline void loadMatrices(uint32_t *result, const void *row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) fail("misaligned row of a matrix");
  gather(Collective::address, ~0u, &row, sizeof row);
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    const char *from;
    memcpy(&from, gathered(matrix * 8 + lane() / 4), sizeof from);
    memcpy(&result[matrix], from + lane() % 4 * 4, 4);
  }
}

/** The same with .trans: rows 2 (l % 4) and one further, column l / 4 of each. */
inline void loadMatricesTransposed(uint32_t *result, const void *row) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) fail("misaligned row of a matrix");
  gather(Collective::address, ~0u, &row, sizeof row);
  for (unsigned matrix = 0; matrix < 4; ++matrix) {
    uint16_t halves[2];
    for (unsigned half = 0; half < 2; ++half) {
      const char *from;
      memcpy(&from, gathered(matrix * 8 + lane() % 4 * 2 + half), sizeof from);
      memcpy(&halves[half], from + lane() / 4 * 2, 2);
    }
    result[matrix] = halves[0] | static_cast<uint32_t>(halves[1]) << 16;
  }
}

// --- launches -------------------------------------------------------------------------------------------------------

struct Argument {
  const char *name;
  char *address;
  size_t bytes;
  bool isWritten;
};

struct Launch {
  const char *kernel;
  long blocks;
  unsigned threads;
  unsigned sharedBytes;
  /** Whether threads meet: otherwise they run one after the other on the caller's stack. */
  bool isCollective;
  void (*body)(char *const *arguments, const long *sizes, int *status);
  const Argument *arguments;
  unsigned count;
};

inline void runBlock(const Launch &launch, long number) {
  Machine &m = *machine();
  m.block = {static_cast<unsigned>(number), 0, 0};
  if (launch.sharedBytes > 0) memset(m.shared, 0xff, launch.sharedBytes);
  if (launch.isCollective) {
    runFibers();
    return;
  }
  for (unsigned position = 0; position < m.threads; ++position) {
    Fiber &fiber = ordered(0, m.threads, position);
    fiber.number = m.descending ? m.threads - 1 - position : position;
    fiber.groups = fiber.copyCount = 0;
    m.current = &fiber;
    m.body(m.arguments, m.sizes, m.status);
  }
}

/** One run, on the buffers as they are before the launch. */
inline void runGrid(const Launch &launch, char **copies, bool descending) {
  Machine &m = *machine();
  m.arguments = copies;
  m.descending = descending;
  for (unsigned number = 0; number < launch.count; ++number) {
    const Argument &argument = launch.arguments[number];
    copies[number] = place(m.buffers[number], descending);
    if (argument.bytes > 0) memcpy(copies[number], argument.address, argument.bytes);
  }
  for (long position = 0; position < launch.blocks; ++position)
    runBlock(launch, descending ? launch.blocks - 1 - position : position);
  m.current = nullptr;
  for (unsigned number = 0; number < launch.count; ++number) checkSurroundings(m.buffers[number]);
}

struct Guarded {
  char *address[mostBuffers];
  /** What the first run left. */
  char *saved[mostBuffers];
};

inline void release(const Launch &launch, Guarded &copies) {
  Machine &m = *machine();
  for (unsigned number = 0; number < m.bufferCount; ++number) munmap(m.buffers[number].base, m.buffers[number].span);
  m.bufferCount = 0;
  for (unsigned number = 0; number < launch.count; ++number) free(copies.saved[number]);
}

/** Runs a launch in both orders on guarded copies of its buffers; false where something is wrong. */
inline bool launch(const Launch &launch, const long *sizes, int *status) {
  Machine &m = *machine();
  static thread_local Guarded copies;
  if (launch.count + 1 > mostBuffers || launch.threads > mostThreads || launch.sharedBytes > mostShared) return false;
  m.kernel = launch.kernel;
  m.threads = launch.threads;
  m.blocks = {static_cast<unsigned>(launch.blocks), 1, 1};
  m.body = launch.body;
  m.sizes = sizes;
  m.status = status;
  m.hasFailed = false;
  m.current = nullptr;
  m.bufferCount = 0;
  for (unsigned number = 0; number < launch.count; ++number) {
    reserve(m.buffers[m.bufferCount++], launch.arguments[number].name, launch.arguments[number].bytes);
    copies.saved[number] = nullptr;
  }
  auto &shared = m.buffers[m.bufferCount++];
  reserve(shared, "shared memory", launch.sharedBytes);
  m.shared = place(shared, false);
  struct sigaction action, oldSegment, oldBus;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &oldSegment);
  sigaction(SIGBUS, &action, &oldBus);
  const int before = *status;
  if (sigsetjmp(m.escape, 1) == 0) {
    runGrid(launch, copies.address, false);
    const int first = *status;
    *status = before;
    for (unsigned number = 0; number < launch.count; ++number) {
      const Argument &argument = launch.arguments[number];
      if (!argument.isWritten || argument.bytes == 0) continue;
      copies.saved[number] = static_cast<char *>(malloc(argument.bytes));
      memcpy(copies.saved[number], copies.address[number], argument.bytes);
    }
    runGrid(launch, copies.address, true);
    if (*status != first) fail("race: checks fail in one order of threads and not in the other");
    for (unsigned number = 0; number < launch.count; ++number) {
      const Argument &argument = launch.arguments[number];
      if (copies.saved[number] == nullptr) continue;
      for (size_t byte = 0; byte < argument.bytes; ++byte)
        if (copies.saved[number][byte] != copies.address[number][byte])
          fail("race: byte %zu of %s depends on the order in which threads and blocks run", byte, argument.name);
    }
    for (unsigned number = 0; number < launch.count; ++number) {
      const Argument &argument = launch.arguments[number];
      if (argument.isWritten && argument.bytes > 0) memcpy(argument.address, copies.address[number], argument.bytes);
    }
  }
  sigaction(SIGSEGV, &oldSegment, nullptr);
  sigaction(SIGBUS, &oldBus, nullptr);
  release(launch, copies);
  return !m.hasFailed;
}

inline const char *message() { return machine()->message; }

/** What was printed since it was asked for last; who asks frees the text. */
inline PrintLog takeLog() {
  const PrintLog log = machine()->log;
  machine()->log = {};
  return log;
}

inline Index3 threadIndex() { return {machine()->current->number, 0, 0}; }

}  // namespace emulation

// --- what generated code says ---------------------------------------------------------------------------------------

#define threadIdx (emulation::threadIndex())
#define blockIdx (emulation::machine()->block)
#define gridDim (emulation::machine()->blocks)
#define printf(...) emulation::print(__VA_ARGS__)
#define __assertfail(message, file, line, function, size) emulation::fail("assertion failed: %s, at %s:%d", message, file, line)

using emulation::wide;
inline char *block_shared_memory() { return emulation::sharedMemory(); }

inline void copy_async_4(void *to, const void *from, bool copies) { emulation::copyLater(to, from, 4, copies ? 4 : 0); }
inline void copy_async_8(void *to, const void *from, bool copies) { emulation::copyLater(to, from, 8, copies ? 8 : 0); }
inline void copy_async_16(void *to, const void *from, bool copies) { emulation::copyLater(to, from, 16, copies ? 16 : 0); }
inline void commit_copies() { emulation::commitCopies(); }
template <int pending> inline void wait_copies() { emulation::waitCopies(pending); }
inline void load_matrices(int &a, int &b, int &c, int &d, const void *row) {
  uint32_t words[4];
  emulation::loadMatrices(words, row);
  a = static_cast<int>(words[0]), b = static_cast<int>(words[1]), c = static_cast<int>(words[2]), d = static_cast<int>(words[3]);
}
inline void load_matrices_transposed(int &a, int &b, int &c, int &d, const void *row) {
  uint32_t words[4];
  emulation::loadMatricesTransposed(words, row);
  a = static_cast<int>(words[0]), b = static_cast<int>(words[1]), c = static_cast<int>(words[2]), d = static_cast<int>(words[3]);
}
#define TSINDUCTOR_MATRIX_PRODUCT(name, call)                                                       \
  inline void name(float *sum, int a0, int a1, int a2, int a3, int b0, int b1) {                    \
    const uint32_t a[4] = {uint32_t(a0), uint32_t(a1), uint32_t(a2), uint32_t(a3)};                 \
    const uint32_t b[2] = {uint32_t(b0), uint32_t(b1)};                                             \
    const float before[4] = {sum[0], sum[1], sum[2], sum[3]};                                       \
    call;                                                                                           \
  }
TSINDUCTOR_MATRIX_PRODUCT(mma_m16n8k16_f16, emulation::multiply16816(sum, a, b, before, emulation::halfValue))
TSINDUCTOR_MATRIX_PRODUCT(mma_m16n8k16_bf16, emulation::multiply16816(sum, a, b, before, emulation::bfloatValue))
TSINDUCTOR_MATRIX_PRODUCT(mma_m16n8k8_tf32, emulation::multiply1688(sum, a, b, before))
#undef TSINDUCTOR_MATRIX_PRODUCT

inline void __syncthreads() { emulation::barrier(); }
inline void __syncwarp(uint32_t mask = ~0u) {
  const char none = 0;
  emulation::gather(emulation::Collective::sync, mask, &none, sizeof none);
}
template <class T> inline T __shfl_sync(uint32_t mask, T value, int from) {
  return emulation::exchange(mask, value, static_cast<unsigned>(from) % emulation::warpSize);
}
template <class T> inline T __shfl_down_sync(uint32_t mask, T value, int distance) {
  return emulation::exchange(mask, value, emulation::lane() + static_cast<unsigned>(distance));
}
template <class T> inline T __shfl_up_sync(uint32_t mask, T value, int distance) {
  return emulation::exchange(mask, value, emulation::lane() - static_cast<unsigned>(distance));
}
template <class T> inline T __shfl_xor_sync(uint32_t mask, T value, int bits) {
  return emulation::exchange(mask, value, emulation::lane() ^ static_cast<unsigned>(bits));
}
inline uint32_t __ballot_sync(uint32_t mask, int holds) {
  const uint32_t own = holds != 0;
  emulation::gather(emulation::Collective::vote, mask, &own, sizeof own);
  uint32_t votes = 0;
  for (unsigned from = 0; from < emulation::warpSize; ++from)
    if (mask >> from & 1) votes |= static_cast<uint32_t>(*emulation::gathered(from) & 1) << from;
  return votes;
}
inline int __any_sync(uint32_t mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(uint32_t mask, int holds) { return __ballot_sync(mask, holds) == mask; }

template <class T> inline T atomicAdd(T *address, T value) {
  const T old = *address;
  *address = old + value;
  return old;
}
template <class T> inline T atomicMin(T *address, T value) {
  const T old = *address;
  if (value < old) *address = value;
  return old;
}
template <class T> inline T atomicMax(T *address, T value) {
  const T old = *address;
  if (value > old) *address = value;
  return old;
}
template <class T> inline T atomicAnd(T *address, T value) {
  const T old = *address;
  *address = old & value;
  return old;
}
template <class T> inline T atomicOr(T *address, T value) {
  const T old = *address;
  *address = old | value;
  return old;
}
template <class T> inline T atomicXor(T *address, T value) {
  const T old = *address;
  *address = old ^ value;
  return old;
}
template <class T> inline T atomicExch(T *address, T value) {
  const T old = *address;
  *address = value;
  return old;
}
template <class T> inline T atomicCAS(T *address, T expected, T value) {
  const T old = *address;
  if (old == expected) *address = value;
  return old;
}

inline int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
inline double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
#define TSINDUCTOR_UNARY(name)                              \
  inline float name##f(float x) { return __builtin_##name##f(x); } \
  inline double name(double x) { return __builtin_##name(x); }
namespace emulation {
namespace math {
TSINDUCTOR_UNARY(fabs)
TSINDUCTOR_UNARY(floor)
TSINDUCTOR_UNARY(ceil)
TSINDUCTOR_UNARY(trunc)
TSINDUCTOR_UNARY(rint)
inline float fmodf(float x, float y) { return __builtin_fmodf(x, y); }
inline double fmod(double x, double y) { return __builtin_fmod(x, y); }
inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
}  // namespace math
}  // namespace emulation
using namespace emulation::math;
#undef TSINDUCTOR_UNARY
