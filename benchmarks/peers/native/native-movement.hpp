// Permutations by tiles, concatenation, gathers and scatters.
#pragma once
#include "native-loops.hpp"

namespace native {

constexpr long tileSide = 16;

/** A matrix that is turned: its extents, and the elements from one row to the next of what is read and written. */
struct Turn {
  long rows, columns, inStride, outStride;
};

inline void turnTile(In x, Out out, const Turn &turn, long i0, long j0) {
  for (long j = j0; j < std::min(turn.columns, j0 + tileSide); j += 1)
    for (long i = i0; i < std::min(turn.rows, i0 + tileSide); i += 1)
      out[j * turn.outStride + i] = x[i * turn.inStride + j];
}

/** Some columns of x, which become rows. */
inline void turnColumns(In x, Out out, const Turn &turn, long j0) {
  for (long i0 = 0; i0 < turn.rows; i0 += tileSide) turnTile(x, out, turn, i0, j0);
}

/** `count` matrices one after another, turned. */
inline Runnable turned(const Request &request, long count, long rows, long columns) {
  const Turn turn{rows, columns, columns, rows};
  const long size = rows * columns, strips = (columns + tileSide - 1) / tileSide;
  In x = request.inputs[0];
  Out out = allocate(count * size);
  const auto strip = [=](long i, long) {
    const long matrix = i / strips * size;
    turnColumns(x + matrix, out + matrix, turn, i % strips * tileSide);
  };
  return {[=] { parallel(count * strips, 1, count * size, strip); }, {out}};
}

inline Runnable transpose(const Request &request) {
  return turned(request, 1, request.param("rows"), request.param("columns"));
}
inline Runnable permute3(const Request &request) {
  return turned(request, 1, request.param("a") * request.param("b"), request.param("c"));
}
inline Runnable channelsLast(const Request &request) {
  return turned(request, request.param("batch"), request.param("channels"), request.param("pixels"));
}

/** The outer and the innermost axes are turned as matrices, one for each pair of positions between them. */
inline Runnable reverseAxes(const Request &request) {
  const long a = request.param("a"), b = request.param("b"), c = request.param("c"), d = request.param("d");
  const Turn turn{a, d, b * c * d, c * b * a};
  In x = request.inputs[0];
  Out out = allocate(a * b * c * d);
  const auto pair = [=](long i, long) {
    const long along = i % b, deep = i / b;
    for (long j0 = 0; j0 < d; j0 += tileSide)
      turnColumns(x + (along * c + deep) * d, out + (deep * b + along) * a, turn, j0);
  };
  return {[=] { parallel(b * c, 1, a * b * c * d, pair); }, {out}};
}

inline Runnable heads(const Request &request) {
  const long batch = request.param("batch"), length = request.param("length");
  const long count = request.param("heads"), width = request.param("width");
  In x = request.inputs[0];
  Out out = allocate(batch * length * count * width);
  const auto head = [=](long i, long) {
    const long b = i / count, h = i % count;
    for (long s = 0; s < length; s += 1)
      std::memcpy(out + (i * length + s) * width, x + ((b * length + s) * count + h) * width, width * sizeof(float));
  };
  return {[=] { parallel(batch * count, 1, batch * length * count * width, head); }, {out}};
}

inline Runnable catColumns(const Request &request) {
  const Matrix half(request);
  In x = request.inputs[0], y = request.inputs[1];
  Out out = allocate(2 * half.size());
  const auto row = [=](long i) {
    const long columns = half.columns;
    std::memcpy(out + 2 * i * columns, x + i * columns, columns * sizeof(float));
    std::memcpy(out + (2 * i + 1) * columns, y + i * columns, columns * sizeof(float));
  };
  return byRows(half, row, {out});
}

inline Runnable gatherRows(const Request &request) {
  const Matrix shape(request);
  In table = request.inputs[0];
  const int64_t *index = indices(request, 1, shape.rows, shape.rows);
  Out out = allocate(shape.size());
  const auto row = [=](long i) {
    std::memcpy(out + i * shape.columns, table + index[i] * shape.columns, shape.columns * sizeof(float));
  };
  return byRows(shape, row, {out});
}

inline Runnable gatherElements(const Request &request) {
  const Matrix shape(request);
  In x = request.inputs[0];
  const int64_t *index = indices(request, 1, shape.size(), shape.columns);
  Out out = allocate(shape.size());
  const auto row = [=](long i) {
    const long start = i * shape.columns;
#pragma omp simd
    for (long j = start; j < start + shape.columns; j += 1) out[j] = x[start + index[j]];
  };
  return byRows(shape, row, {out});
}

/** Each thread adds whole rows into a table of its own; the tables are summed at the end. */
inline void addRows(In source, const int64_t *index, float *table, const Matrix &shape, long size) {
  std::fill(table, table + size, 0.0f);
#pragma omp parallel for schedule(static) reduction(+ : table[ : size]) if (shape.size() > serialElements)
  for (long i = 0; i < shape.rows; i += 1) {
    In row = source + i * shape.columns;
    Out out = table + index[i] * shape.columns;
#pragma omp simd
    for (long j = 0; j < shape.columns; j += 1) out[j] += row[j];
  }
}

inline Runnable indexAddRows(const Request &request) {
  constexpr long tableRows = 64;
  const Matrix shape(request);
  In source = request.inputs[0];
  const int64_t *index = indices(request, 1, shape.rows, tableRows);
  float *table = allocate(tableRows * shape.columns);
  return {[=] { addRows(source, index, table, shape, tableRows * shape.columns); }, {table}};
}

inline Runnable halveImage(const Request &request) {
  const Matrix shape(request);
  In all = request.inputs[0];
  Out results = allocate(shape.size() / 4);
  const auto pair = [=](long i, long) {
    const long half = shape.columns / 2;
    In x = all + 2 * i * shape.columns, y = x + shape.columns;
    Out out = results + i * half;
#pragma omp simd
    for (long j = 0; j < half; j += 1) {
      const float mean = (x[2 * j] + x[2 * j + 1] + y[2 * j] + y[2 * j + 1]) * 0.25f;
      out[j] = (mean * (1 / 255.0f) - 0.45f) * (1 / 0.225f);
    }
  };
  return {[=] { parallel(shape.rows / 2, 1, shape.size(), pair); }, {results}};
}

constexpr Operation movement[] = {
    {"transpose", transpose},   {"permute3", permute3},         {"channelsLast", channelsLast},
    {"heads", heads},           {"reverseAxes", reverseAxes},   {"catColumns", catColumns},
    {"gatherRows", gatherRows}, {"gatherElements", gatherElements}, {"indexAddRows", indexAddRows},
    {"halveImage", halveImage},
};

}  // namespace native
