// Normalisations and their gradients, a row at a time: a row stays in the first cache between the passes over it.
#pragma once
#include "native-loops.hpp"

namespace native {

/** The sum of term(j) for j below `count`. */
template <class Term>
float sumOf(long count, const Term &term) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long j = 0; j < count; j += 1) sum += term(j);
  return sum;
}

inline Runnable rmsNorm(const Request &request) {
  const Matrix shape(request);
  In all = request.inputs[0], gamma = request.inputs[1];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    const long columns = shape.columns;
    In x = all + i * columns;
    Out out = results + i * columns;
    const float scale = 1 / sqrtf(sumOf(columns, [=](long j) { return x[j] * x[j]; }) / columns + 1e-6f);
#pragma omp simd
    for (long j = 0; j < columns; j += 1) out[j] = x[j] * scale * gamma[j];
  };
  return byRows(shape, row, {results});
}

inline Runnable rmsNormBackward(const Request &request) {
  const Matrix shape(request);
  In gradients = request.inputs[0], all = request.inputs[1], gamma = request.inputs[2];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    const long columns = shape.columns;
    In g = gradients + i * columns, x = all + i * columns;
    Out out = results + i * columns;
    const float scale = 1 / sqrtf(sumOf(columns, [=](long j) { return x[j] * x[j]; }) / columns + 1e-6f);
    const float along = sumOf(columns, [=](long j) { return g[j] * gamma[j] * x[j]; }) / columns * scale * scale;
#pragma omp simd
    for (long j = 0; j < columns; j += 1) out[j] = scale * (g[j] * gamma[j] - x[j] * along);
  };
  return byRows(shape, row, {results});
}

inline Runnable softmaxBackward(const Request &request) {
  const Matrix shape(request);
  In gradients = request.inputs[0], values = request.inputs[1];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    const long columns = shape.columns;
    In g = gradients + i * columns, y = values + i * columns;
    Out out = results + i * columns;
    const float sum = sumOf(columns, [=](long j) { return g[j] * y[j]; });
#pragma omp simd
    for (long j = 0; j < columns; j += 1) out[j] = (g[j] - sum) * y[j];
  };
  return byRows(shape, row, {results});
}

inline Runnable layerNormBackward(const Request &request) {
  const Matrix shape(request);
  In gradients = request.inputs[0], all = request.inputs[1];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    const long columns = shape.columns;
    In g = gradients + i * columns, x = all + i * columns;
    Out out = results + i * columns;
    float sum = 0, gradient = 0;
#pragma omp simd reduction(+ : sum, gradient)
    for (long j = 0; j < columns; j += 1) {
      sum += x[j];
      gradient += g[j];
    }
    const float mean = sum / columns;
    float squares = 0, products = 0;
#pragma omp simd reduction(+ : squares, products)
    for (long j = 0; j < columns; j += 1) {
      const float centred = x[j] - mean;
      squares += centred * centred;
      products += g[j] * centred;
    }
    const float scale = 1 / sqrtf(squares / columns + 1e-5f);
    const float least = gradient / columns, along = products / columns * scale * scale;
#pragma omp simd
    for (long j = 0; j < columns; j += 1) out[j] = scale * (g[j] - least - (x[j] - mean) * along);
  };
  return byRows(shape, row, {results});
}

inline Runnable groupNorm(const Request &request) {
  const long batch = request.param("batch"), channels = request.param("channels"), pixels = request.param("pixels");
  constexpr long groups = 8;
  In all = request.inputs[0], gamma = request.inputs[1], beta = request.inputs[2];
  Out results = allocate(batch * channels * pixels);
  const auto group = [=](long i, long) {
    const long inGroup = channels / groups, count = inGroup * pixels;
    In x = all + i * count;
    Out out = results + i * count;
    const float mean = sumOf(count, [=](long j) { return x[j]; }) / count;
    const float squares = sumOf(count, [=](long j) { return (x[j] - mean) * (x[j] - mean); });
    for (long c = 0; c < inGroup; c += 1) {
      const long channel = i % groups * inGroup + c;
      const float scale = gamma[channel] / sqrtf(squares / count + 1e-5f), shift = beta[channel] - mean * scale;
#pragma omp simd
      for (long j = c * pixels; j < (c + 1) * pixels; j += 1) out[j] = x[j] * scale + shift;
    }
  };
  return {[=] { parallel(batch * groups, 1, batch * channels * pixels, group); }, {results}};
}

inline Runnable crossEntropy(const Request &request) {
  const Matrix shape(request);
  In all = request.inputs[0];
  const int64_t *labels = indices(request, 1, shape.rows, shape.columns);
  Out results = allocate(shape.rows);
  const auto row = [=](long i) {
    const long columns = shape.columns;
    In x = all + i * columns;
    float largest = x[0];
#pragma omp simd reduction(max : largest)
    for (long j = 0; j < columns; j += 1) largest = std::max(largest, x[j]);
    const float sum = sumOf(columns, [=](long j) { return expf(x[j] - largest); });
    results[i] = logf(sum) + largest - x[labels[i]];
  };
  return byRows(shape, row, {results});
}

inline Runnable rotary(const Request &request) {
  const long rows = request.param("rows"), positions = request.param("positions"), columns = request.param("columns");
  In all = request.inputs[0], cosines = request.inputs[1], sines = request.inputs[2];
  Out results = allocate(rows * positions * columns);
  const auto position = [=](long i, long) {
    const long half = columns / 2;
    In x = all + i * columns, cosine = cosines + i % positions * half, sine = sines + i % positions * half;
    Out out = results + i * columns;
#pragma omp simd
    for (long j = 0; j < half; j += 1) {
      out[j] = x[j] * cosine[j] - x[j + half] * sine[j];
      out[j + half] = x[j + half] * cosine[j] + x[j] * sine[j];
    }
  };
  return {[=] { parallel(rows * positions, 1, rows * positions * columns, position); }, {results}};
}

inline Runnable softmaxBf16(const Request &request) {
  const Matrix shape(request);
  const Bf16 *all = converted<Bf16>(request, 0, shape.size());
  Bf16 *results = allocate<Bf16>(shape.size());
  const auto row = [=](long i) {
    const long columns = shape.columns;
    const Bf16 *x = all + i * columns;
    Bf16 *out = results + i * columns;
    std::vector<float> powers(columns);
    Out power = powers.data();
    float largest = x[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (long j = 0; j < columns; j += 1) largest = std::max(largest, Bf16::widened(x[j].bits));
#pragma omp simd reduction(+ : sum)
    for (long j = 0; j < columns; j += 1) {
      power[j] = expf(Bf16::widened(x[j].bits) - largest);
      sum += power[j];
    }
    const float scale = 1 / sum;
#pragma omp simd
    for (long j = 0; j < columns; j += 1) out[j].bits = Bf16::rounded(power[j] * scale);
  };
  return byRows(shape, row, {results});
}

inline Runnable dequantize(const Request &request) {
  const Matrix shape(request);
  const int8_t *all = converted<int8_t>(request, 0, shape.size());
  In scales = request.inputs[1], zeros = request.inputs[2];
  Out results = allocate(shape.size());
  const auto row = [=](long i) {
    const int8_t *x = all + i * shape.columns;
    Out out = results + i * shape.columns;
    const float scale = scales[i], zero = zeros[i];
#pragma omp simd
    for (long j = 0; j < shape.columns; j += 1) out[j] = x[j] * scale + zero;
  };
  return byRows(shape, row, {results});
}

constexpr Operation norms[] = {
    {"rmsNorm", rmsNorm},
    {"rmsNormBackward", rmsNormBackward},
    {"softmaxBackward", softmaxBackward},
    {"layerNormBackward", layerNormBackward},
    {"groupNorm", groupNorm},
    {"crossEntropy", crossEntropy},
    {"rotary", rotary},
    {"softmaxBf16", softmaxBf16},
    {"dequantize", dequantize},
};

}  // namespace native
