// C++ libraries that tests of the native bridge load: entries that return, count, spin and nest; and a rude one.
export const source: string = `
#include <sched.h>
typedef void (*Body)(void *, long, long);
struct Runtime { void (*parallel)(Body, void *, long, long); long threads; };
#define ENTRY(name) extern "C" int name(char *const *buffers, const long *sizes, const Runtime *runtime)
static const Runtime *shared;

ENTRY(nothing) { return 0; }
ENTRY(status) { return (int)sizes[0]; }
ENTRY(sum) { double s = 0; for (long i = 0; i < sizes[0]; i++) s += ((double *)buffers[0])[i]; *(double *)buffers[1] = s; return 0; }
ENTRY(third) { return (int)(buffers[2] - buffers[0]) + (int)sizes[1]; }

static void countBody(void *counts, long begin, long end) {
  for (long i = begin; i < end; i++) __atomic_fetch_add((int *)counts + i, 1, __ATOMIC_RELAXED);
}
ENTRY(cover) { runtime->parallel(countBody, buffers[0], sizes[0], sizes[1]); return (int)runtime->threads; }

// The CPU of the caller, or -1 where it moved meanwhile.
ENTRY(whereFrom) {
  const int cpu = sched_getcpu();
  runtime->parallel(countBody, buffers[0], sizes[0], 1);
  return cpu == sched_getcpu() ? cpu : -1;
}

struct Bounds { long grain; int bad; };
static void boundsBody(void *context, long begin, long end) {
  Bounds *bounds = (Bounds *)context;
  if (begin % bounds->grain != 0 || begin >= end) __atomic_store_n(&bounds->bad, 1, __ATOMIC_RELAXED);
}
ENTRY(bounds) { Bounds b = {sizes[1], 0}; runtime->parallel(boundsBody, &b, sizes[0], sizes[1]); return b.bad; }

static void nestedBody(void *counts, long begin, long end) {
  for (long i = begin; i < end; i++) shared->parallel(countBody, (int *)counts + i * 100, 100, 7);
}
ENTRY(nested) { shared = runtime; runtime->parallel(nestedBody, buffers[0], sizes[0], 1); return 0; }

static void spinBody(void *counts, long begin, long end) {
  for (long i = begin; i < end; i++) { for (volatile long j = 0; j < 20000; j++); ((int *)counts)[i]++; }
}
ENTRY(slow) { runtime->parallel(spinBody, buffers[0], sizes[0], 1); return 0; }

struct Meeting { int arrived; long begins[2]; };
static void meetBody(void *context, long begin, long) {
  Meeting *meeting = (Meeting *)context;
  const int before = __atomic_fetch_add(&meeting->arrived, 1, __ATOMIC_ACQ_REL);
  if (before < 2) meeting->begins[before] = begin;
  if (before == 0) while (__atomic_load_n(&meeting->arrived, __ATOMIC_ACQUIRE) < 2);
}
ENTRY(meet) { Meeting m = {0, {0, 0}}; runtime->parallel(meetBody, &m, sizes[0], sizes[1]); return (int)(m.begins[0] + m.begins[1]); }
ENTRY(many) { for (long r = 0; r < sizes[1]; r++) runtime->parallel(countBody, buffers[0], sizes[0], 1); return 0; }
`;

/** Turns flush-to-zero on while it is loaded, as fast-math start-up code does. */
export const rude: string = `
__attribute__((constructor)) static void start() { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }
extern "C" int f(char *const *, const long *, const void *) { return 0; }
`;
