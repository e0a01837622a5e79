// An ONNX graph that is written call by call, and what its values are.
import pb from 'onnx-proto';

export const { onnx } = pb;
const { FLOAT: float, INT64: int64 } = onnx.TensorProto.DataType;
const kinds = onnx.AttributeProto.AttributeType;

/** An attribute of a node: floats end in `f`, because a whole number may be either. */
const attributeOf = ([key, value]) => {
  const name = key.replace(/_f$/, '');
  if (key.endsWith('_f')) return onnx.AttributeProto.create({ name, type: kinds.FLOAT, f: value });
  if (typeof value === 'string') return onnx.AttributeProto.create({ name, type: kinds.STRING, s: Buffer.from(value) });
  if (Array.isArray(value)) return onnx.AttributeProto.create({ name, type: kinds.INTS, ints: value });
  return onnx.AttributeProto.create({ name, type: kinds.INT, i: value });
};

export const valueInfo = (name, { dims, elementType }) =>
  onnx.ValueInfoProto.create({
    name,
    type: { tensorType: { elemType: elementType, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } },
  });

/** A graph that grows by calls: `graph.add('Add', a, b)`; an operator of another domain is `domain.Name`. */
export class GraphWriter {
  nodes = [];
  constants = [];

  add(opType, ...operands) {
    const last = operands.at(-1);
    const attributes = typeof last === 'object' ? last : {};
    const input = operands.filter((operand) => typeof operand === 'string');
    const output = `v${this.nodes.length}`;
    const attribute = Object.entries(attributes).map(attributeOf);
    const [, domain = '', name] = /^(?:(.*)\.)?(\w+)$/.exec(opType);
    this.nodes.push(onnx.NodeProto.create({ domain, opType: name, input, output: [output], attribute }));
    return output;
  }

  #constant(fields) {
    const name = `c${this.constants.length}`;
    this.constants.push(onnx.TensorProto.create({ name, ...fields }));
    return name;
  }

  number(value) {
    return this.#constant({ dataType: float, dims: [], floatData: [value] });
  }

  zeros(dims) {
    const size = dims.reduce((product, extent) => product * extent, 1);
    return this.#constant({ dataType: float, dims, rawData: new Uint8Array(size * 4) });
  }

  vector(size, value) {
    return this.#constant({ dataType: float, dims: [size], floatData: Array.from({ length: size }, () => value) });
  }

  /** -Infinity behind the diagonal, 0 elsewhere. */
  causalMask(length) {
    const mask = new Float32Array(length * length);
    for (let row = 0; row < length; row += 1) mask.fill(-Infinity, row * length + row + 1, (row + 1) * length);
    return this.#constant({ dataType: float, dims: [length, length], rawData: new Uint8Array(mask.buffer) });
  }

  integers(values) {
    return this.#constant({ dataType: int64, dims: [values.length], int64Data: values });
  }
}
