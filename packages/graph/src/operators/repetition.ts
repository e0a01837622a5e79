// Repetition: repeat and tile along whole axes, repeatInterleave element by element. Counts that are numbers make a view
// that is copied; counts that a tensor holds are read, and then one selection.
import { at } from '@tsinductor/base';
import { multiply, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import { argumentValue, dataDependent, printShape, shapeMismatch } from '../errors.ts';
import type { ValueRef } from '../graph.ts';
import type { Performer } from '../performer.ts';
import { one } from '../shape.ts';
import type { Shape } from '../shape.ts';

/** Copies along every axis, `repeats` for each of the axes (leading ones may be new). */
function repeat(c: Composer, input: ValueRef, repeats: Shape): ValueRef {
  if (repeats.length < c.rank(input))
    throw shapeMismatch(
      `repeat of ${printShape(c.shape(input))} by ${printShape(repeats)}`,
      'give a count for every dim',
    );
  const x = c.lead(input, repeats.length);
  if (repeats.every((count) => c.sizes.isOne(count))) return c.call('clone', [x]);
  const spread = c.reshape(
    x,
    c.shape(x).flatMap((extent) => [one, extent]),
  );
  const copies = c.expand(
    spread,
    c.shape(x).flatMap((extent, axis) => [at(repeats, axis), extent]),
  );
  return c.reshape(
    copies,
    c.shape(x).map((extent, axis) => multiply(at(repeats, axis), extent)),
  );
}

function tile(c: Composer, x: ValueRef, counts: Shape): ValueRef {
  const missing = c.rank(x) - counts.length;
  return repeat(c, x, missing > 0 ? [...new Array<Index>(missing).fill(one), ...counts] : counts);
}

/** What is repeated along which axis: without a dim, all elements in one row. */
function spreadAxis(c: Composer, a: ArgumentReader): { readonly x: ValueRef; readonly axis: number } {
  const [input, dim] = [a.tensor('input'), a.optionalInt('dim')];
  const x = dim === undefined || c.rank(input) === 0 ? c.flatten(input) : input;
  return { x, axis: dim === undefined ? 0 : c.dim(x, dim) };
}

function repeatInterleave(c: Composer, a: ArgumentReader): ValueRef {
  const { x, axis } = spreadAxis(c, a);
  const repeats = a.operand('repeats');
  if (repeats.kind === 'value')
    throw dataDependent('repeatInterleave', 'the size of the result', 'give repeats as one integer');
  const count = Number(repeats.value);
  if (!Number.isInteger(count) || count < 0)
    throw argumentValue('repeatInterleave', `repeats is ${String(count)}`, 'it is a count');
  const shape = c.shape(x);
  const spread = c.expand(c.unsqueeze(x, axis + 1), [
    ...shape.slice(0, axis + 1),
    size(count),
    ...shape.slice(axis + 1),
  ]);
  return c.reshape(spread, shape.with(axis, multiply(at(shape, axis), size(count))));
}

/** Counts that a tensor holds: each index as often as its count says, then one selection. */
function repeatByCounts(c: Composer, a: ArgumentReader, performer: Performer): ValueRef | undefined {
  const repeats = a.operand('repeats');
  if (repeats.kind !== 'value') return undefined;
  if (c.rank(repeats) > 1)
    throw argumentValue('repeatInterleave', 'repeats has several dims', 'give a vector of counts');
  const { x, axis } = spreadAxis(c, a);
  const extent = c.size(x, axis);
  if (!c.sizes.isOne(c.count(repeats)) && !c.sizes.same(c.count(repeats), extent)) {
    const counts = `counts ${printShape(c.shape(repeats))} for ${printIndex(extent)} elements`;
    throw argumentValue('repeatInterleave', counts, 'give one for each');
  }
  const counts = c.expand(c.flatten(c.cast(repeats, 'i64')), [extent]);
  return c.call('indexSelect', [x, repeatedIndex(c, counts, performer)], { dim: axis });
}

/** 0 .. size - 1, each as often as its count says. */
function repeatedIndex(c: Composer, counts: ValueRef, performer: Performer): ValueRef {
  if (c.sizes.isZero(c.count(counts))) return performer.zeros(0, 'i64');
  const running = c.call('cumsum', [counts], { dim: 0 });
  const extremes = [c.reduce('sum', counts), c.reduce('amin', counts)];
  const [total = 0, least = 0] = performer.numbers(extremes, 'repeatInterleave by a tensor');
  if (least < 0) throw argumentValue('repeatInterleave', 'a count is negative', 'counts are 0 or more');
  if (total === 0) return performer.zeros(0, 'i64');
  // Where an index begins, all are counted that begin there or before; those at the end occur no more.
  const starts = c.op('sub', running, counts);
  const begins = c.cast(c.op('lt', starts, total), 'i64');
  const index = c.op('minimum', starts, total - 1);
  const marks = c.scatter(performer.zeros(total, 'i64'), 0, { index, source: begins, mode: 'add' });
  return c.op('sub', c.call('cumsum', [marks], { dim: 0 }), 1);
}

const X = 'input: tensor';

export const repetitionEntries: readonly Entry[] = [
  composite(
    'repeat',
    { signature: `${X}, ...repeats: sizes`, doc: 'Copies along each dim.', torch: 'Tensor.repeat', forms: ['method'] },
    (c, a) => repeat(c, a.tensor('input'), a.sizes('repeats')),
  ),
  composite('tile', { signature: `${X}, ...dims: sizes`, doc: 'Copies along the last dims.' }, (c, a) =>
    tile(c, a.tensor('input'), a.sizes('dims')),
  ),
  composite(
    'repeatInterleave',
    {
      signature: `${X}, repeats: operand, dim: int? = null, *, outputSize: int? = null`,
      doc: 'Repeats each element in place, by one count or by those of a tensor.',
      reads: repeatByCounts,
    },
    repeatInterleave,
  ),
];
