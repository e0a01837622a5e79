// Sorted axes, by the primitives of sorting.
import { int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Composer } from '../composer.ts';
import type { ValueRef } from '../graph.ts';
import { sizeAttr } from '../shape.ts';

export interface Sorted {
  readonly values: ValueRef;
  readonly indices: ValueRef;
}

/** Which elements of an axis are put in which order. */
interface Sorting {
  readonly dim: number;
  readonly descending: boolean;
  /** How many of them, from the first on: all if absent. */
  readonly count?: Index;
}

const asSorted = ([values, indices]: readonly ValueRef[]): Sorted => ({ values, indices }) as Sorted;

/** Sorts an axis, stably; NaN is the largest. */
export function sortAxis(c: Composer, x: ValueRef, { dim, descending, count }: Sorting): Sorted {
  const axis = c.dim(x, dim);
  if (c.rank(x) === 0) return { values: c.call('clone', [x]), indices: c.full(0, [], 'i64') };
  const attrs = { dim: axis, count: sizeAttr(count ?? c.size(x, axis)), descending };
  return asSorted(c.callAll('sorted', [x], attrs));
}

/** The elements at places (i64, a row of them for each row) of an axis in ascending order. */
export function rankedAt(c: Composer, x: ValueRef, { dim, places }: { dim: number; places: ValueRef }): Sorted {
  return asSorted(c.callAll('ranked', [x, places], { dim: c.dim(x, dim) }));
}

/** The element at one place of every row along the last axis, which stays with size 1. */
export function kthOfLast(c: Composer, x: ValueRef, place: number | ValueRef): Sorted {
  const last = c.rank(x) - 1;
  const shape = c.shape(x).with(last, int(1));
  const places = typeof place === 'number' ? c.full(place, shape, 'i64') : c.expand(place, shape);
  return rankedAt(c, x, { dim: last, places });
}
