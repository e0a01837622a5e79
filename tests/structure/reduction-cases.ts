// Reductions, scans, normalisations and attention: what shares a loop nest, and what has to go through memory.
import type { Tensor } from '@tsinductor/tensor';
import { cumsum, nn, varMean } from '@tsinductor/tensor';
import type { Case } from './case.ts';

const once = { kernels: 1, traffic: 1 };
const { functional: F } = nn;

function rmsNorm(x: Tensor, weight: Tensor): Tensor {
  return x.mul(x.mul(x).mean(-1, true).add(1e-6).rsqrt()).mul(weight);
}

function residualNorm(x: Tensor, residual: Tensor, weight: Tensor): Tensor[] {
  const hidden = x.add(residual);
  const wide = hidden.to('f32');
  return [rmsNorm(wide, weight).to('bf16'), hidden];
}

const attention = (q: Tensor, k: Tensor, v: Tensor): Tensor =>
  q.matmul(k.transpose(-1, -2)).mul(0.125).softmax(-1).matmul(v);

export const reductionCases: Readonly<Record<string, Case>> = {
  softmax: { run: (x) => x.softmax(-1), inputs: [[256, 512]], structure: once },
  'softmax of columns': { run: (x) => x.softmax(0), inputs: [[256, 64]], structure: once },
  'log softmax': { run: (x) => x.logSoftmax(-1), inputs: [[256, 512]], structure: once },
  'masked softmax': {
    run: (x, mask) => x.add(mask).mul(0.5).softmax(-1),
    inputs: [
      [8, 64, 64],
      [64, 64],
    ],
    structure: once,
  },
  'layer norm': {
    run: (x, w, b) => F.layerNorm(x, [x.size(-1)], w, b),
    inputs: [[256, 512], [512], [512]],
    structure: once,
  },
  'RMS norm': { run: rmsNorm, inputs: [[256, 512], [512]], structure: once },
  'residual, norm and cast': {
    run: residualNorm,
    inputs: [{ shape: [256, 512], dtype: 'bf16' }, { shape: [256, 512], dtype: 'bf16' }, [512]],
    structure: once,
  },
  'group norm': { run: (x, w, b) => F.groupNorm(x, 4, w, b), inputs: [[8, 16, 12, 12], [16], [16]], structure: once },
  'instance norm': {
    run: (x) => {
      const mean = x.mean([2, 3], true);
      const d = x.sub(mean);
      return d.mul(d.mul(d).mean([2, 3], true).add(1e-5).rsqrt());
    },
    inputs: [[8, 16, 16, 16]],
    structure: once,
  },
  'l2 normalise': { run: (x) => x.div(x.mul(x).sum(-1, true).sqrt()), inputs: [[256, 512]], structure: once },
  'mean and variance in one kernel': { run: (x) => varMean(x, 1), inputs: [[256, 512]], structure: once },
  'sum, maximum and minimum of one input': {
    run: (x) => [x.sum(1), x.amax(1), x.amin(1)],
    inputs: [[256, 512]],
    structure: once,
  },
  'mean and variance siblings over columns': {
    run: (x) => [x.mean(0), x.mul(x).mean(0)],
    inputs: [[256, 512]],
    structure: once,
  },
  'sum over rows': { run: (x) => x.sum(1), inputs: [[256, 512]], structure: once },
  'sum over columns': { run: (x) => x.sum(0), inputs: [[256, 512]], structure: once },
  'sum over a middle axis': { run: (x) => x.sum(1), inputs: [[16, 64, 64]], structure: once },
  'sum over outer axes': { run: (x) => x.sum([0, 2]), inputs: [[16, 32, 64]], structure: once },
  'sum of all': { run: (x) => x.sum(), inputs: [[256, 512]], structure: once },
  'sum of a product of two': {
    run: (x, y) => x.mul(y).sum(),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'rows divided by their sum': { run: (x) => x.div(x.sum(-1, true)), inputs: [[256, 512]], structure: once },
  'columns minus their mean': { run: (x) => x.sub(x.mean(0, true)), inputs: [[256, 64]], structure: once },
  'argmax of rows': { run: (x) => x.argmax(-1), inputs: [[256, 512]], structure: once },
  'argmax and maximum of a chain': {
    run: (x, b) => {
      const y = x.add(b).relu();
      return [y.argmax(-1), y.amax(-1)];
    },
    inputs: [[256, 512], [512]],
    structure: once,
  },
  cumsum: { run: (x) => x.cumsum(-1), inputs: [[256, 512]], structure: once },
  'cumsum of a product': {
    run: (x, y) => cumsum(x.mul(y), -1),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'cumsum of a product, then a chain': {
    run: (x, y) => cumsum(x.mul(y), -1).mul(0.5).tanh(),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'cumsum divided by its total': {
    run: (x) => x.cumsum(-1).div(x.sum(-1, true)),
    inputs: [[256, 512]],
    structure: once,
  },
  'log sum exp': { run: (x) => x.logsumexp(-1), inputs: [[256, 512]], structure: once },
  'cross entropy with label smoothing': {
    run: (x, target) => F.crossEntropy(x, target, { labelSmoothing: 0.1 }),
    inputs: [[256, 512], { shape: [256], dtype: 'i64' }],
    structure: { kernels: 2, traffic: 1.014, peak: 3072 },
  },
  'mean squared error': {
    run: (x, y) => F.mseLoss(x, y),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'cosine similarity': {
    run: (x, y) =>
      x
        .mul(y)
        .sum(-1)
        .div(x.mul(x).sum(-1).sqrt().mul(y.mul(y).sum(-1).sqrt())),
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  accuracy: {
    run: (x, target) => x.argmax(-1).eq(target).to('f32').mean(),
    inputs: [[256, 64], { shape: [256], dtype: 'i64' }],
    structure: { kernels: 2, traffic: 1.061, peak: 2048 },
  },
  // The softmax is written over the scores.
  'attention without its template': {
    run: attention,
    inputs: [
      [4, 8, 64, 64],
      [4, 8, 64, 64],
      [4, 8, 64, 64],
    ],
    structure: { kernels: 3, traffic: 2, peak: 524_288 },
  },
  'softmax and its entropy': {
    run: (x) => {
      const p = x.softmax(-1);
      return p.mul(p.log()).sum(-1).neg();
    },
    inputs: [[256, 512]],
    structure: once,
  },
  'average pool': {
    run: (x) => x.reshape([8, 16, 8, 2, 8, 2]).mean([3, 5]),
    inputs: [[8, 16, 16, 16]],
    structure: once,
  },
};
