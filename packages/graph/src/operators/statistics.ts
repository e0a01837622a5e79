// Covariances, histograms, and other functions of samples; cross products, Vandermonde matrices, pairwise distances.
import { isFloat } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float, size } from '../composer.ts';
import { composite, floats } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dtypeMismatch, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { broadcastShapes, one, sameShape } from '../shape.ts';
import { matmul, requireRank, sameDType } from './contraction.ts';
import { atLeastVector } from './indexing.ts';
import { pNorm } from './norms.ts';

interface Weights {
  readonly correction: number;
  readonly frequency: ValueRef | undefined;
  readonly importance: ValueRef | undefined;
}

function checkWeights(c: Composer, samples: ValueRef, { frequency, importance }: Weights): void {
  for (const weights of [frequency, importance]) {
    if (weights === undefined) continue;
    if (c.rank(weights) > 1) throw shapeMismatch('cov: weights have more than one dim', 'give a vector');
    if (!c.sizes.same(c.count(weights), c.size(samples, 1)))
      throw shapeMismatch('cov: as many weights as observations are needed');
  }
  if (frequency !== undefined && isFloat(c.dtype(frequency)))
    throw dtypeMismatch('cov', `fweights is ${c.dtype(frequency)}, it must be an integer dtype`);
  if (importance !== undefined && !isFloat(c.dtype(importance)))
    throw dtypeMismatch('cov', `aweights is ${c.dtype(importance)}, it must be a float dtype`);
}

const notNegative = (c: Composer, weights: ValueRef): ValueRef =>
  c.require(weights, c.op('logicalNot', c.op('lt', weights, 0)), {
    what: 'a weight is negative',
    remedy: 'weights are 0 or more',
  });

const notZero = (c: Composer, total: ValueRef): ValueRef =>
  c.require(total, c.op('ne', total, 0), {
    what: 'cov: the weights add up to 0',
    remedy: 'give weights of which one at least is positive',
  });

/** Covariances of the rows. */
function covariance(c: Composer, input: ValueRef, weights: Weights): ValueRef {
  if (c.rank(input) > 2)
    throw shapeMismatch(`cov of ${printShape(c.shape(input))}`, 'give a matrix of variables by observations');
  if (c.dtype(input) === 'bool') throw dtypeMismatch('cov', 'the tensor is bool');
  const samples = c.lead(c.rank(input) === 0 ? c.reshape(input, [one]) : input, 2);
  checkWeights(c, samples, weights);
  const { frequency, importance, correction } = weights;
  const base = isFloat(c.dtype(input)) ? c.dtype(input) : 'f32';
  const dtype = importance === undefined ? base : promoteTypes(base, c.dtype(importance));
  const x = c.widen(c.cast(samples, dtype));
  const wide = (v: ValueRef): ValueRef => c.cast(c.flatten(notNegative(c, v)), c.dtype(x));
  const both = [frequency, importance].filter((v) => v !== undefined).map(wide);
  const weight = both.length === 0 ? undefined : c.fold('mul', both);
  const total =
    weight === undefined ? c.full(c.sizes.toNumber(c.size(x, 1)), [], c.dtype(x)) : notZero(c, c.reduce('sum', weight));
  const weighted = (v: ValueRef): ValueRef => (weight === undefined ? v : c.op('mul', v, weight));
  const mean = c.op('div', c.reduce('sum', weighted(x), { dims: [1], keepdim: true }), total);
  const lost =
    importance === undefined || weight === undefined
      ? c.full(correction, [], c.dtype(x))
      : c.op('div', c.op('mul', c.reduce('sum', c.op('mul', weight, wide(importance))), float(correction)), total);
  const factor = c.op('maximum', c.op('sub', total, lost), float(0));
  const centred = c.op('sub', x, mean);
  const result = c.op('div', matmul(c, weighted(centred), c.transpose(centred, 0, 1)), factor);
  return c.cast(c.sizes.isOne(c.size(x, 0)) ? c.reshape(result, []) : result, dtype);
}

function correlation(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  const matrix = covariance(c, x, { correction: 1, frequency: undefined, importance: undefined });
  if (c.rank(matrix) === 0) return c.op('div', matrix, matrix);
  const wide = c.widen(matrix);
  const spread = c.op('sqrt', c.call('diagonal', [wide], { offset: 0, dim1: 0, dim2: 1 }));
  const scaled = c.op('div', c.op('div', wide, c.unsqueeze(spread, 1)), spread);
  return c.cast(c.op('minimum', c.op('maximum', scaled, float(-1)), float(1)), c.dtype(matrix));
}

/** The cross product of vectors of three elements along an axis. */
function cross(c: Composer, a: ArgumentReader, given: number | undefined): ValueRef {
  const [x, y] = [a.tensor('input'), a.tensor('other')];
  const shape = broadcastShapes(c.sizes, [c.shape(x), c.shape(y)]);
  if (c.rank(x) !== c.rank(y))
    throw shapeMismatch(`${a.operator.name}: the ranks differ`, 'give two tensors of one rank');
  const three = given ?? shape.findIndex((extent) => c.sizes.same(extent, int(3)));
  const dim = three === -1 && given === undefined ? -1 : c.dim(x, three);
  if (dim === -1 || ![x, y].every((v) => c.sizes.same(c.size(v, dim), int(3))))
    throw shapeMismatch(`${a.operator.name}: no axis of size 3`, 'the axis must have size 3');
  const rotated = (v: ValueRef, by: number): ValueRef =>
    c.cat([c.slice(v, dim, { start: by }), c.slice(v, dim, { end: by })], dim);
  const [u, v] = [c.expand(x, shape), c.expand(y, shape)];
  return c.op('sub', c.op('mul', rotated(u, 1), rotated(v, 2)), c.op('mul', rotated(u, 2), rotated(v, 1)));
}

function vander(c: Composer, a: ArgumentReader): ValueRef {
  const x = atLeastVector(c, a.tensor('x'));
  const n = a.optionalInt('N') ?? c.sizes.toNumber(c.size(x, -1));
  if (n < 2) throw argumentValue('vander', `${String(n)} powers`, 'use at least 2');
  const start = c.full(1, [...c.shape(x), one], c.dtype(x));
  const powers = c.expand(c.unsqueeze(x, c.rank(x)), [...c.shape(x), size(n - 1)]);
  return c.call('cumprod', [c.cat([start, powers], c.rank(x))], { dim: c.rank(x), dtype: null });
}

/** Distances of all pairs of rows, each pair once. */
function pdist(c: Composer, a: ArgumentReader): ValueRef {
  const x = a.tensor('input');
  if (c.rank(x) !== 2) throw shapeMismatch(`pdist of ${printShape(c.shape(x))}`, 'give a matrix');
  const n = c.sizes.toNumber(c.size(x, 0));
  const pairs = c.call('triuIndices', [], { row: n, col: n, offset: 1 });
  const rows = (which: number): ValueRef => c.indexSelect(x, 0, c.select(pairs, 0, which));
  return pNorm(c, c.op('sub', rows(0), rows(1)), { p: a.float('p'), dims: [1], keepdim: false });
}

/** How many elements (or how much weight) fall into each bin; `place` is outside of [0, bins) where none fits. */
function counts(c: Composer, { place, bins, weight }: { place: ValueRef; bins: number; weight: ValueRef }): ValueRef {
  const hit = c.op('eq', c.unsqueeze(c.flatten(place), 0), c.unsqueeze(c.iota(size(bins)), 1));
  const weights = c.unsqueeze(c.flatten(weight), 0);
  return c.reduce('sum', c.where(hit, weights, c.full(0, [], c.dtype(weight))), [1]);
}

const finiteEnd = (c: Composer, end: ValueRef): ValueRef =>
  c.require(end, c.op('isfinite', end), {
    what: 'the range of the elements is not finite',
    remedy: 'give the range of the bins, or take out infinite elements and NaN',
  });

/** The number of bins. */
function requireBins(operator: string, bins: number): void {
  if (bins < 1) throw argumentValue(operator, `${String(bins)} bins`, 'use at least 1');
}

/** The ends of the bins: as given, or of the data; `margin` to both sides where they would be equal. */
function binEnds(
  c: Composer,
  x: ValueRef,
  { operator, given, margin }: { operator: string; given: readonly [number, number] | undefined; margin: number },
): readonly [ValueRef, ValueRef] {
  const fixed = (value: number): ValueRef => c.full(float(value), [], c.dtype(x));
  if (given !== undefined) {
    const [low, high] = given;
    if (!(Number.isFinite(low) && Number.isFinite(high) && low <= high))
      throw argumentValue(operator, `from ${String(low)} to ${String(high)}`, 'give finite ends, the lower one first');
    return low === high ? [fixed(low - margin), fixed(high + margin)] : [fixed(low), fixed(high)];
  }
  if (c.sizes.isZero(c.count(x))) return [fixed(0), fixed(1)];
  const [low, high] = [finiteEnd(c, c.reduce('amin', x)), finiteEnd(c, c.reduce('amax', x))];
  const isFlat = c.op('eq', low, high);
  const apart = float(margin);
  return [c.where(isFlat, c.op('sub', low, apart), low), c.where(isFlat, c.op('add', high, apart), high)];
}

/** The bin of each element; the last one has its upper end too. */
function binOf(
  c: Composer,
  x: ValueRef,
  { low, high, bins }: { low: ValueRef; high: ValueRef; bins: number },
): ValueRef {
  const place = c.op('floor', c.op('mul', c.op('div', c.op('sub', x, low), c.op('sub', high, low)), float(bins)));
  const inside = c.op('logicalAnd', c.op('ge', x, low), c.op('le', x, high));
  return c.where(inside, c.op('minimum', c.cast(place, 'i64'), bins - 1), c.full(-1, [], 'i64'));
}

function histc(c: Composer, a: ArgumentReader): ValueRef {
  const [input, bins] = [a.tensor('input'), a.int('bins')];
  requireBins('histc', bins);
  const x = c.widen(input);
  const [min, max] = [a.float('min'), a.float('max')];
  const [low, high] = binEnds(c, x, {
    operator: 'histc',
    given: min === max ? undefined : [min, max],
    margin: 1,
  });
  const hits = counts(c, { place: binOf(c, x, { low, high, bins }), bins, weight: c.full(1, c.shape(x), c.dtype(x)) });
  return c.cast(hits, c.dtype(input));
}

/** Counts as densities: of area 1 over the bins. */
function density(c: Composer, hits: ValueRef, edges: ValueRef): ValueRef {
  const bins = c.sizes.toNumber(c.size(hits, 0));
  const widths = c.op('sub', c.slice(edges, 0, { start: 1 }), c.slice(edges, 0, { end: bins }));
  return c.op('div', c.op('div', hits, c.reduce('sum', hits)), widths);
}

/** The weights are as many as the elements, and of their dtype. */
function requireWeights(c: Composer, a: ArgumentReader): void {
  const [x, weight] = [a.tensor('input'), a.optionalTensor('weight')];
  if (weight === undefined) return;
  sameDType(c, 'histogram', [x, weight]);
  if (!sameShape(c.sizes, c.shape(x), c.shape(weight)))
    throw shapeMismatch(`histogram: weight is ${printShape(c.shape(weight))}, the tensor ${printShape(c.shape(x))}`);
}

function histogram(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const [x, bins] = [a.tensor('input'), a.int('bins')];
  requireBins('histogram', bins);
  requireWeights(c, a);
  const given = a.attr('range') as readonly [number, number] | null;
  const [low, high] = binEnds(c, x, { operator: 'histogram', given: given ?? undefined, margin: 0.5 });
  const steps = c.op('div', c.iota(size(bins + 1), c.dtype(x)), float(bins));
  const edges = c.op('lerp', low, high, steps);
  const weight = a.optionalTensor('weight') ?? c.full(1, c.shape(x), c.dtype(x));
  const hits = counts(c, { place: binOf(c, x, { low, high, bins }), bins, weight });
  return [a.bool('density') ? density(c, hits, edges) : hits, edges];
}

function histogramAt(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const [x, edges] = [a.tensor('input'), a.tensor('bins')];
  requireRank(c, 'histogram', [[edges, 1]]);
  sameDType(c, 'histogram', [x, edges]);
  requireWeights(c, a);
  const bins = c.sizes.toNumber(c.size(edges, 0)) - 1;
  requireBins('histogram', bins);
  const [low, high] = [c.slice(edges, 0, { end: bins }), c.slice(edges, 0, { start: 1 })];
  const flat = c.unsqueeze(c.flatten(x), 1);
  const isLast = c.op('eq', c.iota(size(bins)), bins - 1);
  const inside = c.op(
    'logicalAnd',
    c.op('ge', flat, low),
    c.op('logicalOr', c.op('lt', flat, high), c.op('logicalAnd', isLast, c.op('eq', flat, high))),
  );
  const weight = c.flatten(a.optionalTensor('weight') ?? c.full(1, c.shape(x), c.dtype(x)));
  const hits = c.reduce('sum', c.where(inside, c.unsqueeze(weight, 1), c.full(0, [], c.dtype(weight))), [0]);
  return [a.bool('density') ? density(c, hits, edges) : hits, edges];
}

const PAIR = 'input: tensor, other: tensor';
const HISTOGRAM = 'weight: tensor? = null, density: bool = false';

export const statisticsEntries: readonly Entry[] = [
  composite(
    'cov',
    {
      signature: 'input: tensor, *, correction: int = 1, fweights: tensor? = null, aweights: tensor? = null',
      doc: 'Covariances of rows.',
    },
    (c, a) =>
      covariance(c, a.tensor('input'), {
        correction: a.int('correction'),
        frequency: a.optionalTensor('fweights'),
        importance: a.optionalTensor('aweights'),
      }),
  ),
  composite('corrcoef', { signature: 'input: tensor', doc: 'Correlations of rows.' }, correlation),
  composite(
    'cross',
    { signature: `${PAIR}, dim: int? = null`, doc: 'Cross products along the first axis of size 3, or along dim.' },
    (c, a) => cross(c, a, a.optionalInt('dim')),
  ),
  composite(
    'linalgCross',
    {
      signature: `${PAIR}, *, dim: int = -1`,
      doc: 'Cross products along a dim.',
      torch: 'linalg.cross',
      forms: ['function'],
    },
    (c, a) => cross(c, a, a.int('dim')),
  ),
  composite(
    'vander',
    {
      signature: 'x: tensor, *, N: int? = null',
      doc: 'Powers of the elements along a new last axis.',
      torch: 'linalg.vander',
      forms: ['function'],
    },
    vander,
  ),
  composite(
    'pdist',
    {
      signature: 'input: tensor, p: float = 2.0',
      doc: 'Distances of all pairs of rows.',
      torch: ['nn.functional.pdist', 'pdist'],
      accepts: floats,
    },
    pdist,
  ),
  composite(
    'histc',
    {
      signature: 'input: tensor, bins: int = 100, min: float = 0, max: float = 0',
      doc: 'Counts in bins of one width.',
      accepts: floats,
    },
    histc,
  ),
  composite(
    'histogram',
    {
      signature: `input: tensor, bins: int, *, range: floats = null, ${HISTOGRAM}`,
      doc: 'Counts in bins, and the ends of the bins.',
      results: 2,
      accepts: floats,
      overloads: ['histogramAt'],
    },
    histogram,
  ),
  composite(
    'histogramAt',
    {
      signature: `input: tensor, bins: tensor, *, ${HISTOGRAM}`,
      doc: 'histogram with given ends.',
      torch: [],
      forms: [],
      results: 2,
      accepts: floats,
    },
    histogramAt,
  ),
];
