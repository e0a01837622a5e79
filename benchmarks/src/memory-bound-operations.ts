// Our own contender's operations of the memory-bound suite, as a user would write them. Inputs of the protocol are f32; what
// is to be an index or a narrow dtype is converted before anything is timed.
import { cat, where } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { Params } from './protocol.ts';

type Inputs = readonly [Tensor, Tensor, Tensor, Tensor, Tensor, Tensor];

export interface MemoryBound {
  readonly shapes: readonly (readonly number[])[];
  readonly fn: (inputs: Inputs) => Tensor | Tensor[];
  /** The inputs that `fn` gets, from those of the protocol. */
  readonly convert?: (inputs: readonly Tensor[]) => readonly Tensor[];
}

const value = (params: Params, name: string): number => params[name] ?? 0;
const matrix = (params: Params): readonly number[] => [value(params, 'rows'), value(params, 'columns')];
const rows = (params: Params): readonly number[] => [value(params, 'rows')];
const column = (params: Params): readonly number[] => [value(params, 'columns')];
const vectors = (count: number, { n = 0 }: Params): readonly (readonly number[])[] =>
  Array.from({ length: count }, () => [n]);

/** The second input as indices below `extent`. */
const withIndices =
  (extent: number) =>
  ([x, index]: readonly Tensor[]): readonly Tensor[] =>
    x === undefined || index === undefined
      ? []
      : [
          x,
          index
            .floor()
            .clamp(0, extent - 1)
            .to('i64'),
        ];

const normal = (x: Tensor): Tensor => x.mul(Math.SQRT1_2).erf().add(1).mul(0.5);

function blackScholes([s, k, t]: Inputs): Tensor {
  const scale = t.sqrt().mul(0.3);
  const d1 = s.div(k).log().add(t.mul(0.065)).div(scale);
  return s.mul(normal(d1)).sub(k.mul(t.mul(-0.02).exp()).mul(normal(d1.sub(scale))));
}

function iterate([a, b]: Inputs): Tensor {
  let [x, y] = [a, b];
  for (let step = 0; step < 8; step += 1) [x, y] = [x.mul(x).sub(y.mul(y)).add(a), x.mul(y).mul(2).add(b)];
  return x.mul(x).add(y.mul(y));
}

function adam([p, g, m, v]: Inputs): Tensor[] {
  const first = m.mul(0.9).add(g.mul(0.1));
  const second = v.mul(0.999).add(g.mul(g).mul(0.001));
  return [p.sub(first.mul(0.001).div(second.sqrt().add(1e-8))), first, second];
}

/**
 * The norm is taken out of the sum of products, as PyTorch's own kernel and the C++ by hand take it out. (That overflows where sums of
 * normalised rows do not: gradients of 1e30 with inputs of 1e10.)
 */
function layerNormBackward([g, x]: Inputs): Tensor {
  const centred = x.sub(x.mean(-1, true));
  const scale = centred.mul(centred).mean(-1, true).add(1e-5).rsqrt();
  const along = g.mul(centred).mean(-1, true).mul(scale).mul(scale);
  return g.sub(g.mean(-1, true)).sub(centred.mul(along)).mul(scale);
}

function rmsNormBackward([g, x, gamma]: Inputs): Tensor {
  const scale = x.mul(x).mean(-1, true).add(1e-6).rsqrt();
  const weighted = g.mul(gamma);
  const along = weighted.mul(x).mean(-1, true);
  return weighted.sub(x.mul(along).mul(scale).mul(scale)).mul(scale);
}

/** The halves of each row as pairs, turned by angles given by their cosines and sines. */
const rotate =
  (columns: number) =>
  ([x, cosine, sine]: Inputs): Tensor => {
    const [low, high] = [x.narrow(-1, 0, columns / 2), x.narrow(-1, columns / 2, columns / 2)];
    return cat([low.mul(cosine).sub(high.mul(sine)), high.mul(cosine).add(low.mul(sine))], -1);
  };

export const memoryBoundOperations: Readonly<Record<string, (params: Params) => MemoryBound>> = {
  rmsNorm: (params) => ({
    shapes: [matrix(params), column(params)],
    fn: ([x, gamma]) => x.mul(x.mul(x).mean(-1, true).add(1e-6).rsqrt()).mul(gamma),
  }),
  softmaxBackward: (params) => ({
    shapes: [matrix(params), matrix(params)],
    fn: ([g, y]) => g.sub(g.mul(y).sum(-1, true)).mul(y),
  }),
  rmsNormBackward: (params) => ({
    shapes: [matrix(params), matrix(params), column(params)],
    fn: rmsNormBackward,
  }),
  groupNorm: ({ batch = 0, channels = 0, pixels = 0 }) => ({
    shapes: [[batch, channels, pixels], [channels], [channels]],
    fn: ([x, gamma, beta]) => x.groupNorm(8, gamma, beta),
  }),
  rotary: ({ rows: count = 0, positions = 0, columns = 0 }) => ({
    shapes: [
      [count, positions, columns],
      [positions, columns / 2],
      [positions, columns / 2],
    ],
    fn: rotate(columns),
  }),
  layerNormBackward: (params) => ({ shapes: [matrix(params), matrix(params)], fn: layerNormBackward }),
  crossEntropy: (params) => ({
    shapes: [matrix(params), rows(params)],
    convert: withIndices(value(params, 'columns')),
    fn: ([x, label]) => x.logsumexp(-1).sub(x.gather(1, label.unsqueeze(1)).squeeze(1)),
  }),
  sumAll: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.sum() }),
  argmaxRows: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.argmax(1) }),
  sumMiddle: (params) => ({
    shapes: [[value(params, 'rows') / 16, 16, value(params, 'columns')]],
    fn: ([x]) => x.sum(1),
  }),
  cumsumColumns: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.cumsum(0) }),
  cumsumRows: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.cumsum(1) }),
  transpose: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.t().contiguous() }),
  heads: ({ batch = 0, length = 0, heads = 0, width = 0 }) => ({
    shapes: [[batch, length, heads, width]],
    fn: ([x]) => x.permute([0, 2, 1, 3]).contiguous(),
  }),
  reverseAxes: ({ a = 0, b = 0, c = 0, d = 0 }) => ({
    shapes: [[a, b, c, d]],
    fn: ([x]) => x.permute([3, 2, 1, 0]).contiguous(),
  }),
  permute3: ({ a = 0, b = 0, c = 0 }) => ({ shapes: [[a, b, c]], fn: ([x]) => x.permute([2, 0, 1]).contiguous() }),
  channelsLast: ({ batch = 0, channels = 0, pixels = 0 }) => ({
    shapes: [[batch, channels, pixels]],
    fn: ([x]) => x.permute([0, 2, 1]).contiguous(),
  }),
  catColumns: (params) => ({ shapes: [matrix(params), matrix(params)], fn: ([x, y]) => cat([x, y], 1) }),
  gatherRows: (params) => ({
    shapes: [matrix(params), rows(params)],
    convert: withIndices(value(params, 'rows')),
    fn: ([table, index]) => table.indexSelect(0, index),
  }),
  gatherElements: (params) => ({
    shapes: [matrix(params), matrix(params)],
    convert: withIndices(value(params, 'columns')),
    fn: ([x, index]) => x.gather(1, index),
  }),
  indexAddRows: (params) => ({
    shapes: [matrix(params), rows(params)],
    convert: withIndices(64),
    fn: ([source, index]) => source.newZeros([64, value(params, 'columns')]).indexAdd(0, index, source),
  }),
  halveImage: (params) => ({
    shapes: [[value(params, 'rows') / 2, 2, value(params, 'columns') / 2, 2]],
    fn: ([x]) => x.mean([1, 3]).div(255).sub(0.45).div(0.225),
  }),
  dropout: (params) => ({
    shapes: vectors(2, params),
    fn: ([x, u]) => where(u.gt(0.1), x.mul(1 / 0.9), 0),
  }),
  randomDropout: (params) => ({ shapes: vectors(1, params), fn: ([x]) => x.dropout(0.1, true) }),
  blackScholes: (params) => ({ shapes: vectors(3, params), fn: blackScholes }),
  iterate: (params) => ({ shapes: vectors(2, params), fn: iterate }),
  adam: (params) => ({ shapes: vectors(4, params), fn: adam }),
  gateBf16: (params) => ({
    shapes: vectors(2, params),
    convert: (inputs) => inputs.map((x) => x.to('bf16')),
    fn: ([x, z]) => x.mul(x.sigmoid()).mul(z),
  }),
  addBf16: (params) => ({
    shapes: vectors(2, params),
    convert: (inputs) => inputs.map((x) => x.to('bf16')),
    fn: ([x, y]) => x.add(y).mul(0.5),
  }),
  softmaxBf16: (params) => ({
    shapes: [matrix(params)],
    convert: (inputs) => inputs.map((x) => x.to('bf16')),
    fn: ([x]) => x.softmax(-1),
  }),
  dequantize: (params) => ({
    shapes: [matrix(params), [...rows(params), 1], [...rows(params), 1]],
    convert: ([x, ...others]) => (x === undefined ? [] : [x.to('i8'), ...others]),
    fn: ([x, scale, zero]) => x.to('f32').mul(scale).add(zero),
  }),
  requantize: (params) => ({
    shapes: vectors(1, params),
    convert: (inputs) => inputs.map((x) => x.to('i8')),
    fn: ([x]) => x.to('f32').mul(0.75).clamp(0, 127).to('i8'),
  }),
};
