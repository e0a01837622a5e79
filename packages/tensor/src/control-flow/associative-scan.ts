// associativeScan: what an associative function makes of the first row, of the first two, of the first three and so on. It is made of
// ordinary operators, so gradients, vmap and compiling are theirs.
import { at } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import { describe } from '../errors.ts';
import { checkOptions } from '../given-options.ts';
import { located } from '../location.ts';
import type { Tensor } from '../tensor.ts';
import { flowFunction, flowLength } from './errors.ts';
import { openNesting, requireForm } from './nesting.ts';

/** Options of `associativeScan`. */
export interface AssociativeScanOptions {
  /** The axis of every tensor along which rows are. Default: 0. */
  readonly axis?: number;
  /** From the last row to the first. Default: false. */
  readonly reverse?: boolean;
}

/**
 * The results of an associative function over all beginnings of `xs`: row k is `combine(… combine(x0, x1) …, xk)`. `combine` is given
 * many rows at once, along the same axis, and works row by row. As `jax.lax.associative_scan`.
 *
 * ```ts
 * // h[t] = a[t] h[t-1] + b[t], all t in a logarithm of steps
 * const [, h] = associativeScan(([a, b], [c, d]) => [a.mul(c), b.mul(c).add(d)], [a, b]);
 * ```
 *
 * The work is linear in the number of rows, and there are as many steps as their number has bits.
 *
 * Raises FLOW_FORM where `combine` gives another form than it is given, FLOW_LENGTH where tensors have different numbers of rows,
 * FLOW_VALUE for anything but tensors, FLOW_FUNCTION where `combine` is no function.
 */
export function associativeScan<X>(combine: (a: X, b: X) => X, xs: X, options: AssociativeScanOptions = {}): X {
  try {
    if (typeof combine !== 'function') throw flowFunction('associativeScan', 'what is given', combine);
    checkOptions('associativeScan', options, ['axis', 'reverse']);
    return scanned(combine, xs, options);
  } catch (error) {
    throw located(error);
  }
}

function scanned<X>(combine: (a: X, b: X) => X, xs: X, { axis = 0, reverse = false }: AssociativeScanOptions): X {
  const nesting = openNesting(xs, 'xs of associativeScan');
  if (!Number.isInteger(axis)) throw flowLength('associativeScan', `axis is ${describe(axis)}`);
  const counts = new Set(
    nesting.tensors.map(({ shape }, position) => {
      const count = shape[axis < 0 ? axis + shape.length : axis];
      if (count === undefined)
        throw flowLength('associativeScan', `tensor ${String(position)} has no axis ${String(axis)}`);
      return count;
    }),
  );
  if (counts.size !== 1) throw flowLength('associativeScan', `tensors have ${[...counts].join(', ')} rows`);
  const flat = (a: readonly Tensor[], b: readonly Tensor[]): readonly Tensor[] => {
    const made = openNesting(combine(nesting.around(a) as X, nesting.around(b) as X), 'a result of associativeScan');
    requireForm('combine', made, openNesting(nesting.around(a), 'a row'));
    return made.tensors;
  };
  const turned = (tensors: readonly Tensor[]): readonly Tensor[] =>
    reverse ? tensors.map((tensor) => dispatchOne('flip', [tensor, [axis]])) : tensors;
  return nesting.around(turned(prefixes(flat, turned(nesting.tensors), axis))) as X;
}

type Combine = (a: readonly Tensor[], b: readonly Tensor[]) => readonly Tensor[];

/**
 * Neighbours are combined in pairs, whose prefixes are those of the odd rows; an even row's is that of the row before it, combined with
 * the row (Blelloch, "Prefix sums and their applications", 1990).
 */
function prefixes(combine: Combine, xs: readonly Tensor[], axis: number): readonly Tensor[] {
  const [first] = xs;
  const count = first === undefined ? 0 : first.size(axis);
  if (count < 2) return xs;
  const rows = (tensors: readonly Tensor[], [start, end]: readonly [number, number], step = 1): readonly Tensor[] =>
    tensors.map((tensor) => dispatchOne('slice', [tensor, axis, start, end, step]));
  const even = count - (count % 2);
  const odd = prefixes(combine, combine(rows(xs, [0, even], 2), rows(xs, [1, even], 2)), axis);
  if (count === 2) return joinedPairs(rows(xs, [0, 1]), odd, axis);
  const pairs = Math.ceil(count / 2) - 1;
  const later = combine(rows(odd, [0, pairs]), rows(xs, [2, count], 2));
  const evens = rows(xs, [0, 1]).map((head, place) => dispatchOne('cat', [[head, at(later, place)]], { dim: axis }));
  return joinedPairs(evens, odd, axis);
}

/** Rows of the one list and of the other in turn; the first may have one more. */
function joinedPairs(evens: readonly Tensor[], odds: readonly Tensor[], axis: number): readonly Tensor[] {
  return evens.map((even, place) => {
    const odd = at(odds, place);
    const [dims, count] = [even.shape.length, odd.size(axis)];
    const dim = axis < 0 ? axis + dims : axis;
    const first = even.size(axis) === count ? even : dispatchOne('slice', [even, axis, 0, count, 1]);
    const paired = dispatchOne('flatten', [dispatchOne('stack', [[first, odd]], { dim: dim + 1 }), dim, dim + 1]);
    if (first === even) return paired;
    const last = dispatchOne('slice', [even, axis, count, count + 1, 1]);
    return dispatchOne('cat', [[paired, last]], { dim: axis });
  });
}
