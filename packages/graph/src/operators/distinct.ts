// Runs of equal elements of a vector, in sorted order or as they stand: what `unique` and `uniqueConsecutive` compute before they read
// how many there are. In a size that is known: results are as long as the vector (counts too), and hold something only in the
// first places. NaN equals nothing.
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

export const distinctEntries: readonly Entry[] = [
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
