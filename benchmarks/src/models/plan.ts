// What a model of the suite `models` is given: its inputs, its weights in the order of the state of its module, and how much it computes. Weights are
// drawn so that values keep about their size from layer to layer.
import type { Params } from '../protocol.ts';

/** A tensor of uniform values. */
export interface Drawn {
  readonly shape: readonly number[];
  readonly range: readonly [low: number, high: number];
}

export interface ModelPlan {
  readonly inputs: readonly Drawn[];
  readonly weights: readonly Drawn[];
  readonly outputs: readonly (readonly number[])[];
  readonly flops: number;
  /** Elements of weights that a call does not read: rows of tables of tokens and places that are not looked up. */
  readonly untouched: number;
}

interface Convolution {
  readonly inputs: number;
  readonly outputs: number;
  readonly kernel: readonly number[];
  readonly groups?: number;
  /** Of its results: all images and places. */
  readonly places: number;
  readonly bias?: boolean;
}

/** Lists weights layer by layer, and adds up what layers compute. */
class PlanWriter {
  readonly weights: Drawn[] = [];
  flops = 0;

  weight(shape: readonly number[], range: Drawn['range']): void {
    this.weights.push({ shape, range });
  }

  #small(size: number): void {
    this.weight([size], [-0.1, 0.1]);
  }

  linear(inputs: number, outputs: number, rows: number): void {
    const bound = Math.sqrt(3 / inputs);
    this.weight([outputs, inputs], [-bound, bound]);
    this.#small(outputs);
    this.flops += 2 * rows * inputs * outputs;
  }

  norm(width: number): void {
    this.weight([width], [0.8, 1.2]);
    this.#small(width);
  }

  convolution({ inputs, outputs, kernel, groups = 1, places, bias = false }: Convolution): void {
    const fan = (inputs / groups) * kernel.reduce((product, extent) => product * extent, 1);
    const bound = Math.sqrt(6 / fan);
    this.weight([outputs, inputs / groups, ...kernel], [-bound, bound]);
    if (bias) this.#small(outputs);
    this.flops += 2 * places * outputs * fan;
  }

  /** Behind a convolution: its factor and term, and the mean and the variance of images before. */
  batchNorm(channels: number): void {
    this.norm(channels);
    this.#small(channels);
    this.weight([channels], [0.8, 1.2]);
  }

  /** The products of attention: for each pair of a row and a column, in all heads together. */
  attention(pairs: number, width: number): void {
    this.flops += 4 * pairs * width;
  }
}

/** A layer of GPT-2: norms first, one product for queries, keys and values. */
function gpt2Block(plan: PlanWriter, { width, rows, pairs }: { width: number; rows: number; pairs: number }): void {
  plan.norm(width);
  plan.linear(width, 3 * width, rows);
  plan.attention(pairs, width);
  plan.linear(width, width, rows);
  plan.norm(width);
  plan.linear(width, 4 * width, rows);
  plan.linear(4 * width, width, rows);
}

/** A layer of `TransformerEncoder`, whose state has both norms behind the products. */
function encoderLayer(plan: PlanWriter, width: number, rows: number): void {
  plan.linear(width, 3 * width, rows);
  plan.attention(rows * rows, width);
  plan.linear(width, width, rows);
  plan.linear(width, 4 * width, rows);
  plan.linear(4 * width, width, rows);
  plan.norm(width);
  plan.norm(width);
}

const table = (rows: number, width: number): Drawn => ({ shape: [rows, width], range: [-0.05, 0.05] });
const tokens = (length: number, vocabulary: number): Drawn => ({ shape: [1, length], range: [0, vocabulary] });
const times = (count: number, make: () => void): void => {
  for (let turn = 0; turn < count; turn += 1) make();
};

function gpt2({
  layers = 0,
  length = 0,
  vocabulary = 0,
  positions = 0,
  width = 0,
  heads = 0,
  cached = 0,
}: Params): ModelPlan {
  const plan = new PlanWriter();
  plan.weights.push(table(vocabulary, width), table(positions, width));
  const pairs = cached * length + (length * (length + 1)) / 2;
  times(layers, () => {
    gpt2Block(plan, { width, rows: length, pairs });
  });
  plan.norm(width);
  plan.flops += 2 * length * width * vocabulary;
  const cache: Drawn = { shape: [1, heads, cached + 1, width / heads], range: [-1, 1] };
  const caches = cached === 0 ? [] : Array.from({ length: 2 * layers }, () => cache);
  const { weights, flops } = plan;
  return {
    inputs: [tokens(length, vocabulary), ...caches],
    weights,
    outputs: [[1, length, vocabulary]],
    flops,
    untouched: (positions - length) * width,
  };
}

function oneBlock({ length = 0, width = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  gpt2Block(plan, { width, rows: length, pairs: (length * (length + 1)) / 2 });
  const { weights, flops } = plan;
  const inputs: readonly Drawn[] = [{ shape: [1, length, width], range: [-1, 1] }];
  return { inputs, weights, outputs: [[1, length, width]], flops, untouched: 0 };
}

function bert({ layers = 0, length = 0, vocabulary = 0, positions = 0, width = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  plan.weights.push(table(vocabulary, width), table(positions, width), table(2, width));
  plan.norm(width);
  times(layers, () => {
    encoderLayer(plan, width, length);
  });
  const { weights, flops } = plan;
  const untouched = (vocabulary + positions - 2 * length + 1) * width;
  return { inputs: [tokens(length, vocabulary)], weights, outputs: [[1, length, width]], flops, untouched };
}

/** Two convolutions over frames, of which the second leaves half of them, and layers. */
function whisper({ layers = 0, frames = 0, channels = 0, width = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  const rows = frames / 2;
  // A module's own tensors come before those of its layers.
  plan.weights.push(table(rows, width));
  plan.convolution({ inputs: channels, outputs: width, kernel: [3], places: frames, bias: true });
  plan.convolution({ inputs: width, outputs: width, kernel: [3], places: rows, bias: true });
  times(layers, () => {
    encoderLayer(plan, width, rows);
  });
  plan.norm(width);
  const { weights, flops } = plan;
  const inputs: readonly Drawn[] = [{ shape: [1, channels, frames], range: [-1, 1] }];
  return { inputs, weights, outputs: [[1, rows, width]], flops, untouched: 0 };
}

const image = (batch: number, side: number): Drawn => ({ shape: [batch, 3, side, side], range: [-1, 1] });

/** Stages of ResNet-50: blocks, and channels within and behind each. */
export const resnetStages = [
  { blocks: 3, inner: 64, outer: 256 },
  { blocks: 4, inner: 128, outer: 512 },
  { blocks: 6, inner: 256, outer: 1024 },
  { blocks: 3, inner: 512, outer: 2048 },
] as const;

function resnet50({ batch = 0, side = 0, classes = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  const layer = (inputs: number, outputs: number, at: { kernel: number; side: number }): void => {
    plan.convolution({ inputs, outputs, kernel: [at.kernel, at.kernel], places: batch * at.side ** 2 });
    plan.batchNorm(outputs);
  };
  layer(3, 64, { kernel: 7, side: side / 2 });
  let [channels, now] = [64, side / 4];
  for (const [stage, { blocks, inner, outer }] of resnetStages.entries())
    for (let block = 0; block < blocks; block += 1) {
      const next = stage > 0 && block === 0 ? now / 2 : now;
      layer(channels, inner, { kernel: 1, side: now });
      layer(inner, inner, { kernel: 3, side: next });
      layer(inner, outer, { kernel: 1, side: next });
      if (block === 0) layer(channels, outer, { kernel: 1, side: next });
      [channels, now] = [outer, next];
    }
  plan.linear(channels, classes, batch);
  const { weights, flops } = plan;
  return { inputs: [image(batch, side)], weights, outputs: [[batch, classes]], flops, untouched: 0 };
}

/** Stages of MobileNetV2: how many times wider blocks are within, their channels, how many there are, and the first one's stride. */
export const mobileStages = [
  { factor: 1, channels: 16, blocks: 1, stride: 1 },
  { factor: 6, channels: 24, blocks: 2, stride: 2 },
  { factor: 6, channels: 32, blocks: 3, stride: 2 },
  { factor: 6, channels: 64, blocks: 4, stride: 2 },
  { factor: 6, channels: 96, blocks: 3, stride: 1 },
  { factor: 6, channels: 160, blocks: 3, stride: 2 },
  { factor: 6, channels: 320, blocks: 1, stride: 1 },
] as const;

function mobileNetV2({ batch = 0, side = 0, classes = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  const layer = (inputs: number, outputs: number, at: { kernel: number; side: number; groups?: number }): void => {
    const { kernel, side: width, groups = 1 } = at;
    plan.convolution({ inputs, outputs, kernel: [kernel, kernel], groups, places: batch * width ** 2 });
    plan.batchNorm(outputs);
  };
  let [inputs, now] = [32, side / 2];
  layer(3, 32, { kernel: 3, side: now });
  for (const { factor, channels, blocks, stride } of mobileStages)
    for (let block = 0; block < blocks; block += 1) {
      const inner = inputs * factor;
      if (factor > 1) layer(inputs, inner, { kernel: 1, side: now });
      now /= block === 0 ? stride : 1;
      layer(inner, inner, { kernel: 3, side: now, groups: inner });
      layer(inner, channels, { kernel: 1, side: now });
      inputs = channels;
    }
  layer(inputs, 1280, { kernel: 1, side: now });
  plan.linear(1280, classes, batch);
  const { weights, flops } = plan;
  return { inputs: [image(batch, side)], weights, outputs: [[batch, classes]], flops, untouched: 0 };
}

function lstm({ layers = 0, length = 0, batch = 0, width = 0 }: Params): ModelPlan {
  const plan = new PlanWriter();
  const bound = 1 / Math.sqrt(width);
  times(layers, () => {
    for (let part = 0; part < 2; part += 1) plan.weight([4 * width, width], [-bound, bound]);
    for (let part = 0; part < 2; part += 1) plan.weight([4 * width], [-bound, bound]);
    plan.flops += 2 * length * batch * 8 * width * width;
  });
  const shape = [length, batch, width];
  const { weights, flops } = plan;
  return { inputs: [{ shape, range: [-1, 1] }], weights, outputs: [shape], flops, untouched: 0 };
}

export const modelPlans: Readonly<Record<string, (params: Params) => ModelPlan>> = {
  gpt2,
  gpt2Block: oneBlock,
  bert,
  whisper,
  resnet50,
  mobileNetV2,
  lstm,
};
