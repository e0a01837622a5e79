// Ten families of graphs whose size is a number of operator calls: what users unroll, stack, concatenate and write to. Each is
// regular, so that twice the calls are twice the work, and whatever grows faster is the compiler's.
import { at } from '@tsinductor/base';
import { cat, linspace, nn, stack, where, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';

/** Graphs of one kind. */
export interface Family {
  readonly name: string;
  readonly doc: string;
  /** Shapes of the inputs (f32) of a graph of about so many calls. */
  readonly inputs: (calls: number) => readonly (readonly number[])[];
  readonly run: (calls: number, inputs: readonly Tensor[]) => Tensor | readonly Tensor[];
}

/** A step that makes `each` calls, as often as makes `calls` of them. */
interface Steps {
  readonly calls: number;
  readonly each: number;
}

function repeat<State>({ calls, each }: Steps, start: State, step: (state: State, turn: number) => State): State {
  let state = start;
  for (let turn = 0; turn < Math.max(1, Math.round(calls / each)); turn += 1) state = step(state, turn);
  return state;
}

const chain: Family = {
  name: 'chain',
  doc: 'a pointwise chain; every sixteenth value is used again far below',
  inputs: () => [[64, 64], [64]],
  run(calls, inputs) {
    const [x, bias] = [at(inputs, 0), at(inputs, 1)];
    const steps: readonly ((y: Tensor) => Tensor)[] = [
      (y) => y.add(bias),
      (y) => y.tanh(),
      (y) => y.mul(x),
      (y) => y.sub(0.5),
      (y) => y.relu(),
    ];
    const kept: Tensor[] = [x];
    return repeat({ calls, each: 1 }, x, (y, turn) => {
      if (turn % 16 === 15) kept.push(y);
      return turn % 64 === 63 ? y.add(at(kept, kept.length >> 1)) : at(steps, turn % steps.length)(y);
    });
  },
};

const mandelbrot: Family = {
  name: 'mandelbrot',
  doc: 'a loop over values made inside the function (zeros and linspace), each used several times',
  inputs: () => [],
  run(calls) {
    const [height, width] = [48, 64];
    const re = linspace(-2, 0.5, width).reshape([1, width]);
    const im = linspace(-1.25, 1.25, height).reshape([height, 1]);
    const blank = (): Tensor => zeros([height, width]);
    const start = { zr: blank(), zi: blank(), count: blank() };
    const { count } = repeat({ calls, each: 13 }, start, ({ zr, zi, count: before }) => {
      const [rr, ii] = [zr.mul(zr), zi.mul(zi)];
      const inside = rr.add(ii).le(4);
      return {
        zr: where(inside, rr.sub(ii).add(re), zr),
        zi: where(inside, zr.mul(zi).mul(2).add(im), zi),
        count: before.add(inside.to('f32')),
      };
    });
    return count;
  },
};

const ema: Family = {
  name: 'ema',
  doc: 'an exponential moving average down the rows of a matrix, unrolled, all steps stacked',
  inputs: (calls) => [[Math.max(2, Math.round(calls / 4)), 256]],
  run(calls, inputs) {
    const x = at(inputs, 0);
    const steps: Tensor[] = [x.select(0, 0)];
    repeat({ calls, each: 4 }, at(steps, 0), (mean, turn) => {
      if (turn === 0) return mean;
      const next = mean.mul(0.9).add(x.select(0, turn).mul(0.1));
      steps.push(next);
      return next;
    });
    return stack(steps);
  },
};

const lstm: Family = {
  name: 'lstm',
  doc: 'an unrolled LSTM cell',
  inputs: (calls) => [[Math.max(1, Math.round(calls / 15)), 8, 16], [16, 128], [32, 128], [128]],
  run(calls, inputs) {
    const [x, fromInput, fromState, bias] = [at(inputs, 0), at(inputs, 1), at(inputs, 2), at(inputs, 3)];
    const blank = (): Tensor => zeros([8, 32]);
    const start = { h: blank(), c: blank() };
    const { h, c } = repeat({ calls, each: 15 }, start, (state, turn) => {
      const gates = x.select(0, turn).matmul(fromInput).add(state.h.matmul(fromState)).add(bias).chunk(4, 1);
      const [input, forget, output] = [at(gates, 0).sigmoid(), at(gates, 1).sigmoid(), at(gates, 3).sigmoid()];
      const cell = forget.mul(state.c).add(input.mul(at(gates, 2).tanh()));
      return { h: output.mul(cell.tanh()), c: cell };
    });
    return [h, c];
  },
};

const concatenation: Family = {
  name: 'cat',
  doc: 'pieces of several lengths, each scaled, in one concatenation',
  inputs: (calls) => Array.from({ length: Math.max(1, calls - 1) }, (_, piece) => [2 + (piece % 3), 8]),
  run: (_, inputs) => cat(inputs.map((piece) => piece.mul(2))),
};

/** Calls that a layer of `transformer` makes. */
export const callsPerLayer = 23;

export const transformer: Family = {
  name: 'transformer',
  doc: 'layers with products, norms, heads as views, softmax and residuals',
  inputs: () => [[2, 16, 32], [32], [32], [32, 96], [32, 32], [32, 64], [64, 32]],
  run(calls, inputs) {
    const [gain, bias, project, merge] = [at(inputs, 1), at(inputs, 2), at(inputs, 3), at(inputs, 4)];
    const [widen, narrow] = [at(inputs, 5), at(inputs, 6)];
    const norm = (y: Tensor): Tensor => nn.functional.layerNorm(y, [32], { weight: gain, bias });
    return repeat({ calls, each: callsPerLayer }, at(inputs, 0), (x) => {
      const heads = norm(x)
        .matmul(project)
        .chunk(3, -1)
        .map((y) => y.reshape([2, 16, 4, 8]).permute([0, 2, 1, 3]));
      const [q, k, v] = [at(heads, 0), at(heads, 1), at(heads, 2)];
      const weights = q.matmul(k.transpose(-1, -2)).mul(0.35).softmax(-1);
      const attended = weights.matmul(v).permute([0, 2, 1, 3]).reshape([2, 16, 32]);
      const residual = x.add(attended.matmul(merge));
      return residual.add(norm(residual).matmul(widen).gelu().matmul(narrow));
    });
  },
};

const fan: Family = {
  name: 'fan',
  doc: 'one value that fans out to many, which are joined in a tree',
  inputs: () => [[64, 64]],
  run(calls, inputs) {
    const x = at(inputs, 0).tanh();
    let level = repeat<Tensor[]>({ calls, each: 3 }, [], (all, turn) => [...all, x.mul(0.25 + turn / 1024).cos()]);
    while (level.length > 1) {
      const pairs: Tensor[] = [];
      for (let left = 0; left < level.length; left += 2) {
        const [a, b] = [at(level, left), level[left + 1]];
        pairs.push(b === undefined ? a : a.add(b));
      }
      level = pairs;
    }
    return at(level, 0);
  },
};

const reductions: Family = {
  name: 'reductions',
  doc: 'rows are normalised again and again, each time by their own greatest element and sum',
  inputs: () => [[64, 96]],
  run: (calls, inputs) =>
    repeat({ calls, each: 6 }, at(inputs, 0), (x) => {
      const shifted = x.sub(x.amax(-1, true));
      return shifted.div(shifted.abs().sum(-1, true).add(1));
    }),
};

const writes: Family = {
  name: 'writes',
  doc: 'rows and columns of one array are written in place, and read again',
  inputs: () => [[64, 64], [64]],
  run(calls, inputs) {
    const table = at(inputs, 0).mul(1);
    return repeat({ calls, each: 35 }, table, (y, turn) => {
      const [row, column] = [turn % 64, (turn * 7) % 64];
      y.select(0, row).add_(at(inputs, 1));
      y.select(1, column).copy_(y.select(0, (row + 1) % 64).mul(0.5));
      return y;
    });
  },
};

const convolutions: Family = {
  name: 'convolutions',
  doc: 'blocks of a residual network: convolutions, channel norms, ReLU, a sum with what went in',
  inputs: () => [[2, 8, 8, 8], [8, 8, 3, 3], [8], [8]],
  run(calls, inputs) {
    const [weight, gain, bias] = [at(inputs, 1), at(inputs, 2).reshape([8, 1, 1]), at(inputs, 3).reshape([8, 1, 1])];
    const convolved = (y: Tensor): Tensor => nn.functional.conv2d(y, weight, { padding: 1 }).mul(gain).add(bias);
    return repeat({ calls, each: 9 }, at(inputs, 0), (x) => convolved(convolved(x).relu()).add(x).relu());
  },
};

/** All families, in the order in which they are drawn. */
export const families: readonly Family[] = [
  chain,
  mandelbrot,
  ema,
  lstm,
  concatenation,
  transformer,
  fan,
  reductions,
  writes,
  convolutions,
];
