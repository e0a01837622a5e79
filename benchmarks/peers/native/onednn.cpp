// oneDNN: primitives created once, run on plain row-major memory, results awaited.
#include <dnnl.hpp>
#include <cstring>
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

/** An element of bf16, as its upper half of a float. */
struct Bf16 {
  uint16_t bits;
  explicit operator double() const {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
};

/** The nearest number of bf16, of two that are as near the even one. */
Bf16 *narrowed(const float *values, size_t count) {
  Bf16 *copy = bench::allocate<Bf16>(count);
  for (size_t i = 0; i < count; i += 1) {
    uint32_t word;
    std::memcpy(&word, values + i, sizeof word);
    copy[i].bits = static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  return copy;
}

/** Products of a batch of matrices, which may lie transposed, in f32 or bf16. */
Runnable product(const Request &request, bool isBf16) {
  const long m = request.param("m"), k = request.param("k"), n = request.param("n");
  const long batch = std::max(1L, request.param("batch"));
  const auto type = isBf16 ? memory::data_type::bf16 : memory::data_type::f32;
  const auto described = [&](long rows, long columns, bool isTurned) {
    const memory::dims steps = {rows * columns, isTurned ? 1 : columns, isTurned ? rows : 1};
    return memory::desc({batch, rows, columns}, type, steps);
  };
  const memory::desc a = described(m, k, request.param("turnA") == 1), b = described(k, n, request.param("turnB") == 1);
  const memory::desc result = described(m, n, false);
  const dnnl::matmul primitive(dnnl::matmul::primitive_desc({a, b, result}, engine()));
  const auto bound = [&](const memory::desc &description, int position, long count) {
    float *values = request.inputs[position];
    return memory(description, engine(), isBf16 ? static_cast<void *>(narrowed(values, count)) : values);
  };
  float *out = bench::allocate(batch * m * n);
  Runnable made = runnable(primitive,
                           {{DNNL_ARG_SRC, bound(a, 0, batch * m * k)},
                            {DNNL_ARG_WEIGHTS, bound(b, 1, batch * k * n)},
                            {DNNL_ARG_DST, memory(result, engine(), out)}},
                           out);
  if (isBf16) made.outputs = {reinterpret_cast<Bf16 *>(out)};
  return made;
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
  if (request.op == "product" || request.op == "productBf16") return product(request, request.op == "productBf16");
  if (request.op == "softmax") return softmax(request);
  if (request.op == "layerNorm") return layerNorm(request);
  return {};
}

}  // namespace

int main() { bench::serve("oneDNN", prepare); }
