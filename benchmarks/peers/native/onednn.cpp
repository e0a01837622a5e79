// oneDNN: primitives created once, run on plain row-major memory, results awaited.
#include <dnnl.hpp>
#include <memory>

#include "serve.hpp"

using bench::Request;
using bench::Runnable;
using dnnl::memory;

namespace {

const dnnl::engine &engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc rowMajor(const memory::dims &dims) {
  return {dims, memory::data_type::f32, dims.size() == 1 ? memory::format_tag::a : memory::format_tag::ab};
}

memory over(const memory::dims &dims, float *values) { return {rowMajor(dims), engine(), values}; }

Runnable runnable(dnnl::primitive primitive, std::unordered_map<int, memory> arguments, float *out) {
  auto stream = std::make_shared<dnnl::stream>(engine());
  return {[=] {
            primitive.execute(*stream, arguments);
            stream->wait();
          },
          {out}};
}

Runnable matmul(const Request &request) {
  const long m = request.param("m"), k = request.param("k"), n = request.param("n");
  float *out = bench::allocate(m * n);
  const dnnl::matmul::desc description(rowMajor({m, k}), rowMajor({k, n}), rowMajor({m, n}));
  const dnnl::matmul primitive(dnnl::matmul::primitive_desc(description, engine()));
  return runnable(primitive,
                  {{DNNL_ARG_SRC, over({m, k}, request.inputs[0])},
                   {DNNL_ARG_WEIGHTS, over({k, n}, request.inputs[1])},
                   {DNNL_ARG_DST, over({m, n}, out)}},
                  out);
}

Runnable softmax(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  float *out = bench::allocate(rows * columns);
  const dnnl::softmax_forward::desc description(dnnl::prop_kind::forward_inference, rowMajor({rows, columns}), 1);
  const dnnl::softmax_forward primitive(dnnl::softmax_forward::primitive_desc(description, engine()));
  return runnable(primitive,
                  {{DNNL_ARG_SRC, over({rows, columns}, request.inputs[0])}, {DNNL_ARG_DST, over({rows, columns}, out)}},
                  out);
}

Runnable layerNorm(const Request &request) {
  const long rows = request.param("rows"), columns = request.param("columns");
  float *out = bench::allocate(rows * columns);
  const dnnl::layer_normalization_forward::desc description(
      dnnl::prop_kind::forward_inference, rowMajor({rows, columns}), 1e-5f,
      dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
  const dnnl::layer_normalization_forward primitive(
      dnnl::layer_normalization_forward::primitive_desc(description, engine()));
  return runnable(primitive,
                  {{DNNL_ARG_SRC, over({rows, columns}, request.inputs[0])},
                   {DNNL_ARG_SCALE, over({columns}, request.inputs[1])},
                   {DNNL_ARG_SHIFT, over({columns}, request.inputs[2])},
                   {DNNL_ARG_DST, over({rows, columns}, out)}},
                  out);
}

Runnable prepare(const Request &request) {
  if (request.op == "matmul") return matmul(request);
  if (request.op == "softmax") return softmax(request);
  if (request.op == "layerNorm") return layerNorm(request);
  return {};
}

}  // namespace

int main() { bench::serve("oneDNN", prepare); }
