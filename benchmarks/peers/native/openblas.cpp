// OpenBLAS: cblas_sgemm on row-major operands.
#include <cblas.h>

#include "serve.hpp"

namespace {

bench::Runnable prepare(const bench::Request &request) {
  if (request.op != "matmul") return {};
  openblas_set_num_threads(request.threads);
  const int m = request.param("m"), k = request.param("k"), n = request.param("n");
  const float *a = request.inputs[0], *b = request.inputs[1];
  float *out = bench::allocate(static_cast<size_t>(m) * n);
  return {[=] { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, out, n); }, {out}};
}

}  // namespace

int main() { bench::serve("OpenBLAS", prepare); }
