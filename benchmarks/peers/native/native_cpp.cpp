// Hand-fused loops, as a careful C++ programmer writes them and `g++ -Ofast -march=native -fopenmp` compiles them: what a
// fusing compiler that emits C++ reaches without any further trick.
#include <omp.h>

#include "native-chains.hpp"
#include "native-loops.hpp"
#include "native-movement.hpp"
#include "native-norms.hpp"
#include "native-reductions.hpp"

namespace {

using namespace native;

void addLoop(In x, In z, Out out, long n) {
  for (long i = 0; i < n; i += 1) out[i] = x[i] + z[i];
}

void geluSigmoidLoop(In x, In z, Out out, long begin, long end) {
  for (long i = begin; i < end; i += 1) {
    const float u = x[i] * 1.25f + 0.5f;
    out[i] = 0.5f * u * (1.0f + erff(u * 0.70710678f)) / (1.0f + expf(-z[i]));
  }
}

void softmaxRow(In x, Out out, long columns) {
  float largest = x[0], sum = 0;
  for (long j = 0; j < columns; j += 1) largest = x[j] > largest ? x[j] : largest;
  for (long j = 0; j < columns; j += 1) {
    out[j] = expf(x[j] - largest);
    sum += out[j];
  }
  const float scale = 1.0f / sum;
  for (long j = 0; j < columns; j += 1) out[j] *= scale;
}

void layerNormRow(In x, In gamma, In beta, Out out, long columns) {
  float sum = 0, squares = 0;
  for (long j = 0; j < columns; j += 1) sum += x[j];
  const float mean = sum / columns;
  for (long j = 0; j < columns; j += 1) squares += (x[j] - mean) * (x[j] - mean);
  const float scale = 1.0f / sqrtf(squares / columns + 1e-5f);
  for (long j = 0; j < columns; j += 1) out[j] = (x[j] - mean) * scale * gamma[j] + beta[j];
}

float rowSum(In x, long columns) {
  float sum = 0;
  for (long j = 0; j < columns; j += 1) sum += x[j];
  return sum;
}

void columnSums(In x, Out out, long rows, long columns, long stride) {
  for (long j = 0; j < columns; j += 1) out[j] = 0;
  for (long i = 0; i < rows; i += 1)
    for (long j = 0; j < columns; j += 1) out[j] += x[i * stride + j];
}

void transposeAddTile(In a, In b, Out out, long i0, long j0, long side) {
  for (long i = i0; i < std::min(side, i0 + tileSide); i += 1)
    for (long j = j0; j < std::min(side, j0 + tileSide); j += 1) out[i * side + j] = a[j * side + i] + b[i * side + j];
}

Runnable add(const Request &request) {
  const long n = request.param("n");
  const float *x = request.inputs[0], *z = request.inputs[1];
  float *out = allocate(n);
  return {[=] { addLoop(x, z, out, n); }, {out}};
}

Runnable geluSigmoid(const Request &request) {
  const long n = request.param("n");
  const float *x = request.inputs[0], *z = request.inputs[1];
  float *out = allocate(n);
  const auto part = [=](long begin, long end) { geluSigmoidLoop(x, z, out, begin, end); };
  return {[=] { parallel(n, 16384, n, part); }, {out}};
}

Runnable softmax(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(rows * columns);
  const auto row = [=](long i, long) { softmaxRow(x + i * columns, out + i * columns, columns); };
  return {[=] { parallel(rows, 1, rows * columns, row); }, {out}};
}

Runnable layerNorm(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0], *gamma = request.inputs[1], *beta = request.inputs[2];
  float *out = allocate(rows * columns);
  const auto row = [=](long i, long) { layerNormRow(x + i * columns, gamma, beta, out + i * columns, columns); };
  return {[=] { parallel(rows, 1, rows * columns, row); }, {out}};
}

Runnable sumRows(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(rows);
  const auto row = [=](long i, long) { out[i] = rowSum(x + i * columns, columns); };
  return {[=] { parallel(rows, 1, rows * columns, row); }, {out}};
}

Runnable sumColumns(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  const float *x = request.inputs[0];
  float *out = allocate(columns);
  const auto strip = [=](long begin, long end) { columnSums(x + begin, out + begin, rows, end - begin, columns); };
  const long width = stripOf(request, columns);
  return {[=] { parallel(columns, width, rows * columns, strip); }, {out}};
}

Runnable transposeAdd(const Request &request) {
  const long side = request.param("side");
  const float *a = request.inputs[0], *b = request.inputs[1];
  float *out = allocate(side * side);
  const auto rows = [=](long i0, long) {
    for (long j0 = 0; j0 < side; j0 += tileSide) transposeAddTile(a, b, out, i0, j0, side);
  };
  return {[=] { parallel(side, tileSide, side * side, rows); }, {out}};
}

constexpr Operation own[] = {
    {"add", add},         {"geluSigmoid", geluSigmoid}, {"softmax", softmax},           {"layerNorm", layerNorm},
    {"sumRows", sumRows}, {"sumColumns", sumColumns},   {"transposeAdd", transposeAdd},
};

template <size_t count>
const Operation *find(const Operation (&operations)[count], const std::string &name) {
  const auto found = std::find_if(operations, operations + count, [&](const auto &each) { return name == each.name; });
  return found == operations + count ? nullptr : found;
}

Runnable prepare(const Request &request) {
  omp_set_num_threads(request.threads);
  const std::string &op = request.op;
  const Operation *candidates[] = {find(own, op), find(chains, op), find(norms, op), find(reductions, op),
                                   find(movement, op)};
  for (const Operation *found : candidates)
    if (found != nullptr) return found->prepare(request);
  return {};
}

}  // namespace

int main() { bench::serve("g++ " __VERSION__, prepare); }
