// Losses. Half types are computed in f32 and rounded once; every loss ends in `reduceLoss`.
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { sameShape } from '../shape.ts';
import {
  OLD,
  REDUCE,
  REDUCTIONS,
  WEIGHTED,
  fixedPairLoss,
  floatOf,
  pairLoss,
  reduceLoss,
  relu,
  requireSameShape,
  square,
  weighted,
} from './loss-parts.ts';
import type { Pair } from './loss-parts.ts';
import { pNorm } from './norms.ts';
import { requireFloat } from './reductions.ts';

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
  requireSameShape(c, 'binaryCrossEntropy', [input, target]);
  requireFloat(c, 'binaryCrossEntropy', input);
  if (c.dtype(target) !== c.dtype(input))
    throw dtypeMismatch('binaryCrossEntropy', `the target is ${c.dtype(target)}, the input ${c.dtype(input)}`);
  const isProbability = c.op('logicalAnd', c.op('ge', input, 0), c.op('le', input, 1));
  const checked = c.require(input, isProbability, {
    what: 'an element of the input is not between 0 and 1',
    remedy: 'give probabilities, or logits to binaryCrossEntropyWithLogits',
  });
  const [x, y] = [c.widen(checked), c.widen(target)];
  const hit = c.op('mul', y, boundedLog(c, x));
  const miss = c.op('mul', c.op('sub', float(1), y), c.op('maximum', c.op('log1p', c.op('neg', x)), float(-100)));
  return reduceLoss(c, a, { value: weighted(c, c.op('neg', c.op('add', hit, miss)), weight), dtype: c.dtype(input) });
}

/** max(x, 0) - x y + log(1 + exp(-|x|)), weighted where positive. */
function withLogits(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, positive] = [a.tensor('input'), a.tensor('target'), a.optionalTensor('posWeight')];
  requireSameShape(c, 'binaryCrossEntropyWithLogits', [input, target]);
  requireFloat(c, 'binaryCrossEntropyWithLogits', input);
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

/** As many variances as elements, or one for each last axis, whose size may be left out or 1. */
function requireVariance(c: Composer, input: ValueRef, variance: ValueRef): void {
  const [shape, given] = [c.shape(input), c.shape(variance)];
  if (sameShape(c.sizes, given, shape) || sameShape(c.sizes, given, shape.slice(0, -1))) return;
  const isOne = given.length === shape.length && shape.length > 0 && c.sizes.isOne(c.size(variance, -1));
  if (!isOne || !sameShape(c.sizes, given.slice(0, -1), shape.slice(0, -1)))
    throw shapeMismatch(
      `gaussianNllLoss: var is ${printShape(given)}, the tensor ${printShape(shape)}`,
      'give the shape of the tensor, its last axis left out or of size 1',
    );
}

function gaussian(c: Composer, a: ArgumentReader): ValueRef {
  const [input, target, variance] = [a.tensor('input'), a.tensor('target'), a.tensor('var')];
  const [x, y] = [c.widen(input), c.widen(target)];
  requireVariance(c, input, variance);
  const isVariance = c.op('logicalNot', c.op('lt', variance, 0));
  const wide = c.widen(
    c.require(variance, isVariance, { what: 'a variance is negative', remedy: 'variances are 0 or more' }),
  );
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
  if (new Set([anchor, positive, negative].map((x) => c.rank(x))).size > 1)
    throw shapeMismatch('tripletMarginLoss: the ranks differ', 'give three tensors of one rank');
  const distance = (u: ValueRef, v: ValueRef): ValueRef => {
    const difference = c.widen(c.op('add', c.op('sub', u, v), float(a.float('eps'))));
    return pNorm(c, difference, { p: a.float('p'), dims: [c.rank(difference) - 1], keepdim: false });
  };
  const [near, far] = [distance(anchor, positive), distance(anchor, negative)];
  const gap = a.bool('swap') ? c.op('minimum', far, distance(positive, negative)) : far;
  const value = relu(c, c.op('add', c.op('sub', near, gap), float(a.float('margin'))));
  return reduceLoss(c, a, { value, dtype: floatOf(promoteTypes(c.dtype(anchor), c.dtype(positive))) });
}

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
      signature: `input: tensor, target: tensor, ${OLD}, reduction: ${oneOf(REDUCTIONS)} = 'mean', logTarget: bool = false`,
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
      fixedPairLoss(c, a, ({ x, y }) =>
        c.op('log', c.op('add', c.op('exp', c.op('mul', c.op('neg', y), x)), float(1))),
      ),
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
      signature: `input1: tensor, input2: tensor, target: tensor, margin: scalar = 0.0, ${OLD}, ${REDUCE}`,
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
];
