// What the machine can do: bandwidth for a given number of read and written streams, with ordinary and with non-temporal
// stores, and with lines that are prefetched before they are read or written; peak float32 multiply-adds; evaluations per second of the
// functions that were asked for, without memory traffic: transcendental ones within 4 ULP, divisions, words of Philox 4x32,
// conversions from and to bf16 and int8, products and sums that are no halves of multiply-adds. Each is the best over one thread and all threads, in windows so short that all of them
// fall into one state of a virtual machine (see benchmarks/README.md), whose CPUs move between the cores of its host.
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif
#include <atomic>
#include <cmath>
#include <thread>

#include "../../../packages/runtime/native/limit-loops.h"
#include "serve.hpp"

namespace {

using limits::lanes;
using limits::Vector;
typedef int Integers __attribute__((vector_size(limits::vectorBytes)));
typedef unsigned long Words __attribute__((vector_size(limits::vectorBytes)));
typedef unsigned Bits __attribute__((vector_size(limits::vectorBytes)));
typedef unsigned short Halves __attribute__((vector_size(limits::vectorBytes / 2)));
typedef signed char Bytes __attribute__((vector_size(limits::vectorBytes / 4)));

constexpr double windowMs = 4;

/** Where there are as many CPUs as threads, each thread has its own: a system may begin two on one, and a window is short. */
void keepTo(int thread, int threads) {
#if defined(__linux__)
  static const cpu_set_t given = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  if (CPU_COUNT(&given) != threads) return;
  cpu_set_t own;
  CPU_ZERO(&own);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu += 1)
    if (CPU_ISSET(cpu, &given) && seen++ == thread) CPU_SET(cpu, &own);
  pthread_setaffinity_np(pthread_self(), sizeof own, &own);
#endif
}

inline Vector all(float value) { return Vector{} + value; }

/** Work per second of `body(thread)`, which returns how much it did, repeated by every thread for one window. */
template <class Body>
double rateOf(int threads, const Body &body) {
  std::atomic<int> waiting{threads};
  std::vector<double> rates(threads);
  const auto loop = [&](int thread) {
    keepTo(thread, threads);
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

/** The best over one thread and all. */
template <class Body>
double bestRate(int threads, const Body &body) {
  const double one = rateOf(1, [&](int thread) { return body(thread, 1); });
  if (threads == 1) return one;
  return std::max(one, rateOf(threads, [&](int thread) { return body(thread, threads); }));
}

// --- memory

struct Streams {
  /** Of reads, a quarter is an array of a quarter of the bytes. */
  double reads;
  int writes;
  long floats;
  std::vector<float *> arrays;
};

/** Arrays that hold something: there are processors that write zeros two to three times as fast as other numbers. */
Streams streamsOf(double reads, int writes, long floats) {
  Streams streams{reads, writes, floats, {}};
  for (int i = 0; i < std::ceil(reads) + writes; i += 1) {
    float *array = bench::allocate(floats);
    for (long at = 0; at < floats; at += 1) array[at] = 1.0f + at % 251;
    streams.arrays.push_back(array);
  }
  return streams;
}

/** Of large arrays, a window passes over some part, and the next one goes on behind it. */
double bandwidth(const Streams &streams, limits::Pass run, int threads) {
  constexpr long block = limits::block, pieceBlocks = (1 << 20) / block;
  const double bytes = 4.0 * (streams.reads + streams.writes);
  static std::vector<long> pieces;
  if (pieces.size() < static_cast<size_t>(threads)) pieces.resize(threads);
  return bestRate(threads, [&](int thread, int count) {
    const long first = streams.floats / block * thread / count, last = streams.floats / block * (thread + 1) / count;
    const long piece = std::min(pieceBlocks, last - first);
    if (piece == 0) return 0.0;
    const long at = first + pieces[thread]++ % ((last - first) / piece) * piece;
    run(streams.arrays.data(), at * block, (at + piece) * block);
    return bytes * (piece * block);
  });
}

// --- arithmetic

double multiplyAdds(int, int) {
  limits::multiplyAdds();
  return limits::multiplyAddOperations;
}

// Products and sums that are no halves of multiply-adds, as many of each: some processors do both at once.
double productsAndSums(int, int) {
  constexpr int chains = 6, rounds = 2048;
  Vector products[chains], sums[chains], one = Vector{} + 1.0f;
  OPAQUE(one);
  for (int chain = 0; chain < chains; chain += 1) products[chain] = sums[chain] = one + 0.5f * chain;
  for (int round = 0; round < rounds; round += 1) {
#pragma GCC unroll 6
    for (int chain = 0; chain < chains; chain += 1) {
      products[chain] *= one;
      sums[chain] += one;
    }
  }
  for (int chain = 0; chain < chains; chain += 1) {
    OPAQUE(products[chain]);
    OPAQUE(sums[chain]);
  }
  return 2.0 * rounds * chains * lanes;
}

/** e to the power of x as p times 2 to the power of n, where `shifted` is n and a number whose last bits are integers. */
struct Power {
  Vector p, n, shifted;
};

// By Cody and Waite with a polynomial of degree 6, as a compiler writes it: within 3 ULP.
inline Power powerOf(Vector x) {
  const Vector shifted = x * 1.44269504f + 12582912.0f;
  const Vector n = shifted - 12582912.0f;
  Vector r = n * -0.693145752f + x;
  r = n * -1.42860677e-6f + r;
  Vector p = r * 1.3981999507e-3f + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {p * (r * r) + r + 1.0f, n, shifted};
}

/** x, at most `high`; a NaN stays one. */
inline Vector atMost(Vector x, float high) {
#if defined(__AVX512F__)
  return (Vector)_mm512_min_ps(_mm512_set1_ps(high), (__m512)x);
#else
  return x > high ? all(high) : x;
#endif
}

inline Vector atLeast(Vector x, float low) {
#if defined(__AVX512F__)
  return (Vector)_mm512_max_ps(_mm512_set1_ps(low), (__m512)x);
#else
  return x < low ? all(low) : x;
#endif
}

// Of every number: 0 of minus infinity, as a masked softmax asks for, subnormal results, infinity, NaN.
inline Vector expOf(Vector x) {
  const Power power = powerOf(atMost(atLeast(x, -104.0f), 89.0f));
#if defined(__AVX512F__)
  return (Vector)_mm512_scalef_ps((__m512)power.p, (__m512)power.n);
#else
  const Integers n = (Integers)power.shifted - 0x4b400000, half = n >> 1;
  return power.p * (Vector)((half + 127) << 23) * (Vector)((n - half + 127) << 23);
#endif
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
  const Vector c = atMost(a, 3.95f);
  Vector q = c * -1.288243198e-03f + 1.585726653e-02f;
  q = q * c + -9.192975415e-02f;
  q = q * c + -6.495777867e-01f;
  q = q * c + -1.121013832e+00f;
  q = q * c + -1.653187330e-03f;
  // It lies between -17 and 0.
  const Power power = powerOf(q);
  const Vector large = 1.0f - (Vector)((Integers)power.p + ((Integers)power.shifted << 23));
  const Vector signedLarge = (Vector)(((Integers)large & 0x7fffffff) | ((Integers)x & (int)0x80000000));
  return a < 0.875f ? p * x : signedLarge;
}

// The logarithm of positive normal numbers: exponent and mantissa, and a polynomial of degree 8 in the mantissa.
inline Vector logOf(Vector x) {
  const Integers offset = (Integers)x - 0x3f3504f3;
  const Integers exponent = offset >> 23;
  const Vector m = (Vector)((Integers)x - (exponent << 23)) - 1.0f;
  const Vector e = __builtin_convertvector(exponent, Vector);
  Vector p = m * 7.0376836292e-2f + -1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m + -1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m + -1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m + -2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const Vector square = m * m;
  const Vector low = p * m * square + e * -2.12194440e-4f;
  return e * 0.693359375f + (m + (low - square * 0.5f));
}

inline Vector quotientOf(Vector x) { return 1.0009765625f / x; }

inline Vector fromBf16(Halves x) {
#if defined(__AVX512F__)
  return (Vector)((Bits)_mm512_cvtepu16_epi32((__m256i)x) << 16);
#else
  return (Vector)(__builtin_convertvector(x, Bits) << 16);
#endif
}

// To bf16: to nearest, halves to even, NaN as it is.
inline Halves toBf16(Vector x) {
  const Bits bits = (Bits)x;
#if defined(__AVX512BW__)
  constexpr int quietOrNothing = 0x22;
  const __mmask16 odd = _mm512_test_epi32_mask((__m512i)bits, _mm512_set1_epi32(0x10000));
  __m512i rounded = _mm512_mask_add_epi32((__m512i)(bits + 0x7fff), odd, (__m512i)bits, _mm512_set1_epi32(0x8000));
  rounded = (__m512i)_mm512_fixupimm_ps((__m512)rounded, (__m512)x, _mm512_set1_epi32(quietOrNothing), 0);
  Bits upper;
  for (int lane = 0; lane < lanes; lane += 1) upper[lane] = (4 * lane + 3) << 16 | (4 * lane + 1);
  return (Halves)_mm512_castsi512_si256(_mm512_permutexvar_epi16((__m512i)upper, rounded));
#else
  const Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return __builtin_convertvector((x == x ? rounded : bits | 0x400000) >> 16, Halves);
#endif
}

inline Vector fromInt8(Bytes x) {
#if defined(__AVX512F__)
  return (Vector)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)x));
#else
  return __builtin_convertvector(__builtin_convertvector(x, Integers), Vector);
#endif
}

inline Bytes toInt8(Vector x) {
#if defined(__AVX512F__)
  return (Bytes)_mm512_cvtepi32_epi8(_mm512_cvttps_epi32((__m512)x));
#else
  return __builtin_convertvector(__builtin_convertvector(x, Integers), Bytes);
#endif
}

/** Products of the lower halves. */
inline Words productOf(Words x, unsigned long y) {
#if defined(__AVX512F__)
  return (Words)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(y));
#elif defined(__AVX2__)
  return (Words)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(y));
#else
  return (x & 0xffffffff) * y;
#endif
}

// The four words of Philox 4x32 with ten rounds, folded into one; a counter in each lane of 64 bits, upper halves as they fall.
inline Words randomOf(Words x0) {
  Words x1 = x0 >> 32, x2 = x0 ^ x0, x3 = x2;
  unsigned long k0 = 42, k1 = 0;
#pragma GCC unroll 10
  for (int round = 0; round < 10; round += 1) {
    const Words first = productOf(x0, 0xd2511f53), second = productOf(x2, 0xcd9e8d57);
    x0 = (second >> 32) ^ x1 ^ k0;
    x2 = (first >> 32) ^ x3 ^ k1;
    x1 = second;
    x3 = first;
    k0 = (k0 + 0x9e3779b9) & 0xffffffff;
    k1 = (k1 + 0xbb67ae85) & 0xffffffff;
  }
  return x0 ^ x1 ^ x2 ^ x3;
}

double randomWords(int thread, int) {
  constexpr int count = 512, words = limits::vectorBytes / 8;
  Words counter = Words{} + (unsigned long)thread, sum = {};
  for (int i = 0; i < count; i += 1) {
    counter += words;
    sum += randomOf(counter);
  }
  OPAQUE(sum);
  return 4.0 * count * words;
}

/** The vector at `place`, of the type that a function takes. */
template <class Result, class Argument>
Argument argumentAt(Result (*)(Argument), const float *place) {
  return *reinterpret_cast<const Argument *>(place);
}

/** `first`: where the arguments begin, in halves. They lie in a part of the first cache. */
template <auto function, int first>
double evaluations(int, int) {
  constexpr int count = 64, passes = 8;
  alignas(64) static thread_local float values[count * lanes];
  if (values[0] == 0)
    for (int i = 0; i < count * lanes; i += 1) values[i] = 3.0f * i / (count * lanes) + 0.5f * first;
  for (int pass = 0; pass < passes; pass += 1) {
    for (int i = 0; i < count; i += 1) {
      auto y = function(argumentAt(function, values + i * lanes));
      OPAQUE(y);
    }
  }
  return double(passes) * count * lanes;
}

struct Function {
  const char *name;
  double (*rate)(int, int);
};
constexpr Function functions[] = {
    {"exp", evaluations<expOf, -3>},           {"sigmoid", evaluations<sigmoidOf, -3>},
    {"erf", evaluations<erfOf, -3>},           {"log", evaluations<logOf, 1>},
    {"divide", evaluations<quotientOf, 1>},    {"random", randomWords},
    {"fromBf16", evaluations<fromBf16, 1>},    {"toBf16", evaluations<toBf16, 1>},
    {"fromInt8", evaluations<fromInt8, 1>},    {"toInt8", evaluations<toInt8, 1>},
    {"single", productsAndSums},
};

}  // namespace

int main() {
  Streams streams{0, 0, 0, {}};
  for (std::string line; std::getline(std::cin, line);) {
    const double asked = bench::number(line, "reads", 1);
    const bool widens = asked == 0.25;
    const double reads = widens ? asked : std::clamp(static_cast<int>(asked), 1, limits::mostReads);
    const int writes = widens ? 1 : std::clamp(static_cast<int>(bench::number(line, "writes", 1)), 0, limits::mostWrites);
    const int threads = std::max(1, static_cast<int>(bench::number(line, "threads", 1)));
    const long floats = static_cast<long>(bench::number(line, "streamBytes", 1 << 26)) / 4;
    if (reads != streams.reads || writes != streams.writes || floats != streams.floats) {
      for (float *array : streams.arrays) std::free(array);
      streams = streamsOf(reads, writes, floats);
    }
    const auto rate = [&](limits::Writing writing) {
      const limits::Pass run = widens ? limits::wideningPass(writing) : limits::passFor(writing, reads, writes);
      return bandwidth(streams, run, threads) / 1e9;
    };
    const double ordinary = rate(limits::ordinary);
    const double streaming = writes == 0 ? ordinary : rate(limits::nonTemporal);
    const double readPrefetched = rate(limits::readPrefetched);
    const double prefetched = writes == 0 ? readPrefetched : std::max(readPrefetched, rate(limits::prefetched));
    const double peak = bestRate(threads, multiplyAdds);
    std::printf("{\"ordinary\":%.6g,\"streaming\":%.6g,\"asked\":%.6g,", ordinary, streaming, prefetched);
    std::printf("\"peak\":%.6g,", peak / 1e9);
    std::printf("\"rates\":{");
    const std::string wanted = " " + bench::word(line, "functions") + " ";
    const char *separator = "";
    for (const Function &function : functions) {
      if (wanted.find(" " + std::string(function.name) + " ") == std::string::npos) continue;
      std::printf("%s\"%s\":%.6g", separator, function.name, bestRate(threads, function.rate) / 1e6);
      separator = ",";
    }
    std::printf("}}\n");
    std::fflush(stdout);
  }
}
