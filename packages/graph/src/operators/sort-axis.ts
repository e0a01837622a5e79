// Sorting by counting: an element's place is the number of elements that go before it. It needs no primitive of its own.
import { isFloat } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import type { ValueRef } from '../graph.ts';
import { range } from '../shape.ts';

export interface Sorted {
  readonly values: ValueRef;
  readonly indices: ValueRef;
}

const smaller = (c: Composer, x: ValueRef, y: ValueRef): ValueRef => {
  const less = c.op('lt', x, y);
  if (!isFloat(c.dtype(x))) return less;
  return c.op('logicalOr', less, c.op('logicalAnd', c.op('isnan', y), c.op('logicalNot', c.op('isnan', x))));
};

const alike = (c: Composer, x: ValueRef, y: ValueRef): ValueRef => {
  const same = c.op('eq', x, y);
  return isFloat(c.dtype(x)) ? c.op('logicalOr', same, c.op('logicalAnd', c.op('isnan', x), c.op('isnan', y))) : same;
};

/** Whether the element `other` goes before `mine`, where ties are decided by `first`. */
function goesBefore(c: Composer, { other, mine, first, descending }: Pairing): ValueRef {
  const ahead = descending ? smaller(c, mine, other) : smaller(c, other, mine);
  return c.op('logicalOr', ahead, c.op('logicalAnd', alike(c, mine, other), first));
}

interface Pairing {
  readonly other: ValueRef;
  readonly mine: ValueRef;
  readonly first: ValueRef;
  readonly descending: boolean;
}

/** For each element of the last axis, how many of them go before it. */
function places(c: Composer, x: ValueRef, { descending, valid }: { descending: boolean; valid?: ValueRef }): ValueRef {
  const last = c.rank(x) - 1;
  const positions = c.iota(c.size(x, last));
  const [mine, other] = [c.unsqueeze(x, last + 1), c.unsqueeze(x, last)];
  const first = c.op('lt', positions, c.unsqueeze(positions, 1));
  const before = goesBefore(c, { other, mine, first, descending });
  if (valid === undefined) return c.reduce('sum', before, [last + 1]);
  const counted = c.op('logicalAnd', before, c.unsqueeze(valid, c.rank(valid) - 1));
  return c.where(valid, c.reduce('sum', counted, [last + 1]), positions);
}

/** Values and indices, put at their places along the last axis. */
function arranged(c: Composer, { values, indices }: Sorted, place: ValueRef): Sorted {
  const put = (source: ValueRef): ValueRef =>
    c.scatter(c.full(0, c.shape(place), c.dtype(source)), c.rank(place) - 1, { index: place, source, mode: 'set' });
  return { values: put(values), indices: put(indices) };
}

/** Up to this size, comparing all pairs is as good as anything. */
const DIRECT = 1024;

/** Sorts the last axis, stably; NaN is the largest. */
export function sortLast(c: Composer, x: ValueRef, descending: boolean): Sorted {
  const n = c.size(x, c.rank(x) - 1);
  const indices = c.expand(c.iota(n), c.shape(x));
  if (c.sizes.hint(n) > DIRECT) return sortBlocks(c, { values: x, indices }, descending);
  return arranged(c, { values: x, indices }, places(c, x, { descending }));
}

/**
 * Long axes: blocks are sorted by comparing pairs, then an element's place is its place in its block and, of every other
 * block, the number of elements that go before it, found by bisection. n sqrt(n log n) steps in all.
 */
function sortBlocks(c: Composer, { values, indices }: Sorted, descending: boolean): Sorted {
  const last = c.rank(values) - 1;
  const n = c.sizes.toNumber(c.size(values, last));
  const width = 2 ** Math.round(Math.log2(Math.sqrt(n * Math.log2(n))));
  const blocks = Math.ceil(n / width);
  const lead = c.shape(values).slice(0, last);
  const padded = (v: ValueRef): ValueRef =>
    c.pad(
      v,
      range(last + 1).map((axis) => [int(0), int(axis === last ? blocks * width - n : 0)] as const),
    );
  const split = (v: ValueRef): ValueRef => c.reshape(padded(v), [...lead, size(blocks), size(width)]);
  const valid = c.op('lt', c.reshape(c.iota(size(blocks * width)), [size(blocks), size(width)]), n);
  const x = split(values);
  const block = arranged(c, { values: x, indices: split(indices) }, places(c, x, { descending, valid }));
  const place = c.where(
    valid,
    placesInAll(c, block.values, { n, descending }),
    c.reshape(c.iota(size(blocks * width)), [size(blocks), size(width)]),
  );
  const flat = (v: ValueRef): ValueRef => c.reshape(v, [...lead, size(blocks * width)]);
  const all = arranged(c, { values: flat(block.values), indices: flat(block.indices) }, flat(place));
  const kept = (v: ValueRef): ValueRef => c.slice(v, last, { end: n });
  return { values: kept(all.values), indices: kept(all.indices) };
}

/** Places of the elements of sorted blocks [.., blocks, width] among all of them. */
function placesInAll(c: Composer, sorted: ValueRef, { n, descending }: { n: number; descending: boolean }): ValueRef {
  const rank = c.rank(sorted);
  const lead = c.shape(sorted).slice(0, -2);
  const [blocks, width] = [c.sizes.toNumber(c.size(sorted, -2)), c.sizes.toNumber(c.size(sorted, -1))];
  const flat = c.reshape(sorted, [...lead, size(blocks * width)]);
  const shape = [...lead, size(blocks), size(width), size(blocks)];
  const own = c.reshape(c.iota(size(blocks)), [size(blocks), int(1), int(1)]);
  const other = c.iota(size(blocks));
  // The last block has padding at its end, which goes before nothing.
  const filled = c.op('minimum', c.op('sub', n, c.op('mul', other, width)), width);
  const [mine, first] = [c.unsqueeze(sorted, rank), c.op('lt', other, own)];
  let found = c.full(0, shape, 'i64');
  for (let step = width; step >= 1; step /= 2) {
    const probe = c.op('add', found, step - 1);
    const isThere = c.op('lt', probe, filled);
    const index = c.op('add', c.op('minimum', probe, width - 1), c.op('mul', other, width));
    const probed = c.reshape(
      c.gather(flat, rank - 2, c.reshape(index, [...lead, size(blocks * width * blocks)])),
      shape,
    );
    const isBefore = goesBefore(c, { other: probed, mine, first, descending });
    found = c.op('add', found, c.op('mul', c.op('logicalAnd', isThere, isBefore), step));
  }
  const elsewhere = c.where(c.op('eq', other, own), c.full(0, [], 'i64'), found);
  return c.op('add', c.reduce('sum', elsewhere, [rank]), c.iota(size(width)));
}

/** Sorts an axis. */
export function sortAxis(c: Composer, x: ValueRef, { dim, descending }: { dim: number; descending: boolean }): Sorted {
  const axis = c.dim(x, dim);
  if (c.rank(x) === 0) return { values: c.call('clone', [x]), indices: c.full(0, [], 'i64') };
  const { values, indices } = sortLast(c, c.move(x, axis, c.rank(x) - 1), descending);
  const back = (v: ValueRef): ValueRef => c.move(v, c.rank(v) - 1, axis);
  return { values: back(values), indices: back(indices) };
}
