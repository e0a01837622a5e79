// Distinct elements of a vector, as `unique` and `uniqueConsecutive` compute them before they read how many there are: runs of equal
// ones, in sorted order or as they stand, or numbers that are counted. In a size that is known: results are as long as the vector or
// the table that is counted in (counts too), and hold something only in the first places. NaN equals nothing.
import { add, int, subtract } from '@tsinductor/ir';
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { composite } from '../define.ts';
import type { Entry } from '../define.ts';
import type { ValueRef } from '../graph.ts';
import { sortAxis } from './sort-axis.ts';

/** The elements in the order in which runs are found, and where they were; undefined: where they are. */
interface Ordered {
  readonly values: ValueRef;
  readonly indices: ValueRef | undefined;
}

const orderOf = (c: Composer, x: ValueRef, isSorted: boolean): Ordered =>
  isSorted ? sortAxis(c, x, { dim: 0, descending: false }) : { values: x, indices: undefined };

function distinctRuns(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const x = a.tensor('input');
  const n = c.size(x, 0);
  const { values, indices } = orderOf(c, x, a.bool('isSorted'));
  const differs = c.op('ne', c.slice(values, 0, { start: 1 }), c.slice(values, 0, { end: subtract(n, int(1)) }));
  const begins = c.cat([c.full(true, [int(1)], 'bool'), differs], 0);
  const run = c.op('sub', c.call('cumsum', [c.cast(begins, 'i64')], { dim: 0 }), 1);
  // What does not begin a run goes behind the end.
  const slots = c.where(begins, run, c.sizeValue(add(n, int(1)), 'i64'));
  const length = add(n, int(2));
  const put = (target: ValueRef, source: ValueRef): ValueRef =>
    c.scatter(target, 0, { index: slots, source, mode: 'set' });
  const first = c.slice(put(c.full(0, [length], c.dtype(x)), values), 0, { end: n });
  const results = [first, c.op('add', c.slice(run, 0, { start: subtract(n, int(1)) }), 1)];
  if (a.bool('inverse'))
    results.push(
      indices === undefined ? run : c.scatter(c.full(0, [n], 'i64'), 0, { index: indices, source: run, mode: 'set' }),
    );
  if (a.bool('counts')) {
    const starts = put(c.expand(c.sizeValue(n, 'i64'), [length]), c.iota(n));
    const [next, own] = [c.slice(starts, 0, { start: 1, end: add(n, int(1)) }), c.slice(starts, 0, { end: n })];
    results.push(c.op('sub', next, own));
  }
  return results;
}

/** Whole numbers from 0, counted in a table that has a slot for each of them, and one more. */
function distinctCounts(c: Composer, a: ArgumentReader): readonly ValueRef[] {
  const slots = a.tensor('slots');
  const size = c.size(a.tensor('table'), 0);
  const ones = c.full(1, c.shape(slots), 'i64');
  const found = c.scatter(c.full(0, [size], 'i64'), 0, { index: slots, source: ones, mode: 'add' });
  const occurs = c.op('ne', found, 0);
  const rank = c.op('sub', c.call('cumsum', [c.cast(occurs, 'i64')], { dim: 0 }), 1);
  const last = subtract(size, int(1));
  // What does not occur goes where no number is.
  const places = c.where(occurs, rank, c.sizeValue(last, 'i64'));
  const put = (source: ValueRef): ValueRef =>
    c.scatter(c.full(0, [size], 'i64'), 0, { index: places, source, mode: 'set' });
  const results = [put(c.iota(size)), c.op('add', c.slice(rank, 0, { start: last }), 1)];
  if (a.bool('inverse')) results.push(c.rows(rank, slots));
  if (a.bool('counts')) results.push(put(found));
  return results;
}

export const distinctEntries: readonly Entry[] = [
  composite(
    'distinctCounts',
    {
      signature: 'slots: tensor, table: tensor, inverse: bool, counts: bool',
      doc: 'Which numbers occur, and how many they are; which of them each is, and how often they occur, if asked for.',
      torch: [],
      forms: [],
      results: 'list',
    },
    distinctCounts,
  ),
  composite(
    'distinctRuns',
    {
      signature: 'input: tensor, isSorted: bool, inverse: bool, counts: bool',
      doc: 'The first element of each run, how many runs there are; where each element went, and how long runs are, if asked for.',
      torch: [],
      forms: [],
      results: 'list',
    },
    distinctRuns,
  ),
];
