// Reductions of runs of rows: bags of embeddings, and segments. Which run a row belongs to is computed from offsets or
// lengths; every run compares itself with every row.
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { float, size } from '../composer.ts';
import type { Composer } from '../composer.ts';
import type { ArgumentReader } from '../argument-reader.ts';
import { composite, floats, oneOf } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import { one, product, range } from '../shape.ts';
import { asIndex, renormUsedRows, paddingRow } from './indexing.ts';

type Mode = 'sum' | 'mean' | 'max' | 'min' | 'prod';

const REDUCTIONS: Readonly<Record<Mode, { readonly target: string; readonly blank: number }>> = {
  sum: { target: 'sum', blank: 0 },
  mean: { target: 'sum', blank: 0 },
  max: { target: 'amax', blank: -Infinity },
  min: { target: 'amin', blank: Infinity },
  prod: { target: 'prod', blank: 1 },
};

interface Runs {
  /** [.., runs, rows]: whether the row belongs to the run. */
  readonly member: ValueRef;
  readonly mode: Mode;
  /** Joins each run. */
  readonly initial?: number | undefined;
}

/** Rows [.., rows, width] reduced within runs: [.., runs, width]. */
function reduceRuns(c: Composer, rows: ValueRef, { member, mode, initial }: Runs): ValueRef {
  const { target, blank } = REDUCTIONS[mode];
  const last = c.rank(member);
  const held = c.where(c.unsqueeze(member, last), c.unsqueeze(rows, last - 2), c.full(float(blank), [], c.dtype(rows)));
  const reduced = c.reduce(target, held, [last - 1]);
  const sizes = c.cast(c.reduce('sum', member, { dims: [last - 1], keepdim: true }), c.dtype(rows));
  const empty = c.op('eq', sizes, 0);
  if (initial !== undefined) return withInitial(c, { reduced, sizes, empty }, { mode, initial });
  if (mode === 'mean') return c.where(empty, reduced, c.op('div', reduced, sizes));
  return mode === 'max' || mode === 'min' ? c.where(empty, float(0), reduced) : reduced;
}

/** PyTorch's `initial` takes part in every run; a mean divides by the elements all the same. */
function withInitial(
  c: Composer,
  runs: { reduced: ValueRef; sizes: ValueRef; empty: ValueRef },
  { mode, initial }: { mode: Mode; initial: number },
): ValueRef {
  const start = float(initial);
  switch (mode) {
    case 'sum':
      return c.op('add', runs.reduced, start);
    case 'prod':
      return c.op('mul', runs.reduced, start);
    case 'max':
      return c.op('maximum', runs.reduced, start);
    case 'min':
      return c.op('minimum', runs.reduced, start);
    case 'mean':
      return c.where(runs.empty, start, c.op('div', c.op('add', runs.reduced, start), runs.sizes));
  }
}

/** [.., runs, rows]: rows from each offset up to the next one. */
function between(c: Composer, { start, end, rows }: { start: ValueRef; end: ValueRef; rows: ValueRef }): ValueRef {
  const column = (v: ValueRef): ValueRef => c.unsqueeze(v, c.rank(v));
  return c.op('logicalAnd', c.op('ge', rows, column(start)), c.op('lt', rows, column(end)));
}

/** Whether offsets along the last axis never go back, from 0 to the number of rows. */
function ascend(c: Composer, offsets: ValueRef, rows: Index): ValueRef {
  const last = c.rank(offsets) - 1;
  const shift = range(last + 1).map((axis) =>
    axis === last ? ([int(1), int(-1)] as const) : ([int(0), int(0)] as const),
  );
  const before = c.pad(offsets, shift, 0);
  return c.op('logicalAnd', c.op('ge', offsets, before), c.op('le', offsets, c.sizeOperand(rows)));
}

/** Offsets begin at 0 and ascend, and none is beyond the rows. */
function requireStarts(c: Composer, offsets: ValueRef, rows: number): ValueRef {
  const isFirst = c.op('eq', c.iota(c.size(offsets, 0)), 0);
  const begins = c.op('logicalOr', c.op('logicalNot', isFirst), c.op('eq', offsets, 0));
  return c.require(offsets, c.op('logicalAnd', begins, ascend(c, offsets, size(rows))), {
    what: 'the first offset is not 0, one is less than the one before it, or one is beyond the indices',
    remedy: 'give the place at which each bag begins',
  });
}

function bagMembers(c: Composer, a: ArgumentReader, index: ValueRef): ValueRef {
  const count = c.sizes.toNumber(c.count(index));
  const rows = c.iota(size(count));
  if (c.rank(index) === 2) {
    const width = c.sizes.toNumber(c.size(index, 1));
    return c.op('eq', c.op('divFloor', rows, Math.max(width, 1)), c.unsqueeze(c.iota(c.size(index, 0)), 1));
  }
  const offsets = a.optionalTensor('offsets');
  if (offsets === undefined || c.rank(index) !== 1)
    throw argumentValue('embeddingBag', 'no offsets', 'give offsets with a vector of indices, or a matrix of indices');
  const bounds = requireStarts(c, asIndex(c, 'embeddingBag', offsets), count);
  const end = c.full(count, [one], 'i64');
  const bags = c.sizes.toNumber(c.count(bounds));
  if (a.bool('includeLastOffset'))
    return between(c, { start: c.slice(bounds, 0, { end: bags - 1 }), end: c.slice(bounds, 0, { start: 1 }), rows });
  return between(c, { start: bounds, end: c.cat([c.slice(bounds, 0, { start: 1 }), end], 0), rows });
}

function embeddingBag(c: Composer, a: ArgumentReader): ValueRef {
  const [index, weight, limit, mode] = [
    a.tensor('input'),
    a.tensor('weight'),
    a.optionalFloat('maxNorm'),
    a.string('mode'),
  ];
  if (mode !== 'sum' && mode !== 'mean' && mode !== 'max')
    throw argumentValue('embeddingBag', `mode ${mode}`, 'use sum, mean or max');
  const scale = a.optionalTensor('perSampleWeights');
  if (scale !== undefined && mode !== 'sum')
    throw argumentValue('embeddingBag', 'perSampleWeights', "only mode 'sum' has weights");
  if (c.rank(weight) !== 2)
    throw shapeMismatch('embeddingBag: the weight is not a matrix', 'give [numEmbeddings, embeddingDim]');
  const table =
    limit === undefined ? weight : c.call('renorm', [weight], { p: a.float('normType'), dim: 0, maxnorm: limit });
  const flat = c.flatten(asIndex(c, 'embeddingBag', index));
  const rows = c.widen(c.rows(table, flat));
  const scaled = scale === undefined ? rows : c.op('mul', rows, c.unsqueeze(c.widen(c.flatten(scale)), 1));
  const padding = paddingRow(c, a, weight);
  const members = bagMembers(c, a, index);
  const member = padding === undefined ? members : c.op('logicalAnd', members, c.op('ne', flat, padding));
  return c.cast(reduceRuns(c, scaled, { member, mode }), c.dtype(weight));
}

/** Segments lie within the rows; lengths of them are those of all rows. */
function requireSegments(
  c: Composer,
  values: ValueRef,
  { rows, isLengths }: { readonly rows: Index; readonly isLengths: boolean },
): ValueRef {
  if (!isLengths)
    return c.require(values, ascend(c, values, rows), {
      what: 'an offset is negative, less than the one before it, or beyond the rows',
      remedy: 'give the place at which each segment begins, and the end of the last one',
    });
  const whole = c.reduce('sum', values, { dims: [c.rank(values) - 1], keepdim: true });
  const fits = c.op('eq', whole, c.sizeOperand(rows));
  return c.require(values, c.op('logicalAnd', c.op('ge', values, 0), fits), {
    what: 'a length is negative, or they do not add up to the rows',
    remedy:
      'give a length for each segment, or unsafe: true where rows behind the last segment are meant to be left out',
  });
}

/** Lengths or offsets of segments, along the last axis of what says so. */
function segmentMembers(c: Composer, a: ArgumentReader, count: Index): ValueRef {
  const [lengths, offsets] = [a.optionalTensor('lengths'), a.optionalTensor('offsets')];
  const given = lengths ?? offsets;
  if (given === undefined) throw argumentValue('segmentReduce', 'neither lengths nor offsets', 'give one of them');
  if (c.rank(given) !== a.int('axis') + 1)
    throw shapeMismatch('segmentReduce: lengths or offsets must have axis + 1 dims');
  const index = asIndex(c, 'segmentReduce', given);
  const isLengths = lengths !== undefined;
  const values = a.bool('unsafe') ? index : requireSegments(c, index, { rows: count, isLengths });
  const rows = c.iota(count);
  const last = c.rank(values) - 1;
  if (!isLengths) {
    const bounds = c.sizes.toNumber(c.size(values, last));
    return between(c, {
      start: c.slice(values, last, { end: bounds - 1 }),
      end: c.slice(values, last, { start: 1 }),
      rows,
    });
  }
  const end = c.call('cumsum', [values], { dim: last });
  return between(c, { start: c.op('sub', end, values), end, rows });
}

const MODES: Readonly<Record<string, Mode>> = { sum: 'sum', mean: 'mean', max: 'max', min: 'min', prod: 'prod' };

function segmentReduce(c: Composer, a: ArgumentReader): ValueRef {
  const [x, mode, axis] = [a.tensor('data'), MODES[a.string('reduce')], a.int('axis')];
  if (mode === undefined)
    throw argumentValue('segmentReduce', `reduce ${a.string('reduce')}`, 'use sum, mean, max, min or prod');
  if (c.rank(x) === 0) throw shapeMismatch('segmentReduce of a 0-d tensor', 'it has no dims');
  const dim = c.dim(x, axis);
  const member = segmentMembers(c, a, c.size(x, dim));
  const [lead, rest] = [c.shape(x).slice(0, dim + 1), c.shape(x).slice(dim + 1)];
  const rows = c.reshape(c.widen(x), [...lead, product(rest)]);
  const reduced = reduceRuns(c, rows, { member, mode, initial: a.optionalFloat('initial') });
  return c.cast(c.reshape(reduced, [...c.shape(reduced).slice(0, -1), ...rest]), c.dtype(x));
}

export const bagEntries: readonly Entry[] = [
  composite(
    'embeddingBag',
    {
      signature:
        "input: tensor, weight: tensor, offsets: tensor? = null, maxNorm: float? = null, normType: float = 2, scaleGradByFreq: bool = false, mode: 'sum' | 'mean' | 'max' = 'mean', sparse: bool = false, perSampleWeights: tensor? = null, includeLastOffset: bool = false, paddingIdx: int? = null",
      doc: 'Sums, means or maxima of bags of rows of a table; those that are looked up are scaled down to maxNorm, in the table too.',
      torch: 'nn.functional.embedding_bag',
      forms: ['function'],
      writes: renormUsedRows,
    },
    embeddingBag,
  ),
  composite(
    'segmentReduce',
    {
      signature: `data: tensor, reduce: ${oneOf(Object.keys(MODES))}, *, lengths: tensor? = null, indices: tensor? = null, offsets: tensor? = null, axis: int = 0, unsafe: bool = false, initial: float? = null`,
      doc: 'Reduces runs of rows.',
      forms: ['function'],
      accepts: floats,
    },
    segmentReduce,
  ),
];
