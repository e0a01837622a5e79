// An ONNX graph that is written call by call, and what its values are.
import pb from 'onnx-proto';

export const { onnx } = pb;
const { FLOAT: float, INT32: int32, INT64: int64 } = onnx.TensorProto.DataType;
const kinds = onnx.AttributeProto.AttributeType;

/** An attribute of a node: floats end in `f`, because a whole number may be either. */
const attributeOf = ([key, value]) => {
  const name = key.replace(/_f$/, '');
  if (key.endsWith('_f')) return onnx.AttributeProto.create({ name, type: kinds.FLOAT, f: value });
  if (typeof value === 'string') return onnx.AttributeProto.create({ name, type: kinds.STRING, s: Buffer.from(value) });
  if (Array.isArray(value)) return onnx.AttributeProto.create({ name, type: kinds.INTS, ints: value });
  return onnx.AttributeProto.create({ name, type: kinds.INT, i: value });
};

const valueInfo = (name, { dims, elementType }) =>
  onnx.ValueInfoProto.create({
    name,
    type: { tensorType: { elemType: elementType, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } },
  });

const sizeOf = (dims) => dims.reduce((product, extent) => product * extent, 1);
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/**
 * A graph that grows by calls: `graph.add('Add', a, b)`, `graph.add('Concat', a, b, { axis: 1 })`. Weights are taken one after the other from
 * those that it is given.
 */
export class GraphWriter {
  nodes = [];
  constants = [];
  #weights;
  #taken = 0;

  constructor(weights = []) {
    this.#weights = weights;
  }

  /** An operator by its name (`domain.Name`), or by its name and domain, and the names of outputs behind the first. An operand that is left out is ''. */
  add(operator, ...operands) {
    const { opType: full, outputs = [], ...given } = typeof operator === 'string' ? { opType: operator } : operator;
    const [, named = '', opType] = /^(?:(.*)\.)?(\w+)$/.exec(full);
    const { domain = named } = given;
    const last = operands.at(-1);
    const attributes = typeof last === 'object' ? last : {};
    const input = operands.filter((operand) => typeof operand === 'string');
    const output = `v${this.nodes.length}`;
    const attribute = Object.entries(attributes).map(attributeOf);
    this.nodes.push(onnx.NodeProto.create({ opType, domain, input, output: [output, ...outputs], attribute }));
    return output;
  }

  #next(dims) {
    const values = this.#weights[this.#taken];
    if (values?.length !== sizeOf(dims)) throw new RangeError(`weight ${this.#taken} is not [${dims.join(', ')}]`);
    this.#taken += 1;
    return values;
  }

  #floats(dims, values) {
    return this.#constant({ dataType: float, dims, rawData: bytesOf(values) });
  }

  /** The next weight. */
  take(dims) {
    return this.#floats(dims, this.#next(dims));
  }

  takeTransposed([rows, columns]) {
    const [values, turned] = [this.#next([rows, columns]), new Float32Array(rows * columns)];
    for (let row = 0; row < rows; row += 1)
      for (let column = 0; column < columns; column += 1) turned[column * rows + row] = values[row * columns + column];
    return this.#floats([columns, rows], turned);
  }

  /** Some rows of the next weight. */
  takeRows([rows, columns], { from, count }) {
    return this.#floats(
      [count, columns],
      this.#next([rows, columns]).subarray(from * columns, (from + count) * columns),
    );
  }

  /** The next weight with its rows, cut into as many parts, in another order. */
  takeParts(shape, { order, dims }) {
    return this.#floats(dims, inOrder(this.#next(shape), order));
  }

  /** The next two biases of four gates each, one behind the other. */
  takeBiases(width, order) {
    const both = [0, 1].map(() => inOrder(this.#next([4 * width]), order));
    return this.#floats([1, 8 * width], Float32Array.from(both.flatMap((values) => [...values])));
  }

  /** How many weights were taken, to come back to. */
  mark() {
    return this.#taken;
  }

  goTo(mark) {
    this.#taken = mark;
  }

  skip(shapes) {
    for (const dims of shapes) this.#next(dims);
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

  integers32(dims, values) {
    return this.#constant({ dataType: int32, dims, int32Data: values });
  }
}

function inOrder(values, order) {
  const part = values.length / order.length;
  const moved = new Float32Array(values.length);
  for (const [to, from] of order.entries()) moved.set(values.subarray(from * part, (from + 1) * part), to * part);
  return moved;
}

/** A graph as a model, with what is known of its inputs and outputs. */
export const modelBytes = (graph, { inputs, outputs }) =>
  onnx.ModelProto.encode(
    onnx.ModelProto.create({
      irVersion: 9,
      opsetImport: [
        { domain: '', version: 20 },
        { domain: 'com.microsoft', version: 1 },
      ],
      graph: {
        name: 'benchmark',
        node: graph.nodes,
        initializer: graph.constants,
        input: inputs.map(({ name, ...info }) => valueInfo(name, info)),
        output: outputs.map(({ name, ...info }) => valueInfo(name, info)),
      },
    }),
  ).finish();
