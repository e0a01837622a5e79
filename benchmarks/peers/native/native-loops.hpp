// What the hand-written loops share: how work is divided among threads, conversions of inputs that are made before
// anything is timed, and bf16.
#pragma once
#include <cmath>

#include "serve.hpp"

namespace native {

using bench::allocate;
using bench::Request;
using bench::Runnable;

struct Operation {
  const char *name;
  Runnable (*prepare)(const Request &);
};

typedef const float *__restrict In;
typedef float *__restrict Out;

// Below this many elements a second thread costs more than it brings.
constexpr long serialElements = 32768;

/** `body(begin, end)` over [0, total) in parts of `grain`, on all threads where the whole is worth it. */
template <class Body>
void parallel(long total, long grain, long elements, const Body &body) {
#pragma omp parallel for schedule(static) if (elements > serialElements)
  for (long begin = 0; begin < total; begin += grain) body(begin, std::min(total, begin + grain));
}

/** A program that runs `loop(arrays..., begin, end)` over parts of `n` elements; the last arrays are its outputs. */
template <class Loop, class... Arrays>
Runnable elementwise(long n, const std::vector<bench::Output> &outputs, Loop *loop, Arrays... arrays) {
  return {[=] { parallel(n, 16384, n, [=](long begin, long end) { loop(arrays..., begin, end); }); }, outputs};
}

struct Matrix {
  long rows, columns;
  explicit Matrix(const Request &request) : rows(request.param("rows")), columns(request.param("columns")) {}
  long size() const { return rows * columns; }
};

/** A program that runs `body(row)` for each row. */
template <class Body>
Runnable byRows(const Matrix &shape, const Body &body, const std::vector<bench::Output> &outputs) {
  return {[=] { parallel(shape.rows, 1, shape.size(), [&](long row, long) { body(row); }); }, outputs};
}

/** Columns of a thread's own, at least some lines of memory. */
inline long stripOf(const Request &request, long columns) { return std::max(64L, columns / request.threads); }

/** A number of which the upper half of a float is kept. */
struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  explicit Bf16(float value) : bits(rounded(value)) {}
  operator float() const { return widened(bits); }

  static uint16_t rounded(float value) {
    uint32_t all;
    std::memcpy(&all, &value, sizeof all);
    return static_cast<uint16_t>((all + 0x7fff + ((all >> 16) & 1)) >> 16);
  }
  static float widened(uint16_t bits) {
    const uint32_t all = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &all, sizeof all);
    return value;
  }
};

/** An input as elements of another type. */
template <class Element>
const Element *converted(const Request &request, size_t input, long n) {
  Element *values = allocate<Element>(n);
  for (long i = 0; i < n; i += 1) values[i] = static_cast<Element>(request.inputs[input][i]);
  return values;
}

/** An input as indices below `extent`. */
inline const int64_t *indices(const Request &request, size_t input, long n, long extent) {
  int64_t *values = allocate<int64_t>(n);
  for (long i = 0; i < n; i += 1)
    values[i] = std::clamp(static_cast<long>(std::floor(request.inputs[input][i])), 0L, extent - 1);
  return values;
}

}  // namespace native
