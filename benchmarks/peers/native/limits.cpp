// What the machine can do: bandwidth for a given number of read and written streams, with ordinary and with
// non-temporal stores; peak float32 multiply-adds; evaluations per second of exp, sigmoid and erf within 4 ULP, without
// memory traffic. Each is the best over one thread and all threads, and over two windows.
#include <atomic>
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "serve.hpp"

namespace {

#if defined(__AVX512F__)
constexpr int vectorBytes = 64;
#elif defined(__AVX__)
constexpr int vectorBytes = 32;
#else
constexpr int vectorBytes = 16;
#endif
constexpr int lanes = vectorBytes / 4;
typedef float Vector __attribute__((vector_size(vectorBytes)));
typedef int Integers __attribute__((vector_size(vectorBytes)));

constexpr double windowMs = 15;

inline Vector all(float value) { return Vector{} + value; }

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

/** Work per second of `body(thread)`, which returns how much it did, repeated by every thread for one window. */
template <class Body>
double rateOf(int threads, const Body &body) {
  std::atomic<int> waiting{threads};
  std::vector<double> rates(threads);
  const auto loop = [&](int thread) {
    waiting.fetch_sub(1);
    while (waiting.load() > 0) {
    }
    const double begin = bench::nowMs();
    double done = 0, elapsed = 0;
    do {
      done += body(thread);
      elapsed = bench::nowMs() - begin;
    } while (elapsed < windowMs);
    rates[thread] = done / elapsed * 1e3;
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; thread += 1) others.emplace_back(loop, thread);
  loop(0);
  for (std::thread &other : others) other.join();
  double total = 0;
  for (const double rate : rates) total += rate;
  return total;
}

/** The best over one thread and all, and over two windows. */
template <class Body>
double bestRate(int threads, const Body &body) {
  double best = 0;
  for (int window = 0; window < 2; window += 1) {
    best = std::max(best, rateOf(1, [&](int thread) { return body(thread, 1); }));
    if (threads > 1) best = std::max(best, rateOf(threads, [&](int thread) { return body(thread, threads); }));
  }
  return best;
}

// --- memory

struct Streams {
  int reads, writes;
  long floats;
  std::vector<float *> arrays;
};

template <int reads, bool writes, bool streaming>
void pass(const Streams &streams, long begin, long end) {
  const float *a = streams.arrays[0], *b = reads > 1 ? streams.arrays[1] : a, *c = reads > 2 ? streams.arrays[2] : a;
  float *out = writes ? streams.arrays[reads] : nullptr;
  Vector sums[8] = {};
  for (long i = begin; i < end; i += 8 * lanes) {
    for (int part = 0; part < 8; part += 1) {
      const long at = i + part * lanes;
      Vector value = *reinterpret_cast<const Vector *>(a + at);
      if (reads > 1) value += *reinterpret_cast<const Vector *>(b + at);
      if (reads > 2) value += *reinterpret_cast<const Vector *>(c + at);
      if (!writes) sums[part] += value;
      if (writes && streaming) streamOut(out + at, value);
      if (writes && !streaming) *reinterpret_cast<Vector *>(out + at) = value;
    }
  }
  for (Vector &sum : sums) OPAQUE(sum);
#if defined(__SSE2__)
  if (streaming) _mm_sfence();
#endif
}

typedef void (*Pass)(const Streams &, long, long);

template <bool streaming>
Pass passFor(int reads, int writes) {
  if (writes == 0) return reads == 1 ? pass<1, false, false> : reads == 2 ? pass<2, false, false> : pass<3, false, false>;
  return reads == 1 ? pass<1, true, streaming> : reads == 2 ? pass<2, true, streaming> : pass<3, true, streaming>;
}

double bandwidth(const Streams &streams, Pass run, int threads) {
  const long block = 8 * lanes;
  const double bytes = 4.0 * (streams.reads + streams.writes);
  return bestRate(threads, [&](int thread, int count) {
    const long begin = streams.floats / block * thread / count * block;
    const long end = streams.floats / block * (thread + 1) / count * block;
    run(streams, begin, end);
    return bytes * (end - begin);
  });
}

// --- arithmetic

double multiplyAdds(int, int) {
  constexpr int chains = 12;
  Vector sums[chains];
#pragma GCC unroll 12
  for (int i = 0; i < chains; i += 1) sums[i] = all(i);
  Vector factor = all(0.999f), term = all(0.001f);
  OPAQUE(factor);
  OPAQUE(term);
  constexpr int rounds = 4096;
  for (int round = 0; round < rounds; round += 1) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; i += 1) {
      sums[i] = sums[i] * factor + term;
      OPAQUE(sums[i]);
    }
  }
  return 2.0 * rounds * chains * lanes;
}

// exp by Cody and Waite with a polynomial of degree 6, as a compiler writes it: within 3 ULP.
inline Vector expOf(Vector x) {
  const Vector shifted = x * 1.44269504f + 12582912.0f;
  const Vector n = shifted - 12582912.0f;
  Vector r = n * -0.693145752f + x;
  r = n * -1.42860677e-6f + r;
  Vector p = r * 1.3981999507e-3f + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  return (Vector)((Integers)p + ((Integers)shifted << 23));
}

inline Vector sigmoidOf(Vector x) { return 1.0f / (1.0f + expOf(-x)); }

// erf: an odd polynomial up to 0.875, and 1 - exp(polynomial) above, both always computed.
inline Vector erfOf(Vector x) {
  const Vector a = (Vector)((Integers)x & 0x7fffffff);
  const Vector s = x * x;
  Vector p = s * -6.203254832e-04f + 5.032181269e-03f;
  p = p * s + -2.679146301e-02f;
  p = p * s + 1.128245533e-01f;
  p = p * s + -3.761255046e-01f;
  p = p * s + 1.128379157e+00f;
  const Vector c = a < 3.95f ? a : all(3.95f);
  Vector q = c * -1.288243198e-03f + 1.585726653e-02f;
  q = q * c + -9.192975415e-02f;
  q = q * c + -6.495777867e-01f;
  q = q * c + -1.121013832e+00f;
  q = q * c + -1.653187330e-03f;
  const Vector large = 1.0f - expOf(q);
  const Vector signedLarge = (Vector)(((Integers)large & 0x7fffffff) | ((Integers)x & (int)0x80000000));
  return a < 0.875f ? p * x : signedLarge;
}

template <Vector (*function)(Vector)>
double evaluations(int, int) {
  constexpr int count = 512;
  alignas(64) static thread_local float values[count * lanes];
  if (values[1] == 0)
    for (int i = 0; i < count * lanes; i += 1) values[i] = 0.001f * (i % 3000) - 1.5f;
  for (int i = 0; i < count; i += 1) {
    Vector x = *reinterpret_cast<const Vector *>(values + i * lanes);
    Vector y = function(x);
    OPAQUE(y);
  }
  return double(count) * lanes;
}

}  // namespace

int main() {
  Streams streams{0, 0, 0, {}};
  for (std::string line; std::getline(std::cin, line);) {
    const int reads = std::clamp(static_cast<int>(bench::number(line, "reads", 1)), 1, 3);
    const int writes = bench::number(line, "writes", 1) > 0 ? 1 : 0;
    const int threads = std::max(1, static_cast<int>(bench::number(line, "threads", 1)));
    const long floats = static_cast<long>(bench::number(line, "streamBytes", 1 << 26)) / 4;
    if (reads != streams.reads || writes != streams.writes || floats != streams.floats) {
      for (float *array : streams.arrays) std::free(array);
      streams = {reads, writes, floats, {}};
      for (int i = 0; i < reads + writes; i += 1) streams.arrays.push_back(bench::allocate(floats));
    }
    const double ordinary = bandwidth(streams, passFor<false>(reads, writes), threads);
    const double streaming = writes == 0 ? ordinary : bandwidth(streams, passFor<true>(reads, writes), threads);
    const double peak = bestRate(threads, multiplyAdds);
    const double exp = bestRate(threads, evaluations<expOf>);
    const double sigmoid = bestRate(threads, evaluations<sigmoidOf>);
    const double erf = bestRate(threads, evaluations<erfOf>);
    std::printf("{\"ordinary\":%.6g,\"streaming\":%.6g,\"peak\":%.6g,", ordinary / 1e9, streaming / 1e9, peak / 1e9);
    std::printf("\"rates\":{\"exp\":%.6g,\"sigmoid\":%.6g,\"erf\":%.6g}}\n", exp / 1e6, sigmoid / 1e6, erf / 1e6);
    std::fflush(stdout);
  }
}
