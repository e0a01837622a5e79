// The loops that tell what a machine can do: passes over arrays with a given number of read and written streams, with
// ordinary stores, with lines prefetched before, and with non-temporal ones; and float32 multiply-adds in registers. Who
// calls them measures the time, and divides the work among threads. Needs a vector unit's own header and nothing else.
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace limits {

#if defined(__AVX512F__)
constexpr int vectorBytes = 64;
#elif defined(__AVX__)
constexpr int vectorBytes = 32;
#else
constexpr int vectorBytes = 16;
#endif
constexpr int lanes = vectorBytes / 4;
typedef float Vector __attribute__((vector_size(vectorBytes)));

// Keeps a value in a register, unknown to the optimiser.
#if defined(__x86_64__)
#define OPAQUE(value) asm volatile("" : "+v"(value))
#else
#define OPAQUE(value) asm volatile("" : "+w"(value))
#endif

inline void streamOut(float *to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, (__m256)value);
#elif defined(__SSE2__)
  _mm_stream_ps(to, (__m128)value);
#else
  *reinterpret_cast<Vector *>(to) = value;
#endif
}

/** Elements of an array at whose multiples a pass may begin and end. */
constexpr long block = 8 * lanes;

constexpr int mostReads = 4, mostWrites = 3;

/**
 * How a pass writes: by ordinary stores, by non-temporal ones, or into lines that it prefetched some time before; or by non-temporal
 * stores (where it writes at all) what it reads from lines that it prefetched.
 */
enum Writing { ordinary, nonTemporal, prefetched, readPrefetched };
constexpr long prefetchDistance = 512;

/** `arrays`: those to read, then those to write. */
typedef void (*Pass)(float *const *arrays, long begin, long end);

/** `longer`: how many times more bytes a written array has than one that is read. */
template <int reads, int writes, Writing writing, int longer = 1>
void pass(float *const *arrays, long begin, long end) {
  float *own[reads + writes];
  for (int k = 0; k < reads + writes; k += 1) own[k] = arrays[k];
  Vector sums[8] = {};
  for (long i = begin; i < end; i += block) {
#pragma GCC unroll 8
    for (int part = 0; part < 8; part += 1) {
      const long at = i + part * lanes, from = i / longer + part / longer * lanes;
      if (writing == readPrefetched) {
#pragma GCC unroll 4
        for (int k = 0; k < reads; k += 1) __builtin_prefetch(own[k] + from + prefetchDistance, 0, 2);
      }
      Vector value = *reinterpret_cast<const Vector *>(own[0] + from);
#pragma GCC unroll 4
      for (int k = 1; k < reads; k += 1) value += *reinterpret_cast<const Vector *>(own[k] + from);
      if (writes == 0) sums[part] += value;
#pragma GCC unroll 3
      for (int k = reads; k < reads + writes; k += 1) {
        if (writing == prefetched) __builtin_prefetch(own[k] + at + prefetchDistance, 1);
        if (writing == nonTemporal || writing == readPrefetched) streamOut(own[k] + at, value);
        else *reinterpret_cast<Vector *>(own[k] + at) = value;
      }
    }
  }
  for (Vector &sum : sums) OPAQUE(sum);
#if defined(__SSE2__)
  if (writing == nonTemporal || writing == readPrefetched) _mm_sfence();
#endif
}

template <Writing writing, int reads>
Pass passWriting(long writes) {
  if (writes == 0) return pass<reads, 0, writing == readPrefetched ? readPrefetched : ordinary>;
  return writes == 1 ? pass<reads, 1, writing> : writes == 2 ? pass<reads, 2, writing> : pass<reads, 3, writing>;
}

template <Writing writing>
Pass passOf(long reads, long writes) {
  if (reads < 3) return reads == 1 ? passWriting<writing, 1>(writes) : passWriting<writing, 2>(writes);
  return reads == 3 ? passWriting<writing, 3>(writes) : passWriting<writing, 4>(writes);
}

/** The pass over one to four read arrays and up to three written ones. */
inline Pass passFor(Writing writing, long reads, long writes) {
  if (writing == ordinary) return passOf<ordinary>(reads, writes);
  if (writing == nonTemporal) return passOf<nonTemporal>(reads, writes);
  return writing == prefetched ? passOf<prefetched>(reads, writes) : passOf<readPrefetched>(reads, writes);
}

/** The pass over an array that is read and one of four times its bytes that is written. */
inline Pass wideningPass(Writing writing) {
  if (writing == ordinary) return pass<1, 1, ordinary, 4>;
  if (writing == nonTemporal) return pass<1, 1, nonTemporal, 4>;
  return writing == prefetched ? pass<1, 1, prefetched, 4> : pass<1, 1, readPrefetched, 4>;
}

inline Vector multiplyAdd(Vector x, Vector y, Vector z) {
#if defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(__FMA__)
  return (Vector)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
#elif defined(__ARM_FEATURE_FMA)
  Vector sum = z;
  for (int lane = 0; lane < lanes; lane += 1) sum[lane] = __builtin_fmaf(x[lane], y[lane], z[lane]);
  return sum;
#else
  return x * y + z;
#endif
}

constexpr long multiplyAddRounds = 4096;
constexpr int multiplyAddChains = 12;

/** Arithmetic operations of one call of `multiplyAdds`. */
constexpr double multiplyAddOperations = 2.0 * multiplyAddRounds * multiplyAddChains * lanes;

/** Chains of multiply-adds that wait for nothing but themselves. */
inline void multiplyAdds() {
  Vector sums[multiplyAddChains];
#pragma GCC unroll 12
  for (int i = 0; i < multiplyAddChains; i += 1) sums[i] = Vector{} + float(i);
  Vector factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
  OPAQUE(factor);
  OPAQUE(term);
  for (long round = 0; round < multiplyAddRounds; round += 1) {
#pragma GCC unroll 12
    for (int i = 0; i < multiplyAddChains; i += 1) {
      sums[i] = multiplyAdd(sums[i], factor, term);
      OPAQUE(sums[i]);
    }
  }
}

}  // namespace limits
