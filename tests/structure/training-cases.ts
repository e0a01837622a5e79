// Backward formulas written out, optimisers, losses and scatters.
import type { Tensor } from '@tsinductor/tensor';
import { arange, nn, zeros } from '@tsinductor/tensor';
import type { Case } from './case.ts';

const once = { kernels: 1, traffic: 1 };
const { functional: F } = nn;

const softmaxBackward = (grad: Tensor, y: Tensor): Tensor => y.mul(grad.sub(grad.mul(y).sum(-1, true)));

const logSoftmaxBackward = (grad: Tensor, y: Tensor): Tensor => grad.sub(y.exp().mul(grad.sum(-1, true)));

/** The gradient with respect to the input. */
function layerNormBackward(grad: Tensor, x: Tensor, weight: Tensor): Tensor {
  const centred = x.sub(x.mean(-1, true));
  const scale = centred.mul(centred).mean(-1, true).add(1e-5).rsqrt();
  const normal = centred.mul(scale);
  const wide = grad.mul(weight);
  return wide
    .sub(wide.mean(-1, true))
    .sub(normal.mul(wide.mul(normal).mean(-1, true)))
    .mul(scale);
}

function rmsNormBackward(grad: Tensor, x: Tensor, weight: Tensor): Tensor {
  const scale = x.mul(x).mean(-1, true).add(1e-6).rsqrt();
  const wide = grad.mul(weight);
  return wide.mul(scale).sub(x.mul(wide.mul(x).mean(-1, true)).mul(scale.mul(scale).mul(scale)));
}

function geluBackward(grad: Tensor, x: Tensor): Tensor {
  const cdf = x.mul(Math.SQRT1_2).erf().add(1).mul(0.5);
  return grad.mul(cdf.add(x.mul(x.mul(x).mul(-0.5).exp().mul(0.3989422804014327))));
}

function crossEntropyBackward(x: Tensor, target: Tensor): Tensor {
  return x
    .softmax(-1)
    .sub(arange(x.size(-1)).eq(target.unsqueeze(-1)).to('f32'))
    .mul(1 / x.size(0));
}

/** One step of Adam for one parameter: the new parameter, and both moments. */
function adamStep([parameter, gradient, first, second]: readonly Tensor[]): readonly Tensor[] {
  if (parameter === undefined || gradient === undefined || first === undefined || second === undefined) return [];
  const m = first.mul(0.9).add(gradient.mul(0.1));
  const v = second.mul(0.999).add(gradient.mul(gradient).mul(0.001));
  return [parameter.sub(m.mul(0.01).div(v.sqrt().add(1e-8))), m, v];
}

const quadruples = (tensors: readonly Tensor[]): readonly (readonly Tensor[])[] =>
  Array.from({ length: tensors.length / 4 }, (_, index) => tensors.slice(4 * index, 4 * index + 4));

const adam = (...tensors: Tensor[]): unknown => quadruples(tensors).map(adamStep);

/** The shapes of 50 parameters of a network. */
const parameters = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? [64, 16 + (index % 5)] : [64]));

function batchNorm(x: Tensor, weight: Tensor, bias: Tensor): Tensor {
  return F.batchNorm(x, null, null, { weight, bias, training: true });
}

export const trainingCases: Readonly<Record<string, Case>> = {
  'softmax backward': {
    run: softmaxBackward,
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'log softmax backward': {
    run: logSoftmaxBackward,
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'layer norm backward': { run: layerNormBackward, inputs: [[256, 512], [256, 512], [512]], structure: once },
  'layer norm backward with the gradients of its parameters': {
    run: (grad, x, weight) => {
      const centred = x.sub(x.mean(-1, true));
      const normal = centred.mul(centred.mul(centred).mean(-1, true).add(1e-5).rsqrt());
      return [layerNormBackward(grad, x, weight), grad.mul(normal).sum(0), grad.sum(0)];
    },
    inputs: [[256, 512], [256, 512], [512]],
    structure: { kernels: 2, traffic: 1.667, peak: 2048 },
  },
  'RMS norm backward': { run: rmsNormBackward, inputs: [[256, 512], [256, 512], [512]], structure: once },
  'gelu backward': {
    run: geluBackward,
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'relu backward with the bias gradient': {
    run: (grad, x) => {
      const g = grad.mul(x.gt(0).to('f32'));
      return [g, g.sum(0)];
    },
    inputs: [
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'cross entropy backward': {
    run: crossEntropyBackward,
    inputs: [[256, 512], { shape: [256], dtype: 'i64' }],
    structure: once,
  },
  'batch norm training forward': {
    run: batchNorm,
    inputs: [[16, 32, 16, 16], [32], [32]],
    structure: { kernels: 1, traffic: 1 },
  },
  'batch norm of a matrix': {
    run: batchNorm,
    inputs: [[4096, 64], [64], [64]],
    structure: { kernels: 2, traffic: 1.5, peak: 512 },
  },
  'Adam over one parameter': {
    run: adam,
    inputs: [
      [256, 512],
      [256, 512],
      [256, 512],
      [256, 512],
    ],
    structure: once,
  },
  'Adam over 50 parameters': {
    run: adam,
    inputs: parameters.flatMap((shape) => [shape, shape, shape, shape]),
    structure: { kernels: 2, traffic: 1 },
  },
  'momentum over ten parameters of one shape': {
    run: (...tensors) =>
      quadruples(tensors).flatMap(([p, g]) => (p === undefined || g === undefined ? [] : [p.sub(g.mul(0.1))])),
    inputs: Array.from({ length: 40 }, () => [64, 64]),
    structure: once,
  },
  'index add': {
    run: (x, index, source) => x.indexAdd(0, index, source.mul(2)),
    inputs: [[128, 64], { shape: [256], dtype: 'i64' }, [256, 64]],
    structure: once,
  },
  'scatter add into zeros': {
    run: (index, source) => zeros([index.size(0) / 2, index.size(1)]).scatterAdd(0, index, source.mul(2)),
    inputs: [{ shape: [256, 64], dtype: 'i64' }, [256, 64]],
    structure: once,
  },
  'embedding backward': {
    run: (grad, ids) => zeros([2 * ids.size(0), grad.size(1)]).indexAdd(0, ids, grad),
    inputs: [[256, 64], { shape: [256], dtype: 'i64' }],
    // Zeros are written in the same kernel, and are not counted.
    structure: { kernels: 1, traffic: 0.67 },
  },
  'clip by the norm': {
    run: (g) => g.mul(g.mul(g).sum().sqrt().add(1e-6).reciprocal().clamp(null, 1)),
    inputs: [[256, 512]],
    structure: { kernels: 2, traffic: 1.5, peak: 4 },
    // Short enough, it would be one kernel.
    small: [[256, 512]],
  },
  'linear with a gelu': {
    run: (x, w, b) => x.matmul(w).add(b).gelu(),
    inputs: [[128, 64], [64, 256], [256]],
    structure: once,
  },
};
