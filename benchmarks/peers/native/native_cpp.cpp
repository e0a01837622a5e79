// Hand-fused loops, as a careful C++ programmer writes them and `g++ -Ofast -march=native -fopenmp` compiles them: what a
// fusing compiler that emits C++ reaches without any further trick.
#include <omp.h>

#include <cmath>

#include "serve.hpp"

using bench::allocate;
using bench::Request;
using bench::Runnable;

namespace {

// Below this many elements a second thread costs more than it brings.
constexpr long serialElements = 32768;

Runnable add(const Request &request) {
  const long n = request.param("n");
  const float *x = request.inputs[0], *z = request.inputs[1];
  float *out = allocate(n);
  return {[=] {
            for (long i = 0; i < n; i += 1) out[i] = x[i] + z[i];
          },
          {out}};
}

Runnable geluSigmoid(const Request &request) {
  const long n = request.param("n");
  const float *x = request.inputs[0], *z = request.inputs[1];
  float *out = allocate(n);
  return {[=] {
#pragma omp parallel for simd schedule(static) if (n > serialElements)
            for (long i = 0; i < n; i += 1) {
              const float u = x[i] * 1.25f + 0.5f;
              out[i] = 0.5f * u * (1.0f + erff(u * 0.70710678f)) / (1.0f + expf(-z[i]));
            }
          },
          {out}};
}

Runnable softmax(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(rows * columns);
  return {[=] {
#pragma omp parallel for schedule(static) if (rows * columns > serialElements)
            for (long i = 0; i < rows; i += 1) {
              const float *from = x + i * columns;
              float *to = out + i * columns;
              float largest = from[0], sum = 0;
              for (long j = 0; j < columns; j += 1) largest = from[j] > largest ? from[j] : largest;
              for (long j = 0; j < columns; j += 1) {
                to[j] = expf(from[j] - largest);
                sum += to[j];
              }
              const float scale = 1.0f / sum;
              for (long j = 0; j < columns; j += 1) to[j] *= scale;
            }
          },
          {out}};
}

Runnable layerNorm(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0], *gamma = request.inputs[1], *beta = request.inputs[2];
  float *out = allocate(rows * columns);
  return {[=] {
#pragma omp parallel for schedule(static) if (rows * columns > serialElements)
            for (long i = 0; i < rows; i += 1) {
              const float *from = x + i * columns;
              float *to = out + i * columns;
              float sum = 0, squares = 0;
              for (long j = 0; j < columns; j += 1) sum += from[j];
              const float mean = sum / columns;
              for (long j = 0; j < columns; j += 1) squares += (from[j] - mean) * (from[j] - mean);
              const float scale = 1.0f / sqrtf(squares / columns + 1e-5f);
              for (long j = 0; j < columns; j += 1) to[j] = (from[j] - mean) * scale * gamma[j] + beta[j];
            }
          },
          {out}};
}

Runnable sumRows(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(rows);
  return {[=] {
#pragma omp parallel for schedule(static) if (rows * columns > serialElements)
            for (long i = 0; i < rows; i += 1) {
              float sum = 0;
              for (long j = 0; j < columns; j += 1) sum += x[i * columns + j];
              out[i] = sum;
            }
          },
          {out}};
}

Runnable sumColumns(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(columns);
  return {[=] {
            const long strip = columns >= 2048 ? 1024 : columns;
#pragma omp parallel for schedule(static) if (rows * columns > serialElements)
            for (long start = 0; start < columns; start += strip) {
              const long count = std::min(strip, columns - start);
              float *to = out + start;
              for (long j = 0; j < count; j += 1) to[j] = 0;
              for (long i = 0; i < rows; i += 1) {
                const float *from = x + i * columns + start;
                for (long j = 0; j < count; j += 1) to[j] += from[j];
              }
            }
          },
          {out}};
}

Runnable transposeAdd(const Request &request) {
  const long side = request.param("side");
  const float *a = request.inputs[0], *b = request.inputs[1];
  float *out = allocate(side * side);
  return {[=] {
            const long tile = 16;
#pragma omp parallel for schedule(static) if (side * side > serialElements)
            for (long i0 = 0; i0 < side; i0 += tile)
              for (long j0 = 0; j0 < side; j0 += tile)
                for (long i = i0; i < std::min(side, i0 + tile); i += 1)
                  for (long j = j0; j < std::min(side, j0 + tile); j += 1)
                    out[i * side + j] = a[j * side + i] + b[i * side + j];
          },
          {out}};
}

Runnable prepare(const Request &request) {
  omp_set_num_threads(request.threads);
  if (request.op == "add") return add(request);
  if (request.op == "geluSigmoid") return geluSigmoid(request);
  if (request.op == "softmax") return softmax(request);
  if (request.op == "layerNorm") return layerNorm(request);
  if (request.op == "sumRows") return sumRows(request);
  if (request.op == "sumColumns") return sumColumns(request);
  if (request.op == "transposeAdd") return transposeAdd(request);
  return {};
}

}  // namespace

int main() { bench::serve("g++ " __VERSION__, prepare); }
