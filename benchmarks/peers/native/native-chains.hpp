// Chains of pointwise operations, each fused by hand into one loop.
#pragma once
#include "native-loops.hpp"

namespace native {

inline void dropoutLoop(In x, In u, Out out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) out[i] = u[i] > 0.1f ? x[i] * (1 / 0.9f) : 0.0f;
}

struct RandomWords {
  uint32_t x0, x1, x2, x3;
};

/** Philox 4x32 with ten rounds. */
inline RandomWords randomWords(uint32_t counter, uint32_t key) {
  uint32_t x0 = counter, x1 = 0, x2 = 0, x3 = 0, k0 = key, k1 = 0;
#pragma GCC unroll 10
  for (int round = 0; round < 10; round += 1) {
    const uint64_t first = uint64_t(0xd2511f53) * x0, second = uint64_t(0xcd9e8d57) * x2;
    x0 = static_cast<uint32_t>(second >> 32) ^ x1 ^ k0;
    x1 = static_cast<uint32_t>(second);
    x2 = static_cast<uint32_t>(first >> 32) ^ x3 ^ k1;
    x3 = static_cast<uint32_t>(first);
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return {x0, x1, x2, x3};
}

inline void randomDropoutLoop(In x, Out out, long begin, long end) {
  constexpr long together = 16;
  const auto kept = [](uint32_t word) { return word >= uint32_t(0.1 * 4294967296.0) ? 1 / 0.9f : 0.0f; };
  // A block's words for four elements that lie `together` apart. Chunks begin at multiples of them all.
  long start = begin;
  for (; start + 4 * together <= end; start += 4 * together) {
#pragma omp simd
    for (long i = start; i < start + together; i += 1) {
      const RandomWords words = randomWords(static_cast<uint32_t>(i - start * 3 / 4), 42);
      out[i] = x[i] * kept(words.x0);
      out[i + together] = x[i + together] * kept(words.x1);
      out[i + 2 * together] = x[i + 2 * together] * kept(words.x2);
      out[i + 3 * together] = x[i + 3 * together] * kept(words.x3);
    }
  }
  for (long i = start; i < end; i += 1) out[i] = x[i] * kept(randomWords(static_cast<uint32_t>(i), 42).x0);
}

inline float normalOf(float x) { return 0.5f + 0.5f * erff(x * 0.70710678f); }

inline void blackScholesLoop(In s, In k, In t, Out out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) {
    const float scale = 0.3f * sqrtf(t[i]);
    const float d1 = (logf(s[i] / k[i]) + 0.065f * t[i]) / scale;
    out[i] = s[i] * normalOf(d1) - k[i] * expf(-0.02f * t[i]) * normalOf(d1 - scale);
  }
}

inline void iterateLoop(In a, In b, Out out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) {
    float x = a[i], y = b[i];
#pragma GCC unroll 8
    for (int step = 0; step < 8; step += 1) {
      const float next = x * x - y * y + a[i];
      y = 2 * x * y + b[i];
      x = next;
    }
    out[i] = x * x + y * y;
  }
}

inline void adamLoop(In p, In g, In m, In v, Out out, Out first, Out second, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) {
    const float mean = 0.9f * m[i] + 0.1f * g[i], square = 0.999f * v[i] + 0.001f * g[i] * g[i];
    out[i] = p[i] - 0.001f * mean / (sqrtf(square) + 1e-8f);
    first[i] = mean;
    second[i] = square;
  }
}

typedef const Bf16 *__restrict InBf16;
typedef Bf16 *__restrict OutBf16;

inline void gateBf16Loop(InBf16 x, InBf16 z, OutBf16 out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) {
    const float value = Bf16::widened(x[i].bits);
    out[i].bits = Bf16::rounded(value / (1 + expf(-value)) * Bf16::widened(z[i].bits));
  }
}

inline void addBf16Loop(InBf16 x, InBf16 y, OutBf16 out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1)
    out[i].bits = Bf16::rounded((Bf16::widened(x[i].bits) + Bf16::widened(y[i].bits)) * 0.5f);
}

inline void requantizeLoop(const int8_t *__restrict x, int8_t *__restrict out, long begin, long end) {
#pragma omp simd
  for (long i = begin; i < end; i += 1) {
    const float value = x[i] * 0.75f, positive = value > 0 ? value : 0;
    out[i] = static_cast<int8_t>(static_cast<int>(positive < 127 ? positive : 127));
  }
}

inline Runnable dropout(const Request &request) {
  const long n = request.param("n");
  float *out = allocate(n);
  return elementwise(n, {out}, dropoutLoop, request.inputs[0], request.inputs[1], out);
}
inline Runnable randomDropout(const Request &request) {
  const long n = request.param("n");
  float *out = allocate(n);
  return elementwise(n, {out}, randomDropoutLoop, request.inputs[0], out);
}
inline Runnable blackScholes(const Request &request) {
  const long n = request.param("n");
  const auto &inputs = request.inputs;
  float *out = allocate(n);
  return elementwise(n, {out}, blackScholesLoop, inputs[0], inputs[1], inputs[2], out);
}
inline Runnable iterate(const Request &request) {
  const long n = request.param("n");
  float *out = allocate(n);
  return elementwise(n, {out}, iterateLoop, request.inputs[0], request.inputs[1], out);
}
inline Runnable adam(const Request &request) {
  const long n = request.param("n");
  const auto &in = request.inputs;
  float *out = allocate(n), *first = allocate(n), *second = allocate(n);
  const std::vector<bench::Output> outputs{out, first, second};
  return elementwise(n, outputs, adamLoop, in[0], in[1], in[2], in[3], out, first, second);
}

template <void (*loop)(InBf16, InBf16, OutBf16, long, long)>
Runnable ofBf16(const Request &request) {
  const long n = request.param("n");
  Bf16 *out = allocate<Bf16>(n);
  const Bf16 *x = converted<Bf16>(request, 0, n), *y = converted<Bf16>(request, 1, n);
  return elementwise(n, {out}, loop, x, y, out);
}

inline Runnable requantize(const Request &request) {
  const long n = request.param("n");
  int8_t *out = allocate<int8_t>(n);
  return elementwise(n, {out}, requantizeLoop, converted<int8_t>(request, 0, n), out);
}

constexpr Operation chains[] = {
    {"dropout", dropout},
    {"randomDropout", randomDropout},
    {"blackScholes", blackScholes},
    {"iterate", iterate},
    {"adam", adam},
    {"gateBf16", ofBf16<gateBf16Loop>},
    {"addBf16", ofBf16<addBf16Loop>},
    {"requantize", requantize},
};

}  // namespace native
