// The operations of the suites as ONNX models: each is written as calls that add a node and give its name.
import { GraphWriter, modelBytes, onnx } from './onnx-graph.mjs';

const { FLOAT: float, DOUBLE: double, INT64: int64, INT8: int8, UINT8: uint8 } = onnx.TensorProto.DataType;

/** Shapes of the inputs, how a result is computed of them, and its shape; dtypes where they are not f32. */
const rowsOf = ({ rows, columns }) => [rows, columns];
const vectors =
  (count, compute) =>
  ({ n }) => ({ shapes: Array.from({ length: count }, () => [n]), results: [[n]], compute });
const matrices = (count, compute) => (params) => ({
  shapes: Array.from({ length: count }, () => rowsOf(params)),
  results: [rowsOf(params)],
  compute,
});
const permuted = (perm, shapeOf) => (params) => {
  const shape = shapeOf(params);
  return {
    shapes: [shape],
    results: [perm.map((axis) => shape[axis])],
    compute: (graph, [x]) => [graph.add('Transpose', x, { perm })],
  };
};
const reduced = (op, axes, attributes) => (params) => ({
  shapes: [rowsOf(params)],
  results: [rowsOf(params).filter((_, axis) => !axes.includes(axis))],
  compute: (graph, [x]) => [graph.add(op, x, graph.integers(axes), { keepdims: 0, ...attributes })],
});

const meanOf = (graph, x) => graph.add('ReduceMean', x, graph.integers([-1]), { keepdims: 1 });
const power = (graph, x, exponent) => graph.add('Pow', x, graph.number(exponent));

function normalOf(graph, x) {
  const scaled = graph.add('Mul', x, graph.number(Math.SQRT1_2));
  return graph.add('Mul', graph.add('Add', graph.add('Erf', scaled), graph.number(1)), graph.number(0.5));
}

function blackScholes(graph, [s, k, t]) {
  const scale = graph.add('Mul', graph.add('Sqrt', t), graph.number(0.3));
  const drift = graph.add('Mul', t, graph.number(0.065));
  const d1 = graph.add('Div', graph.add('Add', graph.add('Log', graph.add('Div', s, k)), drift), scale);
  const discount = graph.add('Exp', graph.add('Mul', t, graph.number(-0.02)));
  const paid = graph.add('Mul', graph.add('Mul', k, discount), normalOf(graph, graph.add('Sub', d1, scale)));
  return [graph.add('Sub', graph.add('Mul', s, normalOf(graph, d1)), paid)];
}

function iterate(graph, [a, b]) {
  let [x, y] = [a, b];
  for (let step = 0; step < 8; step += 1) {
    const difference = graph.add('Sub', graph.add('Mul', x, x), graph.add('Mul', y, y));
    const twice = graph.add('Mul', graph.add('Mul', x, y), graph.number(2));
    [x, y] = [graph.add('Add', difference, a), graph.add('Add', twice, b)];
  }
  return [graph.add('Add', graph.add('Mul', x, x), graph.add('Mul', y, y))];
}

function adam(graph, [p, g, m, v]) {
  const times = (x, factor) => graph.add('Mul', x, graph.number(factor));
  const first = graph.add('Add', times(m, 0.9), times(g, 0.1));
  const second = graph.add('Add', times(v, 0.999), times(graph.add('Mul', g, g), 0.001));
  const root = graph.add('Add', graph.add('Sqrt', second), graph.number(1e-8));
  return [graph.add('Sub', p, graph.add('Div', times(first, 0.001), root)), first, second];
}

function softmaxBackward(graph, [g, y]) {
  const total = graph.add('ReduceSum', graph.add('Mul', g, y), graph.integers([-1]), { keepdims: 1 });
  return [graph.add('Mul', graph.add('Sub', g, total), y)];
}

const inverseRoot = (graph, x, epsilon) =>
  graph.add('Reciprocal', graph.add('Sqrt', graph.add('Add', x, graph.number(epsilon))));

function layerNormBackward(graph, [g, x]) {
  const centred = graph.add('Sub', x, meanOf(graph, x));
  const scale = inverseRoot(graph, meanOf(graph, power(graph, centred, 2)), 1e-5);
  const along = graph.add('Mul', meanOf(graph, graph.add('Mul', g, centred)), power(graph, scale, 2));
  const rest = graph.add('Sub', graph.add('Sub', g, meanOf(graph, g)), graph.add('Mul', centred, along));
  return [graph.add('Mul', rest, scale)];
}

function rmsNormBackward(graph, [g, x, gamma]) {
  const scale = inverseRoot(graph, meanOf(graph, power(graph, x, 2)), 1e-6);
  const weighted = graph.add('Mul', g, gamma);
  const along = graph.add('Mul', meanOf(graph, graph.add('Mul', weighted, x)), power(graph, scale, 2));
  return [graph.add('Mul', graph.add('Sub', weighted, graph.add('Mul', x, along)), scale)];
}

function rotary(graph, [x, cosine, sine], half) {
  const part = (from, to) => graph.add('Slice', x, ...[[from], [to], [-1]].map((values) => graph.integers(values)));
  const [low, high] = [part(0, half), part(half, 2 * half)];
  const times = (left, right) => graph.add('Mul', left, right);
  const turned = graph.add('Sub', times(low, cosine), times(high, sine));
  return [graph.add('Concat', turned, graph.add('Add', times(high, cosine), times(low, sine)), { axis: -1 })];
}

/** Each of 8 groups of channels as one channel, which is what ONNX can normalise; then factors and terms of channels. */
function groupNorm(graph, [x, gamma, beta], shape) {
  const [ones, zeros] = [graph.vector(8, 1), graph.vector(8, 0)];
  const normal = graph.add('InstanceNormalization', x, ones, zeros, { epsilon_f: 1e-5 });
  const channels = graph.add('Reshape', normal, graph.integers(shape));
  return [graph.add('Add', graph.add('Mul', channels, gamma), beta)];
}

/** Products of matrices, which may lie transposed, and of batches of them. */
const product =
  (type = float) =>
  ({ batch, m, k, n, turnA, turnB }) => {
    const matrix = (rows, columns) => (batch > 1 ? [batch, rows, columns] : [rows, columns]);
    const turned = (graph, x, isTurned) =>
      isTurned ? graph.add('Transpose', x, { perm: batch > 1 ? [0, 2, 1] : [1, 0] }) : x;
    return {
      shapes: [turnA ? matrix(k, m) : matrix(m, k), turnB ? matrix(n, k) : matrix(k, n)],
      inputTypes: [type, type],
      results: [matrix(m, n)],
      resultType: type,
      compute: (graph, [a, b]) => [graph.add('MatMul', turned(graph, a, turnA), turned(graph, b, turnB))],
    };
  };

/** Elements of a row of a weight of int4 that share a scale. */
const group = 32;

/** Every operation that ONNX can say. */
export const models = {
  add: vectors(2, (graph, [x, z]) => [graph.add('Add', x, z)]),
  geluSigmoid: vectors(2, (graph, [x, z]) => {
    const u = graph.add('Add', graph.add('Mul', x, graph.number(1.25)), graph.number(0.5));
    return [graph.add('Mul', graph.add('Gelu', u), graph.add('Sigmoid', z))];
  }),
  softmax: matrices(1, (graph, [x]) => [graph.add('Softmax', x, { axis: -1 })]),
  layerNorm: ({ rows, columns }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    results: [[rows, columns]],
    compute: (graph, inputs) => [graph.add('LayerNormalization', ...inputs, { axis: -1, epsilon_f: 1e-5 })],
  }),
  sumRows: reduced('ReduceSum', [1]),
  sumColumns: reduced('ReduceSum', [0]),
  sumAll: reduced('ReduceSum', [0, 1]),
  sumMiddle: ({ rows, columns }) => ({
    shapes: [[rows / 16, 16, columns]],
    results: [[rows / 16, columns]],
    compute: (graph, [x]) => [graph.add('ReduceSum', x, graph.integers([1]), { keepdims: 0 })],
  }),
  argmaxRows: ({ rows, columns }) => ({
    shapes: [[rows, columns]],
    results: [[rows]],
    resultType: int64,
    compute: (graph, [x]) => [graph.add('ArgMax', x, { axis: 1, keepdims: 0 })],
  }),
  cumsumRows: matrices(1, (graph, [x]) => [graph.add('CumSum', x, graph.integers([1]))]),
  cumsumColumns: matrices(1, (graph, [x]) => [graph.add('CumSum', x, graph.integers([0]))]),
  transposeAdd: ({ side }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    results: [[side, side]],
    compute: (graph, [a, b]) => [graph.add('Add', graph.add('Transpose', a, { perm: [1, 0] }), b)],
  }),
  transpose: permuted([1, 0], rowsOf),
  permute3: permuted([2, 0, 1], ({ a, b, c }) => [a, b, c]),
  channelsLast: permuted([0, 2, 1], ({ batch, channels, pixels }) => [batch, channels, pixels]),
  heads: permuted([0, 2, 1, 3], ({ batch, length, heads, width }) => [batch, length, heads, width]),
  reverseAxes: permuted([3, 2, 1, 0], ({ a, b, c, d }) => [a, b, c, d]),
  conv: ({ dims, batch, channels, outputs, height, width, kernel, stride, padding, groups }) => {
    const space = dims === 2 ? [height, width] : [width];
    const each = (value) => space.map(() => value);
    const places = space.map((extent) => Math.floor((extent + 2 * padding - kernel) / stride) + 1);
    const attributes = {
      kernel_shape: each(kernel),
      strides: each(stride),
      pads: [...each(padding), ...each(padding)],
      group: groups,
    };
    return {
      shapes: [[batch, channels, ...space], [outputs, channels / groups, ...each(kernel)], [outputs]],
      results: [[batch, outputs, ...places]],
      compute: (graph, inputs) => [graph.add('Conv', ...inputs, attributes)],
    };
  },
  attention: ({ heads, length, width, causal }) => {
    const shape = [heads, length, width];
    const scores = (graph, q, k) => {
      const scaled = graph.add('Mul', q, graph.number(width ** -0.5));
      return graph.add('MatMul', scaled, graph.add('Transpose', k, { perm: [0, 2, 1] }));
    };
    return {
      shapes: [shape, shape, shape],
      results: [shape],
      compute: (graph, [q, k, v]) => {
        const made = scores(graph, q, k);
        const masked = causal === 1 ? graph.add('Add', made, graph.causalMask(length)) : made;
        return [graph.add('MatMul', graph.add('Softmax', masked, { axis: -1 }), v)];
      },
    };
  },
  matmul: ({ m, k, n }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    results: [[m, n]],
    compute: (graph, [a, b]) => [graph.add('MatMul', a, b)],
  }),
  product: product(),
  productF64: product(double),
  productInt8: ({ m, k, n }) => ({
    shapes: [[m, k], [k, n], [n]],
    inputTypes: [float, int8, float],
    results: [[m, n]],
    compute: (graph, [x, w, scale]) => [graph.add('MatMul', x, graph.add('DequantizeLinear', w, scale, { axis: 1 }))],
  }),
  productInt4: ({ m, k, n }) => ({
    shapes: [[m, k], [n, k / group, group / 2], [n * (k / group)]],
    inputTypes: [float, uint8, float],
    // A session packs such a weight once, if it is a part of the model.
    weights: [1, 2],
    results: [[m, n]],
    compute: (graph, [x, w, scale]) => [
      graph.add('com.microsoft.MatMulNBits', x, w, scale, { K: k, N: n, bits: 4, block_size: group }),
    ],
  }),
  rmsNorm: ({ rows, columns }) => ({
    shapes: [[rows, columns], [columns]],
    results: [[rows, columns]],
    compute: (graph, inputs) => [graph.add('SimplifiedLayerNormalization', ...inputs, { axis: -1, epsilon_f: 1e-6 })],
  }),
  rmsNormBackward: ({ rows, columns }) => ({
    shapes: [[rows, columns], [rows, columns], [columns]],
    results: [[rows, columns]],
    compute: rmsNormBackward,
  }),
  groupNorm: ({ batch, channels, pixels }) => ({
    shapes: [
      [batch, 8, (channels / 8) * pixels],
      [8, channels / 8, 1],
      [8, channels / 8, 1],
    ],
    results: [[batch, 8, channels / 8, pixels]],
    compute: (graph, inputs) => groupNorm(graph, inputs, [batch, 8, channels / 8, pixels]),
  }),
  softmaxBackward: matrices(2, softmaxBackward),
  layerNormBackward: matrices(2, layerNormBackward),
  crossEntropy: ({ rows, columns }) => ({
    shapes: [
      [rows, columns],
      [rows, 1],
    ],
    results: [[rows, 1]],
    indices: columns,
    compute: (graph, [x, label]) => {
      const total = graph.add('ReduceLogSumExp', x, graph.integers([1]), { keepdims: 1 });
      return [graph.add('Sub', total, graph.add('GatherElements', x, label, { axis: 1 }))];
    },
  }),
  rotary: ({ rows, positions, columns }) => ({
    shapes: [
      [rows, positions, columns],
      [positions, columns / 2],
      [positions, columns / 2],
    ],
    results: [[rows, positions, columns]],
    compute: (graph, inputs) => rotary(graph, inputs, columns / 2),
  }),
  catColumns: ({ rows, columns }) => ({
    shapes: [
      [rows, columns],
      [rows, columns],
    ],
    results: [[rows, 2 * columns]],
    compute: (graph, inputs) => [graph.add('Concat', ...inputs, { axis: 1 })],
  }),
  gatherRows: ({ rows, columns }) => ({
    shapes: [[rows, columns], [rows]],
    results: [[rows, columns]],
    indices: rows,
    compute: (graph, inputs) => [graph.add('Gather', ...inputs, { axis: 0 })],
  }),
  gatherElements: ({ rows, columns }) => ({
    shapes: [
      [rows, columns],
      [rows, columns],
    ],
    results: [[rows, columns]],
    indices: columns,
    compute: (graph, inputs) => [graph.add('GatherElements', ...inputs, { axis: 1 })],
  }),
  indexAddRows: ({ rows, columns }) => ({
    shapes: [
      [rows, columns],
      [rows, 1],
    ],
    results: [[64, columns]],
    indices: 64,
    compute: (graph, [x, index]) => [
      graph.add('ScatterND', graph.zeros([64, columns]), index, x, { reduction: 'add' }),
    ],
  }),
  halveImage: ({ rows, columns }) => ({
    shapes: [[1, 1, rows, columns]],
    results: [[1, 1, rows / 2, columns / 2]],
    compute: (graph, [x]) => {
      const mean = graph.add('AveragePool', x, { kernel_shape: [2, 2], strides: [2, 2] });
      const centred = graph.add('Sub', graph.add('Div', mean, graph.number(255)), graph.number(0.45));
      return [graph.add('Div', centred, graph.number(0.225))];
    },
  }),
  dropout: vectors(2, (graph, [x, u]) => {
    const kept = graph.add('Greater', u, graph.number(0.1));
    return [graph.add('Where', kept, graph.add('Mul', x, graph.number(1 / 0.9)), graph.number(0))];
  }),
  blackScholes: vectors(3, blackScholes),
  iterate: vectors(2, iterate),
  adam: ({ n }) => ({ shapes: [[n], [n], [n], [n]], results: [[n], [n], [n]], compute: adam }),
  dequantize: ({ rows, columns }) => ({
    shapes: [
      [rows, columns],
      [rows, 1],
      [rows, 1],
    ],
    results: [[rows, columns]],
    inputTypes: [int8],
    compute: (graph, [x, scale, zero]) => [
      graph.add('Add', graph.add('Mul', graph.add('Cast', x, { to: float }), scale), zero),
    ],
  }),
  requantize: ({ n }) => ({
    shapes: [[n]],
    results: [[n]],
    inputTypes: [int8],
    resultType: int8,
    compute: (graph, [x]) => {
      const scaled = graph.add('Mul', graph.add('Cast', x, { to: float }), graph.number(0.75));
      const clamped = graph.add('Clip', scaled, graph.number(0), graph.number(127));
      return [graph.add('Cast', clamped, { to: int8 })];
    },
  }),
};

/** What an input becomes before anything is timed: the protocol's are f32. */
function inputTypeOf({ indices, inputTypes = [] }, position) {
  return indices !== undefined && position === 1 ? int64 : (inputTypes[position] ?? float);
}

/** A session's name of a dtype, and how f32 values become it. */
const forms = {
  [float]: { name: 'float32', from: (values) => values, make: (size) => new Float32Array(size) },
  [double]: { name: 'float64', from: (values) => Float64Array.from(values), make: (size) => new Float64Array(size) },
  [uint8]: {
    name: 'uint8',
    from: (values) => Uint8Array.from(values, Math.trunc),
    make: (size) => new Uint8Array(size),
  },
  [int8]: { name: 'int8', from: (values) => Int8Array.from(values, Math.trunc), make: (size) => new Int8Array(size) },
  [int64]: { name: 'int64', make: (size) => new BigInt64Array(size) },
};

const clampedIndices = (values, extent) =>
  BigInt64Array.from(values, (value) => BigInt(Math.max(0, Math.min(extent - 1, Math.floor(value)))));

const initializerOf = ({ name, elementType, data, dims }) =>
  onnx.TensorProto.create({ name, dataType: elementType, dims, rawData: new Uint8Array(data.buffer) });

/** A model as bytes, with its inputs in the dtypes that it takes and room for its results; undefined where ONNX has no such op. */
export function modelOf({ op, params }, values) {
  const model = models[op]?.(params);
  if (model === undefined) return undefined;
  const graph = new GraphWriter();
  const names = model.shapes.map((_, position) => `x${position}`);
  const results = model.compute(graph, names);
  const resultType = model.resultType ?? float;
  const given = names.map((name, i) => {
    const type = inputTypeOf(model, i);
    const data = type === int64 ? clampedIndices(values[i], model.indices) : forms[type].from(values[i]);
    return { name, elementType: type, type: forms[type].name, data, dims: model.shapes[i] };
  });
  const isWeight = (_, position) => model.weights?.includes(position) === true;
  const inputs = given.filter((value, position) => !isWeight(value, position));
  graph.constants.push(...given.filter(isWeight).map(initializerOf));
  const bytes = modelBytes(graph, {
    inputs,
    outputs: results.map((name, i) => ({ name, dims: model.results[i], elementType: resultType })),
  });
  const outputs = results.map((name, i) => {
    const dims = model.results[i];
    const size = dims.reduce((product, extent) => product * extent, 1);
    return { name, type: forms[resultType].name, data: forms[resultType].make(size), dims };
  });
  return { bytes, inputs, outputs };
}
