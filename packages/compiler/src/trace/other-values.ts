// Other values for the numbers and sizes of a call, at which it is traced to see what follows from them. In: a value, the number of
// the trace, and the order of the value among those of its kind. Out: the value in that trace.

import { at } from '@tsinductor/base';

/**
 * How far another size is from a size: how often its place among the sizes is added, counted from 1 and from 0. No two of these are in one
 * proportion, so that of two sizes, in this call and in any two other traces, neither is a multiple of the other and a constant: what
 * follows from one of them would seem to follow from the other.
 */
type Distance = readonly [fromOne: number, fromZero: number];

/** In sizes: multiples, which divide as the size does. */
const multiples: readonly Distance[] = [
  [1, 1],
  [2, 3],
  [3, 6],
  [4, 10],
];

/** In ones. */
const around: readonly Distance[] = [
  [-1, 0],
  [1, 3],
  [-2, -1],
  [2, 7],
  [-3, -1],
  [3, 12],
];

/** How many other values are thought of. */
export const ways: number = multiples.length + around.length;

/** Multiples first; then sizes around it, the size itself in the place of those that are no sizes of a symbol. */
export function otherSize(size: number, round: number, order: number): number {
  if (round === 0) return size;
  const [fromOne, fromZero] = at([...multiples, ...around], round - 1);
  const distance = fromOne * (1 + order) + fromZero * order;
  if (round <= multiples.length) return size * (1 + distance);
  return size + distance < 2 ? size : size + distance;
}

/** Whole numbers stay whole, fractions stay fractions; upwards and downwards in turn. */
export function otherNumber(value: number, round: number, order: number): number {
  if (round === 0) return value;
  const distance = (round % 2 === 1 ? 1 : -1) * Math.ceil(round / 2);
  if (!Number.isFinite(value)) return 1.7 + distance * (0.31 + 0.07 * order);
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value + distance * (1 + order);
  return value * (1 + distance * (0.02374611 + 0.00718123 * order));
}
