// Reductions and scans over one axis or all.
#pragma once
#include "native-loops.hpp"

namespace native {

inline Runnable sumAll(const Request &request) {
  const long n = Matrix(request).size();
  In x = request.inputs[0];
  float *out = allocate(1);
  const auto run = [=] {
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum) if (n > serialElements)
    for (long i = 0; i < n; i += 1) sum += x[i];
    *out = sum;
  };
  return {run, {out}};
}

/** Rows in blocks of 16, each of which is summed to one row. */
inline Runnable sumMiddle(const Request &request) {
  constexpr long inBlock = 16;
  const Matrix shape(request);
  In x = request.inputs[0];
  Out results = allocate(shape.size() / inBlock);
  const auto block = [=](long i, long) {
    const long columns = shape.columns;
    Out out = results + i * columns;
    std::fill(out, out + columns, 0.0f);
    for (long k = i * inBlock; k < (i + 1) * inBlock; k += 1) {
#pragma omp simd
      for (long j = 0; j < columns; j += 1) out[j] += x[k * columns + j];
    }
  };
  return {[=] { parallel(shape.rows / inBlock, 1, shape.size(), block); }, {results}};
}

/** The greatest value, and then where it is first: two passes, each of which vectorises. */
inline Runnable argmaxRows(const Request &request) {
  const Matrix shape(request);
  In all = request.inputs[0];
  int64_t *results = allocate<int64_t>(shape.rows);
  const auto row = [=](long i) {
    const int columns = static_cast<int>(shape.columns);
    In x = all + i * columns;
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (int j = 0; j < columns; j += 1) largest = std::max(largest, x[j]);
    int first = columns;
#pragma omp simd reduction(min : first)
    for (int j = 0; j < columns; j += 1) first = std::min(first, x[j] == largest ? j : columns);
    results[i] = first;
  };
  return byRows(shape, row, {results});
}

inline Runnable cumsumRows(const Request &request) {
  const Matrix shape(request);
  In all = request.inputs[0];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    In x = all + i * shape.columns;
    Out out = results + i * shape.columns;
    float sum = 0;
#pragma omp simd reduction(inscan, + : sum)
    for (long j = 0; j < shape.columns; j += 1) {
      sum += x[j];
#pragma omp scan inclusive(sum)
      out[j] = sum;
    }
  };
  return byRows(shape, row, {results});
}

inline Runnable cumsumColumns(const Request &request) {
  const Matrix shape(request);
  In x = request.inputs[0];
  Out out = allocate(shape.size()), sums = allocate(shape.columns);
  const auto strip = [=](long begin, long end) {
    std::fill(sums + begin, sums + end, 0.0f);
    for (long i = 0; i < shape.rows; i += 1) {
#pragma omp simd
      for (long j = begin; j < end; j += 1) {
        sums[j] += x[i * shape.columns + j];
        out[i * shape.columns + j] = sums[j];
      }
    }
  };
  const long width = stripOf(request, shape.columns);
  return {[=] { parallel(shape.columns, width, shape.size(), strip); }, {out}};
}

constexpr Operation reductions[] = {
    {"sumAll", sumAll},         {"sumMiddle", sumMiddle},         {"argmaxRows", argmaxRows},
    {"cumsumRows", cumsumRows}, {"cumsumColumns", cumsumColumns},
};

}  // namespace native
