// The models of the suite `models` as ONNX graphs: weights are initialisers, taken one after the other in the order of the workload. Where
// onnxruntime has several spellings of attention, each is a variant, of which the caller takes the fastest.
import { GraphWriter, modelBytes, onnx } from './onnx-graph.mjs';

const { FLOAT: float, INT64: int64 } = onnx.TensorProto.DataType;
const contrib = 'com.microsoft';

/** Layers over rows of one batch: values are [rows, width] but in attention, which asks for a batch. */
class Layers {
  constructor(graph, { rows, width, heads }, spelling) {
    Object.assign(this, { graph, rows, width, heads, spelling });
  }

  linear(x, inputs, outputs) {
    const [weight, bias] = [this.graph.take([outputs, inputs]), this.graph.take([outputs])];
    return this.graph.add('Gemm', x, weight, bias, { transB: 1 });
  }

  norm(x, epsilon) {
    const { graph, width } = this;
    const [scale, bias] = [graph.take([width]), graph.take([width])];
    return (value = x) => graph.add('LayerNormalization', value, scale, bias, { axis: -1, epsilon_f: epsilon });
  }

  reshape(x, dims) {
    return this.graph.add('Reshape', x, this.graph.integers(dims));
  }

  /** Rows of queries, keys and values beside one another, to rows of what they attend to. */
  attention(x, { causal = false, caches } = {}) {
    const { rows, width } = this;
    const whole = this.spelling === 'Attention' && caches === undefined ? this.#fused(x, causal) : undefined;
    const made = whole ?? this.#ofParts(this.linear(x, width, 3 * width), { causal, caches });
    return this.linear(this.reshape(made, [rows, width]), width, width);
  }

  /** With the product for queries, keys and values in it, whose weight is [inputs, outputs]. */
  #fused(x, causal) {
    const { graph, rows, width, heads } = this;
    const [weight, bias] = [graph.takeTransposed([3 * width, width]), graph.take([3 * width])];
    const attributes = { num_heads: heads, unidirectional: causal ? 1 : 0 };
    return graph.add(
      { domain: contrib, opType: 'Attention' },
      this.reshape(x, [1, rows, width]),
      weight,
      bias,
      attributes,
    );
  }

  #ofParts(parts, { causal, caches }) {
    const { graph, rows, width, heads, spelling } = this;
    const lists = [0, 1, 2].map((part) => {
      const ends = [[part * width], [(part + 1) * width], [1]].map((values) => graph.integers(values));
      return this.reshape(graph.add('Slice', parts, ...ends), [1, rows, width]);
    });
    if (spelling === 'GroupQueryAttention')
      return graph.add(
        { domain: contrib, opType: spelling, outputs: caches.fresh },
        ...[...lists, ...caches.past, caches.lengths, caches.total],
        { num_heads: heads, kv_num_heads: heads },
      );
    if (spelling === 'MultiHeadAttention')
      return graph.add({ domain: contrib, opType: spelling }, ...[...lists, '', '', '', ...(caches?.past ?? [])], {
        num_heads: heads,
        unidirectional: causal ? 1 : 0,
      });
    const inHeads = (value) => {
      const apart = this.reshape(value, [1, rows, heads, width / heads]);
      return graph.add('Transpose', apart, { perm: [0, 2, 1, 3] });
    };
    const [query, ...own] = lists.map(inHeads);
    const [key, value] = own.map((one, which) =>
      caches ? graph.add('Concat', caches.past[which], one, { axis: 2 }) : one,
    );
    const scaled = graph.add('Mul', query, graph.number((width / heads) ** -0.5));
    const scores = graph.add('MatMul', scaled, graph.add('Transpose', key, { perm: [0, 1, 3, 2] }));
    const masked = causal && rows > 1 ? graph.add('Add', scores, graph.causalMask(rows)) : scores;
    const mixed = graph.add('MatMul', graph.add('Softmax', masked, { axis: -1 }), value);
    return graph.add('Transpose', mixed, { perm: [0, 2, 1, 3] });
  }
}

const fullSpellings = ['Attention', 'MultiHeadAttention', 'plain'];

function gpt2Layer(layers, x, how) {
  const { graph, width } = layers;
  const attended = graph.add('Add', x, layers.attention(layers.norm(x, 1e-5)(), how));
  const up = layers.linear(layers.norm(attended, 1e-5)(), width, 4 * width);
  const wide = graph.add('Gelu', up, { approximate: 'tanh' });
  return graph.add('Add', attended, layers.linear(wide, 4 * width, width));
}

/** A layer of PyTorch's encoder, of whose weights the norms come last. */
function encoderLayer(layers, x, { normFirst, epsilon }) {
  const { graph, width } = layers;
  const mark = graph.mark();
  graph.skip([[3 * width, width], [3 * width], [width, width], [width]]);
  graph.skip([[4 * width, width], [4 * width], [width, 4 * width], [width]]);
  const [first, second] = [layers.norm(undefined, epsilon), layers.norm(undefined, epsilon)];
  const end = graph.mark();
  graph.goTo(mark);
  const feedForward = (value) => {
    const wide = graph.add('Gelu', layers.linear(value, width, 4 * width));
    return layers.linear(wide, 4 * width, width);
  };
  const attended = graph.add('Add', x, layers.attention(normFirst ? first(x) : x));
  const between = normFirst ? attended : first(attended);
  const made = graph.add('Add', between, feedForward(normFirst ? second(between) : between));
  graph.goTo(end);
  return normFirst ? made : second(made);
}

function gpt2({ layers: count, length, vocabulary, positions, width, heads, cached = 0 }) {
  const shape = [1, heads, cached + 1, width / heads];
  return {
    inputs: [
      { dims: [1, length], type: int64 },
      ...Array.from({ length: cached ? 2 * count : 0 }, () => ({ dims: shape, type: float })),
    ],
    outputs: [{ dims: [1, length, vocabulary], type: float }],
    spellings: cached ? ['GroupQueryAttention', 'MultiHeadAttention', 'plain'] : fullSpellings,
    compute: (graph, [tokens, ...caches], spelling) => {
      const layers = new Layers(graph, { rows: length, width, heads }, spelling);
      const words = graph.take([vocabulary, width]);
      const places = graph.takeRows([positions, width], { from: cached, count: length });
      let x = graph.add(
        'Add',
        layers.reshape(graph.add('Gather', words, tokens, { axis: 0 }), [length, width]),
        places,
      );
      const counts = cached
        ? { lengths: graph.integers32([1], [cached]), total: graph.integers32([1], [cached + 1]) }
        : {};
      const cut = (cache) =>
        graph.add('Slice', cache, graph.integers([0]), graph.integers([cached]), graph.integers([2]));
      for (let layer = 0; layer < count; layer += 1) {
        const own = caches.slice(2 * layer, 2 * layer + 2);
        const past = spelling === 'GroupQueryAttention' ? own : own.map(cut);
        const fresh = own.map((name) => `${name}_fresh`);
        x = gpt2Layer(layers, x, { causal: true, caches: cached ? { past, fresh, ...counts } : undefined });
      }
      const last = layers.norm(x, 1e-5)();
      return [layers.reshape(graph.add('Gemm', last, words, { transB: 1 }), [1, length, vocabulary])];
    },
    /** Caches that are written where they are: outputs that share the memory of inputs, by their names. */
    shared: (spelling) => spelling === 'GroupQueryAttention',
  };
}

const networks = {
  gpt2,
  gpt2Block: ({ length, width, heads }) => ({
    inputs: [{ dims: [1, length, width], type: float }],
    outputs: [{ dims: [1, length, width], type: float }],
    spellings: fullSpellings,
    compute: (graph, [x], spelling) => {
      const layers = new Layers(graph, { rows: length, width, heads }, spelling);
      return [
        layers.reshape(gpt2Layer(layers, layers.reshape(x, [length, width]), { causal: true }), [1, length, width]),
      ];
    },
  }),
  bert: ({ layers: count, length, vocabulary, positions, width, heads }) => ({
    inputs: [{ dims: [1, length], type: int64 }],
    outputs: [{ dims: [1, length, width], type: float }],
    spellings: fullSpellings,
    compute: (graph, [tokens], spelling) => {
      const layers = new Layers(graph, { rows: length, width, heads }, spelling);
      const words = graph.add('Gather', graph.take([vocabulary, width]), tokens, { axis: 0 });
      const places = graph.takeRows([positions, width], { from: 0, count: length });
      const kind = graph.takeRows([2, width], { from: 0, count: 1 });
      const sum = graph.add('Add', graph.add('Add', layers.reshape(words, [length, width]), places), kind);
      let x = layers.norm(sum, 1e-12)();
      for (let layer = 0; layer < count; layer += 1) x = encoderLayer(layers, x, { normFirst: false, epsilon: 1e-12 });
      return [layers.reshape(x, [1, length, width])];
    },
  }),
  whisper: ({ layers: count, frames, channels, width, heads }) => ({
    inputs: [{ dims: [1, channels, frames], type: float }],
    outputs: [{ dims: [1, frames / 2, width], type: float }],
    spellings: fullSpellings,
    compute: (graph, [spectrogram], spelling) => {
      const rows = frames / 2;
      const layers = new Layers(graph, { rows, width, heads }, spelling);
      const convolved = (x, inputs, stride) => {
        const weights = [graph.take([width, inputs, 3]), graph.take([width])];
        return graph.add(
          'Gelu',
          graph.add('Conv', x, ...weights, { kernel_shape: [3], strides: [stride], pads: [1, 1] }),
        );
      };
      const positions = graph.take([rows, width]);
      const made = convolved(convolved(spectrogram, channels, 1), width, 2);
      const inRows = layers.reshape(graph.add('Transpose', made, { perm: [0, 2, 1] }), [rows, width]);
      let x = graph.add('Add', inRows, positions);
      for (let layer = 0; layer < count; layer += 1) x = encoderLayer(layers, x, { normFirst: true, epsilon: 1e-5 });
      return [layers.reshape(layers.norm(x, 1e-5)(), [1, rows, width])];
    },
  }),
  resnet50: ({ batch, side, classes }) => photos({ batch, side, classes }, resnet50),
  mobileNetV2: ({ batch, side, classes }) => photos({ batch, side, classes }, mobileNetV2),
  lstm: ({ layers: count, length, batch, width }) => ({
    inputs: [{ dims: [length, batch, width], type: float }],
    outputs: [{ dims: [length, batch, width], type: float }],
    spellings: ['LSTM'],
    compute: (graph, [x]) => {
      let value = x;
      for (let layer = 0; layer < count; layer += 1) {
        // Gates are in, forget, cell, out in PyTorch, and in, out, forget, cell in ONNX.
        const order = [0, 3, 1, 2];
        const weights = [0, 1].map(() => graph.takeParts([4 * width, width], { order, dims: [1, 4 * width, width] }));
        const bias = graph.takeBiases(width, order);
        const made = graph.add('LSTM', value, ...weights, bias, { hidden_size: width });
        value = graph.add('Reshape', made, graph.integers([length, batch, width]));
      }
      return [value];
    },
  }),
};

const photos = ({ batch, side, classes }, network) => ({
  inputs: [{ dims: [batch, 3, side, side], type: float }],
  outputs: [{ dims: [batch, classes], type: float }],
  spellings: ['Conv'],
  compute: (graph, [images]) => {
    const { x, channels } = network(graph, images);
    const mean = graph.add('ReduceMean', x, graph.integers([2, 3]), { keepdims: 0 });
    const weights = [graph.take([classes, channels]), graph.take([classes])];
    return [graph.add('Gemm', mean, ...weights, { transB: 1 })];
  },
});

/** A convolution and a norm by the statistics of images before. */
function convolution(graph, x, { inputs, outputs, kernel, stride = 1, groups = 1 }) {
  const pad = (kernel - 1) / 2;
  const attributes = {
    kernel_shape: [kernel, kernel],
    strides: [stride, stride],
    pads: [pad, pad, pad, pad],
    group: groups,
  };
  const made = graph.add('Conv', x, graph.take([outputs, inputs / groups, kernel, kernel]), attributes);
  const statistics = Array.from({ length: 4 }, () => graph.take([outputs]));
  return graph.add('BatchNormalization', made, ...statistics, { epsilon_f: 1e-5 });
}

function resnet50(graph, images) {
  const relu = (value) => graph.add('Relu', value);
  const stem = relu(convolution(graph, images, { inputs: 3, outputs: 64, kernel: 7, stride: 2 }));
  let x = graph.add('MaxPool', stem, { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] });
  let channels = 64;
  for (const [stage, blocks] of [3, 4, 6, 3].entries())
    for (let block = 0; block < blocks; block += 1) {
      const [inner, outputs] = [64 << stage, 256 << stage];
      const stride = stage > 0 && block === 0 ? 2 : 1;
      const narrow = relu(convolution(graph, x, { inputs: channels, outputs: inner, kernel: 1 }));
      const window = relu(convolution(graph, narrow, { inputs: inner, outputs: inner, kernel: 3, stride }));
      const wide = convolution(graph, window, { inputs: inner, outputs, kernel: 1 });
      const shortcut = block === 0 ? convolution(graph, x, { inputs: channels, outputs, kernel: 1, stride }) : x;
      x = relu(graph.add('Add', wide, shortcut));
      channels = outputs;
    }
  return { x, channels };
}

function mobileNetV2(graph, images) {
  const [low, high] = [graph.number(0), graph.number(6)];
  const clipped = (value) => graph.add('Clip', value, low, high);
  let x = clipped(convolution(graph, images, { inputs: 3, outputs: 32, kernel: 3, stride: 2 }));
  let inputs = 32;
  const stages = [
    [1, 16, 1, 1],
    [6, 24, 2, 2],
    [6, 32, 3, 2],
    [6, 64, 4, 2],
    [6, 96, 3, 1],
    [6, 160, 3, 2],
    [6, 320, 1, 1],
  ];
  for (const [factor, outputs, blocks, first] of stages)
    for (let block = 0; block < blocks; block += 1) {
      const [inner, stride] = [inputs * factor, block === 0 ? first : 1];
      const wide = factor === 1 ? x : clipped(convolution(graph, x, { inputs, outputs: inner, kernel: 1 }));
      const window = clipped(
        convolution(graph, wide, { inputs: inner, outputs: inner, kernel: 3, stride, groups: inner }),
      );
      const narrow = convolution(graph, window, { inputs: inner, outputs, kernel: 1 });
      x = stride === 1 && inputs === outputs ? graph.add('Add', x, narrow) : narrow;
      inputs = outputs;
    }
  return { x: clipped(convolution(graph, x, { inputs, outputs: 1280, kernel: 1 })), channels: 1280 };
}

const sizeOf = (dims) => dims.reduce((product, extent) => product * extent, 1);

/** A network in each of its spellings, with inputs and room for results; undefined where there is none of that name. */
export function networkOf({ op, params }, values) {
  const network = networks[op]?.(params);
  if (network === undefined) return undefined;
  const names = network.inputs.map((_, position) => `x${position}`);
  const make = (spelling) => {
    const graph = new GraphWriter(values.slice(names.length));
    const results = network.compute(graph, names, spelling);
    // What is written where it is comes out under a name of its own.
    const kept = network.shared?.(spelling)
      ? names.slice(1).map((name, i) => ({ name, ...network.inputs[i + 1] }))
      : [];
    const inputs = names.map((name, i) => ({
      name,
      dims: network.inputs[i].dims,
      elementType: network.inputs[i].type,
    }));
    const outputs = results.map((name, i) => ({
      name,
      dims: network.outputs[i].dims,
      elementType: network.outputs[i].type,
    }));
    const all = [
      ...outputs,
      ...kept.map(({ name, dims, type }) => ({ name: `${name}_fresh`, dims, elementType: type })),
    ];
    const bytes = modelBytes(graph, { inputs, outputs: all });
    const feeds = inputs.map(({ name, dims, elementType }, i) =>
      elementType === int64
        ? { name, dims, type: 'int64', data: BigInt64Array.from(values[i], (value) => BigInt(Math.floor(value))) }
        : { name, dims, type: 'float32', data: values[i] },
    );
    const room = outputs.map(({ name, dims }) => ({
      name,
      dims,
      type: 'float32',
      data: new Float32Array(sizeOf(dims)),
    }));
    const written = kept.map(({ name, dims }) => ({
      ...feeds.find((one) => one.name === name),
      name: `${name}_fresh`,
      dims,
    }));
    return { bytes, inputs: feeds, outputs: [...room, ...written] };
  };
  return network.spellings.map((spelling) => ({ spelling, make: () => make(spelling) }));
}
