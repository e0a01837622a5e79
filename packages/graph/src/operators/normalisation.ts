// Softmax and the normalisations. Half types are computed in f32 and rounded once, as PyTorch's kernels do.
import { at, isFloat } from '@tsinductor/base';
import { int, multiply } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import { float } from '../composer.ts';
import type { Composer } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import type { Performance } from '../performer.ts';
import { product, range, sameShape } from '../shape.ts';
import { requested, requireFloat, wideMean, wideVariance } from './reductions.ts';

/** exp(x - max) and its logarithm's parts, along one axis of a wide tensor. */
function shifted(c: Composer, x: ValueRef, dim: number): ValueRef {
  const isEmpty = c.rank(x) > 0 && c.sizes.isZero(c.size(x, dim));
  return isEmpty ? x : c.op('sub', x, c.detach(c.reduce('amax', x, { dims: [dim], keepdim: true })));
}

/** Softmax of a wide tensor: by the reciprocal of the sum, one rounding more than a quotient and a tenth less time. */
function wideSoftmax(c: Composer, x: ValueRef, dim: number): ValueRef {
  const powers = c.op('exp', shifted(c, x, dim));
  return c.op('mul', powers, c.op('reciprocal', c.reduce('sum', powers, { dims: [dim], keepdim: true })));
}

/** Logarithm of softmax of a wide tensor. */
export function wideLogSoftmax(c: Composer, x: ValueRef, dim: number): ValueRef {
  const low = shifted(c, x, dim);
  return c.op('sub', low, c.op('log', c.reduce('sum', c.op('exp', low), { dims: [dim], keepdim: true })));
}

/** The dim that functional softmax takes where none is given. */
function softmaxDim(c: Composer, x: ValueRef, a: ArgumentReader): number {
  const rank = c.rank(x);
  return c.dim(x, a.optionalInt('dim') ?? (rank === 0 || rank === 1 || rank === 3 ? 0 : 1));
}

const SOFTMAX = 'input: tensor, dim: int? = null, *, dtype: dtype = null';

function softmaxLike(
  name: string,
  torch: string | readonly string[],
  body: (c: Composer, x: ValueRef, dim: number) => ValueRef,
): Entry {
  return composite(name, { signature: SOFTMAX, doc: `${name} along a dim.`, torch }, (c, a) => {
    const x = requested(c, a);
    requireFloat(c, name, x);
    return c.cast(body(c, c.widen(x), softmaxDim(c, x, a)), c.dtype(x));
  });
}

interface Affine {
  readonly weight: ValueRef | undefined;
  readonly bias: ValueRef | undefined;
}

/** x * weight + bias, where they are given, in x's dtype. */
function affine(c: Composer, x: ValueRef, { weight, bias }: Affine): ValueRef {
  const scaled = weight === undefined ? x : c.op('mul', x, c.cast(weight, c.dtype(x)));
  return bias === undefined ? scaled : c.op('add', scaled, c.cast(bias, c.dtype(x)));
}

interface Normalised {
  readonly value: ValueRef;
  readonly mean: ValueRef;
  readonly rstd: ValueRef;
}

/** (x - mean) / sqrt(var + eps) of a wide tensor; mean and rstd keep the reduced dims. */
function standardise(c: Composer, x: ValueRef, { dims, eps }: { dims: readonly number[]; eps: number }): Normalised {
  const { mean, variance } = wideVariance(c, x, { dims, keepdim: true, correction: 0 });
  const rstd = c.op('rsqrt', c.op('add', variance, float(eps)));
  return { value: c.op('mul', c.op('sub', x, mean), rstd), mean, rstd };
}

function layerNorm(c: Composer, a: ArgumentReader): Normalised {
  const [input, shape] = [a.tensor('input'), a.sizes('normalizedShape')];
  requireFloat(c, 'layerNorm', input);
  const lead = c.rank(input) - shape.length;
  if (shape.length === 0) throw argumentValue('layerNorm', 'normalizedShape is empty', 'name at least the last size');
  if (lead < 0 || !sameShape(c.sizes, shape, c.shape(input).slice(lead))) {
    throw shapeMismatch(
      `layerNorm over ${printShape(shape)} of ${printShape(c.shape(input))}`,
      'normalizedShape must be the last sizes of the tensor',
    );
  }
  const parts = { weight: a.optionalTensor('weight'), bias: a.optionalTensor('bias') };
  for (const part of [parts.weight, parts.bias]) {
    if (part !== undefined && !sameShape(c.sizes, c.shape(part), shape))
      throw shapeMismatch(`layerNorm: weight or bias is ${printShape(c.shape(part))}, not ${printShape(shape)}`);
  }
  const x = c.widen(input);
  const { value, mean, rstd } = standardise(c, x, { dims: range(c.rank(x), lead), eps: a.float('eps') });
  const cast = (v: ValueRef): ValueRef => c.cast(v, c.dtype(input));
  return { value: cast(affine(c, value, parts)), mean: cast(mean), rstd: cast(rstd) };
}

/** A vector over channels, as it lies in a tensor of this rank. */
const channelwise = (c: Composer, v: ValueRef | undefined, rank: number): ValueRef | undefined =>
  v === undefined ? undefined : c.along(v, 1, rank);

/** Weight and bias have an element for each channel. */
function requireChannels(c: Composer, a: ArgumentReader, channels: number): void {
  for (const part of [a.optionalTensor('weight'), a.optionalTensor('bias')]) {
    if (part !== undefined && !sameShape(c.sizes, c.shape(part), [int(channels)]))
      throw shapeMismatch(
        `${a.operator.name}: weight or bias is ${printShape(c.shape(part))}`,
        `it must have an element for each of ${String(channels)} channels`,
      );
  }
}

function groupNorm(c: Composer, a: ArgumentReader): ValueRef {
  const [input, groups] = [a.tensor('input'), a.int('numGroups')];
  requireFloat(c, 'groupNorm', input);
  const shape = c.shape(input);
  if (shape.length < 2) throw shapeMismatch(`groupNorm of ${printShape(shape)}`, 'it needs a batch and a channel dim');
  const channels = c.sizes.toNumber(at(shape, 1));
  const parts = `${String(channels)} channels in ${String(groups)} groups`;
  if (groups < 1 || channels % groups !== 0)
    throw argumentValue('groupNorm', parts, 'channels must be a multiple of groups');
  if (c.sizes.isOne(product([at(shape, 0), int(channels / groups), ...shape.slice(2)])))
    throw shapeMismatch(`groupNorm of ${printShape(shape)}`, 'each group needs more than one element');
  const x = c.reshape(c.widen(input), [
    at(shape, 0),
    int(groups),
    multiply(int(channels / groups), product(shape.slice(2))),
  ]);
  const { value } = standardise(c, x, { dims: [2], eps: a.float('eps') });
  const rank = shape.length;
  requireChannels(c, a, channels);
  const result = affine(c, c.reshape(value, shape), {
    weight: channelwise(c, a.optionalTensor('weight'), rank),
    bias: channelwise(c, a.optionalTensor('bias'), rank),
  });
  return c.cast(result, c.dtype(input));
}

interface Statistics extends Affine {
  readonly dims: readonly number[];
  readonly eps: number;
  /** Use the statistics of the batch, not the running ones. */
  readonly ofBatch: boolean;
  readonly mean: ValueRef | undefined;
  readonly variance: ValueRef | undefined;
}

function statisticsOf(a: ArgumentReader, dims: readonly number[], ofBatch: boolean): Statistics {
  return {
    dims,
    ofBatch,
    eps: a.float('eps'),
    mean: a.optionalTensor('runningMean'),
    variance: a.optionalTensor('runningVar'),
    weight: a.optionalTensor('weight'),
    bias: a.optionalTensor('bias'),
  };
}

/** Normalises by the batch's statistics or by running ones, channel by channel. */
function normaliseChannels(c: Composer, input: ValueRef, s: Statistics): Normalised {
  const rank = c.rank(input);
  if (rank === 1 && c.sizes.isZero(c.count(input))) return { value: input, mean: input, rstd: input };
  if (rank < 2) throw shapeMismatch(`batchNorm of ${printShape(c.shape(input))}`, 'it needs a batch and a channel dim');
  const x = c.widen(input);
  const parts = { weight: channelwise(c, s.weight, rank), bias: channelwise(c, s.bias, rank) };
  if (s.ofBatch) {
    const call = `batchNorm of ${printShape(c.shape(input))}`;
    if (c.sizes.isOne(c.count(input, s.dims)))
      throw shapeMismatch(call, 'in training each channel needs more than one value');
    const { value, mean, rstd } = standardise(c, x, s);
    return { value: c.cast(affine(c, value, parts), c.dtype(input)), mean, rstd };
  }
  const [mean, variance] = [channelwise(c, s.mean, rank), channelwise(c, s.variance, rank)];
  if (mean === undefined || variance === undefined)
    throw argumentValue('batchNorm', 'no running statistics', 'give runningMean and runningVar, or training: true');
  const rstd = c.op('rsqrt', c.op('add', c.cast(variance, c.dtype(x)), float(s.eps)));
  const value = c.op('mul', c.op('sub', x, c.cast(mean, c.dtype(x))), rstd);
  return { value: c.cast(affine(c, value, parts), c.dtype(input)), mean, rstd };
}

const batchDims = (c: Composer, x: ValueRef): readonly number[] => [0, ...range(c.rank(x), 2)];

const RUNNING = 'runningMean: tensor? = null, runningVar: tensor? = null';
const AFFINE = 'weight: tensor? = null, bias: tensor? = null';

/** In training, the running statistics move towards those of the batch. */
const updateStatistics: Performance<void> = (c, a, performer) => {
  const [input, mean, variance] = [a.tensor('input'), a.optionalTensor('runningMean'), a.optionalTensor('runningVar')];
  if (!a.bool('training') || mean === undefined || variance === undefined) return;
  const momentum = a.float('momentum');
  const [newMean, newVariance] = c.callAll('batchNormStatistics', [input, mean, variance], { momentum });
  if (newMean !== undefined) performer.write(mean, newMean);
  if (newVariance !== undefined) performer.write(variance, newVariance);
};

/** The running statistics move towards the mean of those of the samples. */
const updateInstanceStatistics: Performance<void> = (c, a, performer) => {
  const [x, momentum] = [c.widen(a.tensor('input')), a.float('momentum')];
  if (!a.bool('useInputStats')) return;
  const { mean, variance } = wideVariance(c, x, { dims: range(c.rank(x), 2), keepdim: false, correction: 1 });
  const moveTowards = (running: ValueRef | undefined, fresh: ValueRef): void => {
    if (running === undefined) return;
    const average = wideMean(c, fresh, { dims: [0], keepdim: false });
    const old = c.op('mul', c.cast(running, c.dtype(x)), float(1 - momentum));
    performer.write(running, c.op('add', old, c.op('mul', average, float(momentum))));
  };
  moveTowards(a.optionalTensor('runningMean'), mean);
  moveTowards(a.optionalTensor('runningVar'), variance);
};

const batchNorm = composite(
  'batchNorm',
  {
    signature: `input: tensor, runningMean: tensor?, runningVar: tensor?, ${AFFINE}, training: bool = false, momentum: float = 0.1, eps: float = 1e-5`,
    doc: 'Normalises channels by the statistics of the batch (training) or running ones. In training, those are updated.',
    torch: 'nn.functional.batch_norm',
    accepts: floats,
    writes: updateStatistics,
  },
  (c, a) =>
    normaliseChannels(c, a.tensor('input'), statisticsOf(a, batchDims(c, a.tensor('input')), a.bool('training'))).value,
);

/** What batchNorm in training would leave in runningMean and runningVar. */
const batchNormStatistics = composite(
  'batchNormStatistics',
  {
    signature: 'input: tensor, runningMean: tensor, runningVar: tensor, momentum: float = 0.1',
    doc: 'The running statistics after a batch: (mean, variance).',
    torch: [],
    forms: ['function'],
    results: 2,
  },
  (c, a) => {
    const [input, momentum] = [a.tensor('input'), a.float('momentum')];
    const { mean, variance } = wideVariance(c, c.widen(input), {
      dims: batchDims(c, input),
      keepdim: false,
      correction: 1,
    });
    return [[a.tensor('runningMean'), mean] as const, [a.tensor('runningVar'), variance] as const].map(
      ([running, fresh]) => {
        const old = c.widen(running);
        return c.cast(
          c.op('add', c.op('mul', old, float(1 - momentum)), c.op('mul', c.cast(fresh, c.dtype(old)), float(momentum))),
          c.dtype(running),
        );
      },
    );
  },
);

const nativeBatchNorm = composite(
  'nativeBatchNorm',
  {
    signature:
      'input: tensor, weight: tensor?, bias: tensor?, runningMean: tensor?, runningVar: tensor?, training: bool, momentum: float, eps: float',
    doc: 'batchNorm, with the mean and the reciprocal deviation that it used.',
    forms: ['function'],
    results: 3,
    accepts: floats,
    writes: updateStatistics,
  },
  (c, a) => {
    const training = a.bool('training');
    const input = a.tensor('input');
    const { value, mean, rstd } = normaliseChannels(c, input, statisticsOf(a, batchDims(c, input), training));
    if (!training) return [value, c.full(0, [int(0)], c.dtype(input)), c.full(0, [int(0)], c.dtype(input))];
    return [value, c.cast(c.flatten(mean), c.dtype(input)), c.cast(c.flatten(rstd), c.dtype(input))];
  },
);

const instanceNorm = composite(
  'instanceNorm',
  {
    signature: `input: tensor, ${RUNNING}, ${AFFINE}, useInputStats: bool = true, momentum: float = 0.1, eps: float = 1e-5`,
    doc: 'Normalises each channel of each sample; running statistics are updated by those of the input.',
    torch: 'nn.functional.instance_norm',
    accepts: floats,
    writes: updateInstanceStatistics,
  },
  (c, a) => {
    const [x, ofInput] = [a.tensor('input'), a.bool('useInputStats')];
    const spatial = range(c.rank(x), 2);
    if (ofInput && c.rank(x) > 1 && c.sizes.isOne(c.count(x, spatial)))
      throw shapeMismatch(`instanceNorm of ${printShape(c.shape(x))}`, 'each channel needs more than one element');
    if (c.rank(x) > 1) requireChannels(c, a, c.sizes.toNumber(c.size(x, 1)));
    return normaliseChannels(c, x, statisticsOf(a, spatial, ofInput)).value;
  },
);

/** Divides by the sum of squares over neighbouring channels. */
function localResponseNorm(c: Composer, a: ArgumentReader): ValueRef {
  const [x, n] = [a.tensor('input'), a.int('size')];
  if (n < 1) throw argumentValue('localResponseNorm', `size ${String(n)}`, 'it is positive');
  if (c.rank(x) < 3) throw shapeMismatch(`localResponseNorm of ${printShape(c.shape(x))}`, 'it needs at least 3 dims');
  if (c.count(x).kind === 'int' && c.sizes.isZero(c.count(x))) return x;
  const wide = c.widen(x);
  const squares = c.op('mul', wide, wide);
  const pairs = range(c.rank(x)).map((axis) =>
    axis === 1 ? ([int(Math.floor(n / 2)), int(Math.floor((n - 1) / 2))] as const) : ([int(0), int(0)] as const),
  );
  const windows = c.call('unfold', [c.pad(squares, pairs)], { dim: 1, size: n, step: 1 });
  const summed = c.reduce('sum', windows, [c.rank(windows) - 1]);
  // An integer tensor is averaged in integers, as PyTorch's pooling does.
  const mean = isFloat(c.dtype(x)) ? c.op('div', summed, float(n)) : c.op('divTrunc', summed, n);
  const base = c.op('add', c.op('mul', mean, float(a.float('alpha'))), float(a.float('k')));
  const result = c.op('div', wide, c.op('pow', base, float(a.float('beta'))));
  return isFloat(c.dtype(x)) ? c.cast(result, c.dtype(x)) : result;
}

function rmsNorm(c: Composer, a: ArgumentReader): ValueRef {
  const [input, shape] = [a.tensor('input'), a.sizes('normalizedShape')];
  const lead = c.rank(input) - shape.length;
  if (lead < 0 || shape.length === 0 || !sameShape(c.sizes, shape, c.shape(input).slice(lead))) {
    throw shapeMismatch(
      `rmsNorm over ${printShape(shape)} of ${printShape(c.shape(input))}`,
      'normalizedShape must be the last sizes of the tensor',
    );
  }
  const x = c.widen(input);
  const eps = a.optionalFloat('eps') ?? (c.dtype(input) === 'f64' ? 2 ** -52 : 2 ** -23);
  const rms = c.op(
    'rsqrt',
    c.op('add', wideMean(c, c.op('mul', x, x), { dims: range(c.rank(x), lead), keepdim: true }), float(eps)),
  );
  return c.cast(
    affine(c, c.op('mul', x, rms), { weight: a.optionalTensor('weight'), bias: undefined }),
    c.dtype(input),
  );
}

const LAYER = 'input: tensor, normalizedShape: sizes';

export const normalisationEntries: readonly Entry[] = [
  softmaxLike('softmax', ['softmax', 'nn.functional.softmax', 'special.softmax'], wideSoftmax),
  softmaxLike('logSoftmax', ['log_softmax', 'nn.functional.log_softmax', 'special.log_softmax'], wideLogSoftmax),
  composite(
    'softmin',
    { signature: SOFTMAX, doc: 'softmax of -x along a dim.', torch: 'nn.functional.softmin' },
    // The negation is in the input's dtype, as in PyTorch: a u8 wraps.
    (c, a) => c.call('softmax', [c.op('neg', a.tensor('input'))], { dim: a.attr('dim'), dtype: a.attr('dtype') }),
  ),
  composite(
    'layerNorm',
    {
      signature: `${LAYER}, ${AFFINE}, eps: float = 1e-5`,
      doc: 'Normalises the last dims to mean 0 and variance 1.',
      torch: ['nn.functional.layer_norm', 'layer_norm'],
    },
    (c, a) => layerNorm(c, a).value,
  ),
  composite(
    'nativeLayerNorm',
    {
      signature: `${LAYER}, weight: tensor?, bias: tensor?, eps: float`,
      doc: 'layerNorm, with the mean and the reciprocal deviation.',
      forms: ['function'],
      results: 3,
    },
    (c, a) => {
      const { value, mean, rstd } = layerNorm(c, a);
      return [value, mean, rstd];
    },
  ),
  composite(
    'rmsNorm',
    {
      signature: `${LAYER}, weight: tensor? = null, eps: float? = null`,
      doc: 'Divides by the root of the mean square.',
      torch: 'nn.functional.rms_norm',
      accepts: floats,
    },
    rmsNorm,
  ),
  composite(
    'groupNorm',
    {
      signature: `input: tensor, numGroups: int, ${AFFINE}, eps: float = 1e-5`,
      doc: 'Normalises groups of channels.',
      torch: ['nn.functional.group_norm', 'group_norm'],
    },
    groupNorm,
  ),
  batchNorm,
  batchNormStatistics,
  nativeBatchNorm,
  instanceNorm,
  composite(
    'localResponseNorm',
    {
      signature: 'input: tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0',
      doc: 'Divides by the energy of neighbouring channels.',
      torch: 'nn.functional.local_response_norm',
    },
    localResponseNorm,
  ),
];
