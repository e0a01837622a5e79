// OpenBLAS: cblas_sgemm and cblas_dgemm on row-major operands, one call for each matrix of a batch.
#include <cblas.h>

#include "serve.hpp"

namespace {

void multiply(CBLAS_TRANSPOSE turnA, CBLAS_TRANSPOSE turnB, int m, int n, int k, const float *a, int rowA,
              const float *b, int rowB, float *out) {
  cblas_sgemm(CblasRowMajor, turnA, turnB, m, n, k, 1, a, rowA, b, rowB, 0, out, n);
}

void multiply(CBLAS_TRANSPOSE turnA, CBLAS_TRANSPOSE turnB, int m, int n, int k, const double *a, int rowA,
              const double *b, int rowB, double *out) {
  cblas_dgemm(CblasRowMajor, turnA, turnB, m, n, k, 1, a, rowA, b, rowB, 0, out, n);
}

template <class Element>
bench::Runnable product(const bench::Request &request) {
  const int m = request.param("m"), k = request.param("k"), n = request.param("n");
  const size_t batch = std::max(1L, request.param("batch"));
  const bool turnA = request.param("turnA") == 1, turnB = request.param("turnB") == 1;
  const auto converted = [](const float *values, size_t count) {
    Element *copy = bench::allocate<Element>(count);
    std::copy(values, values + count, copy);
    return copy;
  };
  const Element *a = converted(request.inputs[0], batch * m * k), *b = converted(request.inputs[1], batch * k * n);
  Element *out = bench::allocate<Element>(batch * m * n);
  return {[=] {
            for (size_t i = 0; i < batch; i += 1)
              multiply(turnA ? CblasTrans : CblasNoTrans, turnB ? CblasTrans : CblasNoTrans, m, n, k, a + i * m * k,
                       turnA ? m : k, b + i * k * n, turnB ? k : n, out + i * m * n);
          },
          {out}};
}

bench::Runnable prepare(const bench::Request &request) {
  openblas_set_num_threads(request.threads);
  if (request.op == "product") return product<float>(request);
  if (request.op == "productF64") return product<double>(request);
  if (request.op != "matmul") return {};
  const int m = request.param("m"), k = request.param("k"), n = request.param("n");
  const float *a = request.inputs[0], *b = request.inputs[1];
  float *out = bench::allocate(static_cast<size_t>(m) * n);
  return {[=] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, out, n); }, {out}};
}

}  // namespace

int main() { bench::serve("OpenBLAS", prepare); }
