// Losses. Half types are computed in f32 and rounded once; every loss ends in `reduceLoss`.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, dtypeUnsupported, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { product, range, sameShape } from '../shape.ts';
import { wideLogSoftmax } from './normalisation.ts';
import { pNorm } from './norms.ts';
import { wideMean } from './reductions.ts';

const REDUCTIONS = ['none', 'mean', 'sum', 'batchmean'];

/** Applies `reduction` to a wide loss, and casts it. */
function reduceLoss(c: Composer, a: ArgumentReader, loss: { value: ValueRef; dtype: DType }): ValueRef {
  const reduction = a.string('reduction');
  if (!REDUCTIONS.includes(reduction))
    throw argumentValue(a.operator.name, `reduction ${reduction}`, 'use none, mean or sum');
  const all = { dims: range(c.rank(loss.value)), keepdim: false };
  const { value } = loss;
  if (reduction === 'none') return c.cast(value, loss.dtype);
  if (reduction === 'mean') return c.cast(wideMean(c, c.toFloat(value), all), loss.dtype);
  const summed = c.reduce('sum', value);
  return c.cast(
    reduction === 'sum' ? summed : c.op('div', summed, c.sizeOperand(c.size(value, 0), c.dtype(value))),
    loss.dtype,
  );
}

const REDUCE = "reduction: string = 'mean'";
const OLD = 'sizeAverage: bool? = null, reduce: bool? = null';

interface Pair {
  /** Wide. */
  readonly x: ValueRef;
  readonly y: ValueRef;
}

function requireSameShape(c: Composer, operator: string, x: ValueRef, y: ValueRef): void {
  if (!sameShape(c.sizes, c.shape(x), c.shape(y)))
    throw shapeMismatch(
      `${operator}: ${printShape(c.shape(x))} and ${printShape(c.shape(y))} differ`,
      'the shapes must be equal',
    );
}

const square = (c: Composer, x: ValueRef): ValueRef => c.op('mul', x, x);

/** Quadratic within `width`, linear outside: the two common scalings of Huber's loss. */
function huber(c: Composer, { x, y }: Pair, { width, scale }: { width: number; scale: number }): ValueRef {
  const distance = c.op('abs', c.op('sub', x, y));
  const inner = c.op('mul', square(c, distance), float(0.5 * scale));
  const outer = c.op('mul', c.op('sub', distance, float(0.5 * width)), float(width * scale));
  return c.where(c.op('lt', distance, float(width)), inner, outer);
}

function smoothL1(c: Composer, pair: Pair, a: ArgumentReader): ValueRef {
  const beta = a.float('beta');
  if (beta < 0) throw argumentValue('smoothL1Loss', `beta ${String(beta)}`, 'it is not negative');
  return beta === 0 ? c.op('abs', c.op('sub', pair.x, pair.y)) : huber(c, pair, { width: beta, scale: 1 / beta });
}

function klDiv(c: Composer, { x, y }: Pair, a: ArgumentReader): ValueRef {
  if (a.bool('logTarget')) return c.op('mul', c.op('exp', y), c.op('sub', y, x));
  return c.op('sub', c.op('xlogy', y, y), c.op('mul', y, x));
}

/** Logarithms are held above -100, as in PyTorch. */
const boundedLog = (c: Composer, x: ValueRef): ValueRef => c.op('maximum', c.op('log', x), float(-100));

function binaryCrossEntropy(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, weight] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('weight')];
  requireSameShape(c, 'binaryCrossEntropy', input, target);
  const [x, y] = [c.widen(input), c.widen(target)];
  const hit = c.op('mul', y, boundedLog(c, x));
  const miss = c.op('mul', c.op('sub', float(1), y), c.op('maximum', c.op('log1p', c.op('neg', x)), float(-100)));
  return reduceLoss(c, a, { value: weighted(c, c.op('neg', c.op('add', hit, miss)), weight), dtype: c.dtype(input) });
}

const weighted = (c: Composer, loss: ValueRef, weight: ValueRef | undefined): ValueRef =>
  weight === undefined ? loss : c.op('mul', loss, c.cast(weight, c.dtype(loss)));

/** max(x, 0) - x y + log(1 + exp(-|x|)), weighted where positive. */
function withLogits(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, positive] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('posWeight')];
  requireSameShape(c, 'binaryCrossEntropyWithLogits', input, target);
  const [x, y] = [c.widen(input), c.widen(target)];
  const lower = c.op('neg', c.op('minimum', x, float(0)));
  const tail = c.op(
    'add',
    c.op('log', c.op('add', c.op('exp', c.op('neg', lower)), c.op('exp', c.op('sub', c.op('neg', x), lower)))),
    lower,
  );
  const scale =
    positive === undefined
      ? undefined
      : c.op('add', c.op('mul', c.op('sub', c.cast(positive, c.dtype(x)), float(1)), y), float(1));
  const loss = c.op(
    'add',
    c.op('mul', c.op('sub', float(1), y), x),
    scale === undefined ? tail : c.op('mul', scale, tail),
  );
  return reduceLoss(c, a, { value: weighted(c, loss, a.optionalTensor('weight')), dtype: c.dtype(input) });
}

interface ClassLoss {
  /** Wide log probabilities, classes along axis 1 (axis 0 of a vector). */
  readonly logs: ValueRef;
  readonly target: ValueRef;
  readonly dtype: DType;
}

const classAxis = (c: Composer, x: ValueRef): number => (c.rank(x) === 1 ? 0 : 1);

/** Weights of the targets, 0 where they are ignored; and which class to read there. */
function targetWeights(
  c: Composer,
  a: ArgumentReader,
  { logs, target }: ClassLoss,
): { weights: ValueRef; index: ValueRef } {
  const counted = c.op('ne', target, a.int('ignoreIndex'));
  const index = c.where(counted, target, c.full(0, [], 'i64'));
  const weight = a.optionalTensor('weight');
  const each =
    weight === undefined ? c.full(float(1), [], c.dtype(logs)) : c.index(c.cast(weight, c.dtype(logs)), [index], [0]);
  return { weights: c.where(counted, each, c.full(float(0), [], c.dtype(logs))), index };
}

/** Negative log likelihood of classes, with label smoothing by `smoothing`. */
function classLoss(
  c: Composer,
  a: ArgumentReader,
  { loss, smoothing }: { loss: ClassLoss; smoothing: number },
): ValueRef {
  const { logs, target, dtype } = loss;
  const axis = classAxis(c, logs);
  const expected = c.shape(logs).filter((_, dim) => dim !== axis);
  if (!sameShape(c.sizes, c.shape(target), expected))
    throw shapeMismatch(
      `${a.operator.name}: the target is ${printShape(c.shape(target))}, not ${printShape(expected)}`,
      'give a class for each sample',
    );
  if (c.dtype(target) !== 'i64')
    throw dtypeMismatch(a.operator.name, `the target is ${c.dtype(target)}, it must be i64`);
  const { weights, index } = targetWeights(c, a, loss);
  const picked = c.squeeze(c.gather(logs, axis, c.unsqueeze(index, axis)), axis);
  const likelihood = c.op('mul', c.op('neg', picked), weights);
  const mean = (value: ValueRef): ValueRef =>
    c.op('div', c.reduce('sum', value), c.reduce('sum', c.expand(weights, c.shape(value))));
  const finish = (value: ValueRef): ValueRef =>
    a.string('reduction') === 'mean' ? mean(value) : reduceLoss(c, a, { value, dtype: c.dtype(logs) });
  if (smoothing === 0) return c.cast(finish(likelihood), dtype);
  const spread = smoothed(c, a, loss);
  const share = c.op('div', float(smoothing), c.sizeOperand(c.size(logs, axis), c.dtype(logs)));
  const total = c.op('add', c.op('mul', finish(likelihood), float(1 - smoothing)), c.op('mul', finish(spread), share));
  return c.cast(total, dtype);
}

/** What label smoothing adds: minus the weighted sum over classes, where the target counts. */
function smoothed(c: Composer, a: ArgumentReader, { logs, target }: ClassLoss): ValueRef {
  const [axis, weight] = [classAxis(c, logs), a.optionalTensor('weight')];
  const scaled =
    weight === undefined ? logs : c.op('mul', logs, c.along(c.cast(weight, c.dtype(logs)), axis, c.rank(logs)));
  const sums = c.op('neg', c.reduce('sum', scaled, [axis]));
  return c.where(c.op('ne', target, a.int('ignoreIndex')), sums, c.full(float(0), [], c.dtype(logs)));
}

/** Cross entropy with a distribution as target. */
function distributionLoss(
  c: Composer,
  a: ArgumentReader,
  { loss, smoothing }: { loss: ClassLoss; smoothing: number },
): ValueRef {
  const { logs, target, dtype } = loss;
  const [axis, weight] = [classAxis(c, logs), a.optionalTensor('weight')];
  requireSameShape(c, a.operator.name, logs, target);
  const wide = c.cast(target, c.dtype(logs));
  const classes = c.sizeOperand(c.size(logs, axis), c.dtype(logs));
  const share = c.op('div', float(smoothing), classes);
  const probabilities = smoothing === 0 ? wide : c.op('add', c.op('mul', wide, float(1 - smoothing)), share);
  const terms = c.op('mul', logs, probabilities);
  const scaled =
    weight === undefined ? terms : c.op('mul', terms, c.along(c.cast(weight, c.dtype(logs)), axis, c.rank(logs)));
  const each = c.op('neg', c.reduce('sum', scaled, [axis]));
  if (a.string('reduction') !== 'mean') return reduceLoss(c, a, { value: each, dtype });
  const samples = c.sizeOperand(product(c.shape(each)), c.dtype(logs));
  return c.cast(c.op('div', c.reduce('sum', each), samples), dtype);
}

function crossEntropy(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, smoothing] = [a.tensor('input'), a.tensor('target'), a.float('labelSmoothing')];
  if (!isFloat(c.dtype(input))) throw dtypeUnsupported('crossEntropy', c.dtype(input));
  const loss = { logs: wideLogSoftmax(c, c.widen(input), classAxis(c, input)), target, dtype: c.dtype(input) };
  return isFloat(c.dtype(target)) ? distributionLoss(c, a, { loss, smoothing }) : classLoss(c, a, { loss, smoothing });
}

function poisson(c: Composer, { x, y }: Pair, a: ArgumentReader): ValueRef {
  const loss = a.bool('logInput')
    ? c.op('sub', c.op('exp', x), c.op('mul', y, x))
    : c.op('sub', x, c.op('mul', y, c.op('log', c.op('add', x, float(a.float('eps'))))));
  if (!a.bool('full')) return loss;
  const stirling = c.op(
    'add',
    c.op('sub', c.op('mul', y, c.op('log', y)), y),
    c.op('mul', c.op('log', c.op('mul', y, float(2 * Math.PI))), float(0.5)),
  );
  return c.op('add', loss, c.where(c.op('le', y, 1), float(0), stirling));
}

function gaussian(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, variance] = [a.tensor('input'), a.tensor('target'), a.tensor('var')];
  const [x, y] = [c.widen(input), c.widen(target)];
  const wide = c.widen(variance);
  const per =
    sameShape(c.sizes, c.shape(variance), c.shape(input)) || c.rank(variance) === c.rank(input)
      ? wide
      : c.unsqueeze(wide, -1);
  const held = c.op('maximum', per, float(a.float('eps')));
  const base = c.op('mul', c.op('add', c.op('log', held), c.op('div', square(c, c.op('sub', x, y)), held)), float(0.5));
  return reduceLoss(c, a, {
    value: a.bool('full') ? c.op('add', base, float(0.5 * Math.log(2 * Math.PI))) : base,
    dtype: c.dtype(input),
  });
}

const floatOf = (dtype: DType): DType => (isFloat(dtype) ? dtype : 'f32');

const relu = (c: Composer, x: ValueRef): ValueRef => c.op('maximum', x, 0);

/** 1 - cos for pairs that belong together, cos - margin for the others. */
function cosineEmbedding(c: Composer, a: ArgumentReader): ValueRef {
  const [first, second, target] = [a.tensor('input1'), a.tensor('input2'), a.tensor('target')];
  const dtype = floatOf(promoteTypes(c.dtype(first), c.dtype(second)));
  const [x, y] = [c.widen(c.cast(first, dtype)), c.widen(c.cast(second, dtype))];
  const last = [Math.max(c.rank(x), c.rank(y)) - 1];
  const dot = (u: ValueRef, v: ValueRef): ValueRef => c.reduce('sum', c.op('mul', u, v), last);
  const norms = [dot(x, x), dot(y, y)].map((sum) => c.op('add', sum, float(1e-12)));
  const cosine = c.op('div', dot(x, y), c.op('sqrt', c.fold('mul', norms)));
  const together = c.op('sub', float(1), cosine);
  const apart = relu(c, c.op('sub', cosine, float(a.float('margin'))));
  const value = c.op(
    'add',
    c.where(c.op('eq', target, 1), together, float(0)),
    c.where(c.op('eq', target, -1), apart, float(0)),
  );
  return reduceLoss(c, a, { value, dtype });
}

function tripletMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [anchor, positive, negative] = [a.tensor('anchor'), a.tensor('positive'), a.tensor('negative')];
  const distance = (u: ValueRef, v: ValueRef): ValueRef => {
    const difference = c.widen(c.op('add', c.op('sub', u, v), float(a.float('eps'))));
    return pNorm(c, difference, a.float('p'), { dims: [c.rank(difference) - 1], keepdim: false });
  };
  const [near, far] = [distance(anchor, positive), distance(anchor, negative)];
  const gap = a.bool('swap') ? c.op('minimum', far, distance(positive, negative)) : far;
  const value = relu(c, c.op('add', c.op('sub', near, gap), float(a.float('margin'))));
  return reduceLoss(c, a, { value, dtype: floatOf(promoteTypes(c.dtype(anchor), c.dtype(positive))) });
}

function multilabelSoftMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, weight] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('weight')];
  const [x, y] = [c.widen(input), c.widen(target)];
  const logSigmoid = (v: ValueRef): ValueRef =>
    c.op('sub', c.op('minimum', v, float(0)), c.op('log1p', c.op('exp', c.op('neg', c.op('abs', v)))));
  const each = c.op(
    'neg',
    c.op('add', c.op('mul', y, logSigmoid(x)), c.op('mul', c.op('sub', float(1), y), logSigmoid(c.op('neg', x)))),
  );
  const classes = c.rank(each) - 1;
  return reduceLoss(c, a, {
    value: wideMean(c, weighted(c, each, weight), { dims: [classes], keepdim: false }),
    dtype: c.dtype(input),
  });
}

/** Mean over classes of max(0, margin - x[target] + x[class])^p, but for the target's own. */
function multiMargin(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, weight, p] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('weight'), a.int('p')];
  if (p !== 1 && p !== 2) throw argumentValue('multiMarginLoss', `p is ${String(p)}`, 'use 1 or 2');
  const rows = c.rank(input) < 2 ? c.reshape(c.widen(input), [int(1), c.count(input)]) : c.widen(input);
  const classes = c.flatten(target);
  const own = c.gather(rows, 1, c.unsqueeze(classes, 1));
  const hinge = relu(c, c.op('add', c.op('sub', rows, own), float(a.float('margin'))));
  const powered = p === 2 ? square(c, hinge) : hinge;
  const scaled =
    weight === undefined
      ? powered
      : c.op('mul', powered, c.unsqueeze(c.index(c.cast(weight, c.dtype(rows)), [classes], [0]), 1));
  const others = c.where(c.op('ne', c.iota(c.size(rows, 1)), c.unsqueeze(classes, 1)), scaled, float(0));
  const each = wideMean(c, others, { dims: [1], keepdim: false });
  return reduceLoss(c, a, { value: c.rank(target) === 0 ? c.reshape(each, []) : each, dtype: c.dtype(input) });
}

const WEIGHTED = `weight: tensor? = null, sizeAverage: bool? = null`;

export const lossEntries: readonly Entry[] = [
  composite(
    'mseLoss',
    {
      signature: `input: tensor, target: tensor, ${OLD}, ${REDUCE}`,
      doc: 'Squared differences.',
      torch: 'nn.functional.mse_loss',
    },
    (c, a) => pairLoss(c, a, ({ x, y }) => square(c, c.op('sub', x, y))),
  ),
  composite(
    'l1Loss',
    {
      signature: `input: tensor, target: tensor, ${OLD}, ${REDUCE}`,
      doc: 'Absolute differences.',
      torch: 'nn.functional.l1_loss',
    },
    (c, a) => pairLoss(c, a, ({ x, y }) => c.op('abs', c.op('sub', x, y))),
  ),
  composite(
    'smoothL1Loss',
    {
      signature: `input: tensor, target: tensor, ${OLD}, ${REDUCE}, beta: float = 1.0`,
      doc: 'Squared differences when small, absolute ones when large.',
      torch: 'nn.functional.smooth_l1_loss',
    },
    (c, a) => pairLoss(c, a, (pair) => smoothL1(c, pair, a)),
  ),
  composite(
    'huberLoss',
    {
      signature: `input: tensor, target: tensor, ${REDUCE}, delta: float = 1.0`,
      doc: "Huber's loss.",
      torch: 'nn.functional.huber_loss',
    },
    (c, a) => {
      if (a.float('delta') <= 0)
        throw argumentValue('huberLoss', `delta ${String(a.float('delta'))}`, 'it is positive');
      return pairLoss(c, a, (pair) => huber(c, pair, { width: a.float('delta'), scale: 1 }));
    },
  ),
  composite(
    'klDiv',
    {
      signature: `input: tensor, target: tensor, ${OLD}, ${REDUCE}, logTarget: bool = false`,
      doc: 'Kullback-Leibler divergence.',
      torch: ['nn.functional.kl_div', 'kl_div'],
    },
    (c, a) => pairLoss(c, a, (pair) => klDiv(c, pair, a)),
  ),
  composite(
    'binaryCrossEntropy',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}`,
      doc: 'Cross entropy of probabilities.',
      torch: 'nn.functional.binary_cross_entropy',
    },
    binaryCrossEntropy,
  ),
  composite(
    'binaryCrossEntropyWithLogits',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}, posWeight: tensor? = null`,
      doc: 'Cross entropy of logits.',
      torch: ['nn.functional.binary_cross_entropy_with_logits', 'binary_cross_entropy_with_logits'],
    },
    withLogits,
  ),
  composite(
    'crossEntropy',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, ignoreIndex: int = -100, reduce: bool? = null, ${REDUCE}, labelSmoothing: float = 0.0`,
      doc: 'Log softmax and negative log likelihood; the target has classes or probabilities.',
      torch: 'nn.functional.cross_entropy',
    },
    crossEntropy,
  ),
  composite(
    'nllLoss',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, ignoreIndex: int = -100, reduce: bool? = null, ${REDUCE}`,
      doc: 'Negative log likelihood.',
      torch: 'nn.functional.nll_loss',
    },
    (c, a) =>
      classLoss(c, a, {
        loss: { logs: c.widen(a.tensor('input')), target: a.tensor('target'), dtype: c.dtype(a.tensor('input')) },
        smoothing: 0,
      }),
  ),
  composite(
    'poissonNllLoss',
    {
      signature: `input: tensor, target: tensor, logInput: bool = true, full: bool = false, sizeAverage: bool? = null, eps: float = 1e-8, reduce: bool? = null, ${REDUCE}`,
      doc: 'Negative log likelihood of counts.',
      torch: ['nn.functional.poisson_nll_loss', 'poisson_nll_loss'],
    },
    (c, a) => {
      if (!REDUCTIONS.includes(a.string('reduction')))
        throw argumentValue('poissonNllLoss', `reduction ${a.string('reduction')}`, 'use none, mean or sum');
      return pairLoss(c, a, (pair) => poisson(c, pair, a));
    },
  ),
  composite(
    'gaussianNllLoss',
    {
      signature: `input: tensor, target: tensor, var: tensor, full: bool = false, eps: float = 1e-6, ${REDUCE}`,
      doc: 'Negative log likelihood of normal distributions.',
      torch: 'nn.functional.gaussian_nll_loss',
    },
    gaussian,
  ),
  composite(
    'softMarginLoss',
    {
      signature: `input: tensor, target: tensor, ${OLD}, ${REDUCE}`,
      doc: 'log(1 + exp(-y x)).',
      torch: 'nn.functional.soft_margin_loss',
    },
    (c, a) =>
      pairLoss(c, a, ({ x, y }) => c.op('log', c.op('add', c.op('exp', c.op('mul', c.op('neg', y), x)), float(1)))),
  ),
  composite(
    'hingeEmbeddingLoss',
    {
      signature: `input: tensor, target: tensor, margin: float = 1.0, ${OLD}, ${REDUCE}`,
      doc: 'x where the target is 1, max(0, margin - x) where it is -1.',
      torch: ['nn.functional.hinge_embedding_loss', 'hinge_embedding_loss'],
    },
    (c, a) =>
      pairLoss(c, a, ({ x, y }) => {
        const apart = c.where(c.op('ne', y, 1), relu(c, c.op('sub', float(a.float('margin')), x)), float(0));
        return c.op('add', apart, c.where(c.op('ne', y, -1), x, float(0)));
      }),
  ),
  composite(
    'marginRankingLoss',
    {
      signature: `input1: tensor, input2: tensor, target: tensor, margin: float = 0.0, ${OLD}, ${REDUCE}`,
      doc: 'max(0, -y (x1 - x2) + margin).',
      torch: ['nn.functional.margin_ranking_loss', 'margin_ranking_loss'],
    },
    (c, a) => {
      const [x, y, target] = [a.tensor('input1'), a.tensor('input2'), a.tensor('target')];
      if (c.rank(x) !== c.rank(target) || c.rank(y) !== c.rank(target))
        throw shapeMismatch('marginRankingLoss: the ranks differ', 'give three tensors of one rank');
      const value = relu(c, c.op('add', c.op('mul', c.op('neg', target), c.op('sub', x, y)), a.scalar('margin')));
      return reduceLoss(c, a, { value: c.widen(value), dtype: floatOf(c.dtype(value)) });
    },
  ),
  composite(
    'cosineEmbeddingLoss',
    {
      signature: `input1: tensor, input2: tensor, target: tensor, margin: float = 0.0, ${OLD}, ${REDUCE}`,
      doc: '1 - cos of pairs that belong together, cos - margin of others.',
      torch: ['nn.functional.cosine_embedding_loss', 'cosine_embedding_loss'],
    },
    cosineEmbedding,
  ),
  composite(
    'tripletMarginLoss',
    {
      signature: `anchor: tensor, positive: tensor, negative: tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = false, ${OLD}, ${REDUCE}`,
      doc: 'Distance to the positive less that to the negative, plus a margin.',
      torch: ['nn.functional.triplet_margin_loss', 'triplet_margin_loss'],
    },
    tripletMargin,
  ),
  composite(
    'multilabelSoftMarginLoss',
    {
      signature: `input: tensor, target: tensor, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}`,
      doc: 'Mean over classes of logistic losses.',
      torch: 'nn.functional.multilabel_soft_margin_loss',
    },
    multilabelSoftMargin,
  ),
  composite(
    'multiMarginLoss',
    {
      signature: `input: tensor, target: tensor, p: int = 1, margin: float = 1.0, ${WEIGHTED}, reduce: bool? = null, ${REDUCE}`,
      doc: 'Hinge loss of classes.',
      torch: 'nn.functional.multi_margin_loss',
    },
    multiMargin,
  ),
];

/** A loss of `input` and `target`, broadcast together. */
function pairLoss(c: Composer, a: ArgumentReader, point: (pair: Pair) => ValueRef): ValueRef {
  const [x, y] = [a.tensor('input'), a.tensor('target')];
  const value = point({ x: c.widen(x), y: c.widen(y) });
  const dtype = promoteTypes(c.dtype(x), c.dtype(y));
  return reduceLoss(c, a, { value, dtype: isFloat(dtype) ? dtype : c.dtype(value) });
}
