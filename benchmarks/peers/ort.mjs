// onnxruntime-node on its CPU provider: a model per operation, inputs and outputs allocated once.
import pb from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { readFileSync } from 'node:fs';
import { inputsOf, serve } from '../dist/serve.js';

const { onnx } = pb;
const float = onnx.TensorProto.DataType.FLOAT;

const node = (opType, input, output, attribute = []) =>
  onnx.NodeProto.create({ opType, input, output: [output], attribute });
const intAttribute = (name, i) => onnx.AttributeProto.create({ name, type: onnx.AttributeProto.AttributeType.INT, i });
const floatAttribute = (name, f) =>
  onnx.AttributeProto.create({ name, type: onnx.AttributeProto.AttributeType.FLOAT, f });
const intsAttribute = (name, ints) =>
  onnx.AttributeProto.create({ name, type: onnx.AttributeProto.AttributeType.INTS, ints });
const scalar = (name, value) => onnx.TensorProto.create({ name, dataType: float, dims: [], floatData: [value] });
const ints = (name, values) =>
  onnx.TensorProto.create({
    name,
    dataType: onnx.TensorProto.DataType.INT64,
    dims: [values.length],
    int64Data: values,
  });
const valueInfo = (name, dims) =>
  onnx.ValueInfoProto.create({
    name,
    type: { tensorType: { elemType: float, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } },
  });

/** Nodes, shapes of `x0`, `x1` … and of `y`, and constants of each operation. */
const models = {
  add: ({ n }) => ({ shapes: [[n], [n]], result: [n], nodes: [node('Add', ['x0', 'x1'], 'y')] }),
  geluSigmoid: ({ n }) => ({
    shapes: [[n], [n]],
    result: [n],
    constants: [scalar('scale', 1.25), scalar('shift', 0.5)],
    nodes: [
      node('Mul', ['x0', 'scale'], 'scaled'),
      node('Add', ['scaled', 'shift'], 'u'),
      node('Gelu', ['u'], 'g'),
      node('Sigmoid', ['x1'], 's'),
      node('Mul', ['g', 's'], 'y'),
    ],
  }),
  softmax: ({ rows, columns }) => ({
    shapes: [[rows, columns]],
    result: [rows, columns],
    nodes: [node('Softmax', ['x0'], 'y', [intAttribute('axis', -1)])],
  }),
  layerNorm: ({ rows, columns }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    result: [rows, columns],
    nodes: [
      node('LayerNormalization', ['x0', 'x1', 'x2'], 'y', [intAttribute('axis', -1), floatAttribute('epsilon', 1e-5)]),
    ],
  }),
  sumRows: ({ rows, columns }) => reduceSum([rows, columns], 1),
  sumColumns: ({ rows, columns }) => reduceSum([rows, columns], 0),
  transposeAdd: ({ side }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    result: [side, side],
    nodes: [node('Transpose', ['x0'], 't', [intsAttribute('perm', [1, 0])]), node('Add', ['t', 'x1'], 'y')],
  }),
  matmul: ({ m, k, n }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    result: [m, n],
    nodes: [node('MatMul', ['x0', 'x1'], 'y')],
  }),
};

function reduceSum(shape, axis) {
  return {
    shapes: [shape],
    result: [shape[1 - axis]],
    constants: [ints('axes', [axis])],
    nodes: [node('ReduceSum', ['x0', 'axes'], 'y', [intAttribute('keepdims', 0)])],
  };
}

const encode = ({ shapes, result, nodes, constants = [] }) =>
  onnx.ModelProto.encode(
    onnx.ModelProto.create({
      irVersion: 9,
      opsetImport: [{ domain: '', version: 20 }],
      graph: {
        name: 'benchmark',
        node: nodes,
        initializer: constants,
        input: shapes.map((dims, i) => valueInfo(`x${i}`, dims)),
        output: [valueInfo('y', result)],
      },
    }),
  ).finish();

async function prepare(request) {
  const model = models[request.op]?.(request.params);
  if (model === undefined) return undefined;
  const session = await ort.InferenceSession.create(encode(model), {
    executionProviders: ['cpu'],
    intraOpNumThreads: request.threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
  });
  const inputs = inputsOf(request).map((values, i) => [`x${i}`, new ort.Tensor('float32', values, model.shapes[i])]);
  const feeds = Object.fromEntries(inputs);
  const out = new Float32Array(model.result.reduce((size, extent) => size * extent, 1));
  const fetches = { y: new ort.Tensor('float32', out, model.result) };
  let results;
  return {
    run: async () => {
      results = await session.run(feeds, fetches);
    },
    output: () => results.y.data,
  };
}

await serve({
  version: () =>
    JSON.parse(readFileSync(new URL('node_modules/onnxruntime-node/package.json', import.meta.url), 'utf8')).version,
  prepare,
});
