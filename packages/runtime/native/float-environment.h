// The control register of floating point: rounding mode, flush-to-zero, exception masks. JavaScript relies on its
// default; a library linked with fast-math start-up code changes it while it loads.
#pragma once

#include <cstdint>

inline uint32_t readFloatEnvironment() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_stmxcsr() & ~0x3fu;  // without the sticky exception flags
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return static_cast<uint32_t>(value);
#else
  return 0;
#endif
}

inline void writeFloatEnvironment(uint32_t value) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_ldmxcsr(value);
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" ::"r"(static_cast<uint64_t>(value)));
#else
  (void)value;
#endif
}

inline void resetFloatEnvironment() {
#if defined(__x86_64__) || defined(__i386__)
  writeFloatEnvironment(0x1f80);
#else
  writeFloatEnvironment(0);
#endif
}
