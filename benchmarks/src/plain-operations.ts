// Our own contender's operations of the suites pointwise, gemm, choices and train, as a user would write them; the memory-bound suite has
// some of them, too.
import { conv1d, conv2d } from 'tsinductor';
import type { MemoryBound } from './memory-bound-operations.ts';
import { productOperations } from './product-operations.ts';
import type { Params } from './protocol.ts';

const value = (params: Params, name: string): number => params[name] ?? 0;
const matrix = (params: Params): readonly number[] => [value(params, 'rows'), value(params, 'columns')];

export const plainOperations: Readonly<Record<string, (params: Params) => MemoryBound>> = {
  add: ({ n = 0 }) => ({ shapes: [[n], [n]], fn: ([x, z]) => x.add(z) }),
  geluSigmoid: ({ n = 0 }) => ({
    shapes: [[n], [n]],
    fn: ([x, z]) => x.mul(1.25).add(0.5).gelu().mul(z.sigmoid()),
  }),
  softmax: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.softmax(-1) }),
  layerNorm: (params) => {
    const columns = value(params, 'columns');
    return {
      shapes: [matrix(params), [columns], [columns]],
      fn: ([x, gamma, beta]) => x.layerNorm([columns], gamma, beta),
    };
  },
  sumRows: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.sum(1) }),
  sumColumns: (params) => ({ shapes: [matrix(params)], fn: ([x]) => x.sum(0) }),
  transposeAdd: ({ side = 0 }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    fn: ([a, b]) => a.t().add(b),
  }),
  matmul: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    fn: ([a, b]) => a.matmul(b),
  }),
  conv: ({ dims = 2, batch = 1, channels = 1, outputs = 1, height = 1, width = 1, kernel = 1, ...how }) => {
    const { stride = 1, padding = 0, groups = 1 } = how;
    const space = dims === 2 ? [height, width] : [width];
    const options = { stride, padding, groups };
    return {
      shapes: [[batch, channels, ...space], [outputs, channels / groups, ...space.map(() => kernel)], [outputs]],
      fn: ([x, w, b]) => (dims === 2 ? conv2d(x, w, b, options) : conv1d(x, w, b, options)),
    };
  },
  attention: (params) => {
    const shape = ['heads', 'length', 'width'].map((name) => value(params, name));
    const isCausal = value(params, 'causal') === 1;
    return { shapes: [shape, shape, shape], fn: ([q, k, v]) => q.scaledDotProductAttention(k, v, { isCausal }) };
  },
  matmulTurned: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [n, k],
    ],
    fn: ([a, b]) => a.matmul(b.t()),
  }),
  ...productOperations,
  trainStep,
};

function trainStep({ batch = 0, inner = 0, hidden = 0, classes = 0, rate = 0 }: Params): MemoryBound {
  return {
    shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
    fn: ([x, targets, w1, b1, w2, b2]) => {
      const activation = x.matmul(w1).add(b1).relu();
      const probabilities = activation.matmul(w2).add(b2).softmax(-1);
      const gradient = probabilities.mul(targets.sum(-1, true)).sub(targets).div(batch);
      const backward = gradient.matmul(w2.t()).mul(activation.gt(0));
      return [
        w1.sub(x.t().matmul(backward).mul(rate)),
        b1.sub(backward.sum(0).mul(rate)),
        w2.sub(activation.t().matmul(gradient).mul(rate)),
        b2.sub(gradient.sum(0).mul(rate)),
      ];
    },
  };
}
