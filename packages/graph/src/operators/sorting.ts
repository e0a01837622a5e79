// Sorting as PyTorch offers it, and what follows from it: the largest k, medians, modes, quantiles.
import { isFloat } from '@tsinductor/base';
import { floorDivide, int, subtract } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import { scalarNumber } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { float } from '../composer.ts';
import { composite, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, emptyReduction, printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { range } from '../shape.ts';
import { sameDType } from './contraction.ts';
import { kthOfLast, rankedAt, sortAxis } from './sort-axis.ts';
import type { Sorted } from './sort-axis.ts';

const sorted = (c: Composer, a: ArgumentReader): Sorted =>
  sortAxis(c, a.tensor('input'), { dim: a.int('dim'), descending: a.bool('descending') });

function topk(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const [x, k, dim] = [a.tensor('input'), a.int('k'), a.int('dim')];
  const axis = c.dim(x, dim);
  const extent = c.rank(x) === 0 ? int(1) : c.size(x, axis);
  if (k < 0 || !c.sizes.atMost(int(k), extent))
    throw argumentValue(
      'topk',
      `k is ${String(k)} for ${String(c.sizes.hint(extent))} elements`,
      'use at most the size of the dim',
    );
  if (c.rank(x) === 0 && k === 0) return [c.full(0, [int(0)], c.dtype(x)), c.full(0, [int(0)], 'i64')];
  const { values, indices } = sortAxis(c, x, { dim, descending: a.bool('largest'), count: int(k) });
  return [values, indices];
}

/** x with the dim last, at least one axis; a 0-d tensor has one element there. */
function lastAxis(c: Composer, x: ValueRef, dim: number): ValueRef {
  const axis = c.dim(x, dim);
  return c.rank(x) === 0 ? c.reshape(x, [int(1)]) : c.move(x, axis, c.rank(x) - 1);
}

/** Results of one element along the last axis, back in place: with the dim where `keepdim` asks for it. */
function picked(
  c: Composer,
  v: ValueRef,
  { x, dim, keepdim }: { x: ValueRef; dim: number; keepdim: boolean },
): ValueRef {
  if (c.rank(x) === 0) return c.reshape(v, []);
  return keepdim ? c.move(v, c.rank(v) - 1, c.dim(x, dim)) : c.squeeze(v, c.rank(v) - 1);
}

function kthvalue(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const [x, k, dim] = [a.tensor('input'), a.int('k'), a.int('dim')];
  const row = lastAxis(c, x, dim);
  const extent = c.size(row, -1);
  if (k < 1 || !c.sizes.atMost(int(k), extent))
    throw argumentValue(
      'kthvalue',
      `k is ${String(k)} for ${String(c.sizes.hint(extent))} elements`,
      'use 1 to the size of the dim',
    );
  const { values, indices } = kthOfLast(c, row, k - 1);
  return [values, indices].map((v) => picked(c, v, { x, dim, keepdim: a.bool('keepdim') }));
}

/** How many elements of rows along the last axis are numbers; it stays with size 1. */
function numbersOf(c: Composer, row: ValueRef): ValueRef {
  return c.reduce('sum', c.op('logicalNot', c.op('isnan', row)), { dims: [c.rank(row) - 1], keepdim: true });
}

/** The lower median of rows; NaN counts as the largest, and wins unless it is ignored. */
function medianOf(c: Composer, row: ValueRef, ignoreNaN: boolean): Sorted {
  const extent = c.size(row, c.rank(row) - 1);
  if (c.sizes.isZero(extent)) throw emptyReduction('median');
  const place = c.sizeValue(floorDivide(subtract(extent, int(1)), int(2)), 'i64');
  if (!isFloat(c.dtype(row))) return kthOfLast(c, row, place);
  const numbers = numbersOf(c, row);
  if (ignoreNaN) return kthOfLast(c, row, c.op('maximum', c.op('divFloor', c.op('sub', numbers, 1), 2), 0));
  // The first NaN stands right after the numbers.
  return kthOfLast(c, row, c.where(c.op('lt', numbers, c.sizeOperand(extent)), numbers, place));
}

function median(name: 'median' | 'nanmedian'): readonly Entry[] {
  const ignoreNaN = name === 'nanmedian';
  const doc = `The lower median${ignoreNaN ? ' of what is not NaN' : ''}; with dim, along it and with its indices.`;
  return [
    composite(name, { signature: 'input: tensor', doc, overloads: [`${name}Dim`] }, (c, a) => {
      const x = c.flatten(a.tensor('input'));
      const isEmpty = c.sizes.isZero(c.count(x));
      return isEmpty && isFloat(c.dtype(x))
        ? c.full(float(NaN), [], c.dtype(x))
        : c.reshape(medianOf(c, x, ignoreNaN).values, []);
    }),
    composite(
      `${name}Dim`,
      { signature: 'input: tensor, dim: int = -1, keepdim: bool = false', doc, torch: [], forms: [], results: 2 },
      (c, a) => {
        const [x, dim] = [a.tensor('input'), a.int('dim')];
        const { values, indices } = medianOf(c, lastAxis(c, x, dim), ignoreNaN);
        return [values, indices].map((v) => picked(c, v, { x, dim, keepdim: a.bool('keepdim') }));
      },
    ),
  ];
}

/** The most frequent element, the smallest of several; its last index. */
function mode(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const [x, dim] = [a.tensor('input'), a.int('dim')];
  const row = lastAxis(c, x, dim);
  const last = c.rank(row) - 1;
  if (c.sizes.isZero(c.size(row, last))) throw emptyReduction('mode');
  const order = sortAxis(c, row, { dim: last, descending: false });
  // Elements of a run, counted along it: the longest run of the smallest value is the first to reach its length.
  const n = c.size(row, last);
  const [later, earlier] = [
    c.slice(order.values, last, { start: 1 }),
    c.slice(order.values, last, { end: subtract(n, int(1)) }),
  ];
  const isNew = c.pad(
    c.op('ne', later, earlier),
    range(last + 1).map((axis) => [int(axis === last ? 1 : 0), int(0)] as const),
  );
  const positions = c.iota(n);
  const starts = c.call('cumamax', [c.where(isNew, positions, c.full(0, [], 'i64'))], { dim: last });
  const place = c.reduce('argmax', c.op('sub', positions, starts), { dims: [last], keepdim: true });
  const [values, indices] = [order.values, order.indices].map((v) => c.gather(v, last, place)) as [ValueRef, ValueRef];
  return [values, indices].map((v) => picked(c, v, { x, dim, keepdim: a.bool('keepdim') }));
}

const INTERPOLATIONS = ['linear', 'lower', 'higher', 'midpoint', 'nearest'];

/** Values between neighbours in the order of rows, at `place` (a float place for each row and quantile). */
function between(c: Composer, row: ValueRef, { place, how }: { place: ValueRef; how: string }): ValueRef {
  const last = c.rank(row) - 1;
  const take = (...places: readonly ValueRef[]): ValueRef =>
    rankedAt(c, row, { dim: last, places: c.cast(c.cat(places, last), 'i64') }).values;
  const [low, high] = [c.op('floor', place), c.op('ceil', place)];
  if (how === 'lower') return take(low);
  if (how === 'higher') return take(high);
  if (how === 'nearest') return take(c.op('round', place));
  const weight = how === 'midpoint' ? c.full(float(0.5), [], c.dtype(row)) : c.op('sub', place, low);
  const both = take(low, high);
  const levels = c.size(place, last);
  return c.op('lerp', c.slice(both, last, { end: levels }), c.slice(both, last, { start: levels }), weight);
}

/** A vector of levels, which lie in [0, 1]; tensors of them are in the dtype of what they are levels of. */
function levelsOf(c: Composer, operator: string, { x, q }: { x: ValueRef; q: ValueRef | ScalarRef }): ValueRef {
  if (q.kind === 'scalar') {
    if (!(scalarNumber(q) >= 0 && scalarNumber(q) <= 1))
      throw argumentValue(operator, `q is ${String(scalarNumber(q))}`, 'it lies in [0, 1]');
    return c.full(q, [int(1)], c.dtype(x));
  }
  sameDType(c, operator, [x, q]);
  if (c.rank(q) > 1) throw shapeMismatch(`${operator}: q is ${printShape(c.shape(q))}`, 'give a number or a vector');
  const isLevel = c.op('logicalAnd', c.op('ge', q, 0), c.op('le', q, 1));
  return c.flatten(c.require(q, isLevel, { what: 'an element of q is not between 0 and 1', remedy: 'give levels' }));
}

function quantile(c: Composer, a: ArgumentReader, ignoreNaN: boolean): ValueRef {
  const [x, q, given, how] = [a.tensor('input'), a.operand('q'), a.optionalInt('dim'), a.string('interpolation')];
  if (!INTERPOLATIONS.includes(how))
    throw argumentValue(a.operator.name, `interpolation ${how}`, `use ${INTERPOLATIONS.join(', ')}`);
  const levels = levelsOf(c, a.operator.name, { x, q });
  if (given !== undefined) c.dim(x, given);
  const dim = given ?? 0;
  const row = given === undefined ? c.flatten(x) : lastAxis(c, x, dim);
  const last = c.rank(row) - 1;
  const n = c.size(row, last);
  if (c.sizes.isZero(n)) throw emptyReduction(a.operator.name);
  const numbers = c.cast(numbersOf(c, row), c.dtype(x));
  const all = c.sizeValue(n, c.dtype(x));
  const count = ignoreNaN ? numbers : all;
  const place = c.op('maximum', c.op('mul', levels, c.op('sub', count, float(1))), float(0));
  const places = c.expand(place, [...c.shape(row).slice(0, -1), c.size(levels, 0)]);
  const found = between(c, row, { place: places, how });
  const isSpoiled = ignoreNaN ? c.op('eq', numbers, float(0)) : c.op('lt', numbers, all);
  const result = c.move(c.where(isSpoiled, c.full(float(NaN), [], c.dtype(x)), found), last, 0);
  return shapedQuantile(c, a, { result, isSingle: q.kind === 'scalar' || c.rank(q) === 0 });
}

/** [quantiles, rows] as asked for: the reduced dims kept or not, the first axis dropped for one quantile. */
function shapedQuantile(
  c: Composer,
  a: ArgumentReader,
  { result, isSingle }: { result: ValueRef; isSingle: boolean },
): ValueRef {
  const [x, given, keepdim] = [a.tensor('input'), a.optionalInt('dim'), a.bool('keepdim')];
  const rest =
    given === undefined
      ? keepdim
        ? range(c.rank(x)).map(() => int(1))
        : []
      : c.rank(x) === 0
        ? []
        : keptShape(c, x, { dim: c.dim(x, given), keepdim });
  return c.reshape(result, [...(isSingle ? [] : [c.size(result, 0)]), ...rest]);
}

const keptShape = (
  c: Composer,
  x: ValueRef,
  { dim, keepdim }: { dim: number; keepdim: boolean },
): ReturnType<Composer['shape']> =>
  keepdim ? c.shape(x).with(dim, int(1)) : c.shape(x).filter((_, axis) => axis !== dim);

const SORT = 'input: tensor, dim: int = -1, descending: bool = false';
const QUANTILE = `input: tensor, q: operand, dim: int? = null, keepdim: bool = false, *, interpolation: ${oneOf(INTERPOLATIONS)} = 'linear'`;

export const sortingEntries: readonly Entry[] = [
  composite(
    'sort',
    { signature: `${SORT}, stable: bool? = null`, doc: 'Sorted along a dim, stably, with the indices.', results: 2 },
    (c, a) => {
      const { values, indices } = sorted(c, a);
      return [values, indices];
    },
  ),
  composite(
    'argsort',
    { signature: `${SORT}, *, stable: bool? = null`, doc: 'The indices that sort along a dim.' },
    (c, a) => sorted(c, a).indices,
  ),
  composite(
    'msort',
    { signature: 'input: tensor', doc: 'Sorted along the first dim.' },
    (c, a) => sortAxis(c, a.tensor('input'), { dim: 0, descending: false }).values,
  ),
  composite(
    'topk',
    {
      signature: 'input: tensor, k: int, dim: int = -1, largest: bool = true, sorted: bool = true',
      doc: 'The k largest or smallest, with their indices.',
      results: 2,
    },
    topk,
  ),
  composite(
    'kthvalue',
    {
      signature: 'input: tensor, k: int, dim: int = -1, keepdim: bool = false',
      doc: 'The k-th smallest, with its index.',
      results: 2,
    },
    kthvalue,
  ),
  ...median('median'),
  ...median('nanmedian'),
  composite(
    'mode',
    {
      signature: 'input: tensor, dim: int = -1, keepdim: bool = false',
      doc: 'The most frequent element, with its index.',
      results: 2,
    },
    mode,
  ),
  composite('quantile', { signature: QUANTILE, doc: 'Quantiles, between neighbours.' }, (c, a) =>
    quantile(c, a, false),
  ),
  composite('nanquantile', { signature: QUANTILE, doc: 'Quantiles of what is not NaN.' }, (c, a) =>
    quantile(c, a, true),
  ),
];
