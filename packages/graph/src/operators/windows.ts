// Sliding windows over the last axes of a tensor, as views: what convolutions and pools read. An axis of n elements with
// `before` and `after` of padding becomes one axis of window positions, and its windows a new last axis.
import type { ArgumentReader } from '../argument-reader.ts';
import type { Composer } from '../composer.ts';
import { size } from '../composer.ts';
import { argumentValue, printShape, shapeMismatch } from '../errors.ts';
import type { ScalarRef, ValueRef } from '../graph.ts';
import { range } from '../shape.ts';

/** How windows lie along one axis. */
export interface Window {
  readonly kernel: number;
  readonly stride: number;
  readonly dilation: number;
  /** Padding. May be negative, which cuts. */
  readonly before: number;
  readonly after: number;
}

/** From the first to the last element of a window, both included. */
export const reach = ({ kernel, dilation }: Pick<Window, 'kernel' | 'dilation'>): number => (kernel - 1) * dilation + 1;

/** Windows over neighbouring axes, by default the last ones: one for each of them. The value stands in the padding. */
export function windows(
  c: Composer,
  x: ValueRef,
  { axes, value = 0, first = c.rank(x) - axes.length }: WindowsOver,
): ValueRef {
  const pairs = range(c.rank(x)).map((dim) => {
    const axis = axes[dim - first];
    return [size(axis?.before ?? 0), size(axis?.after ?? 0)] as const;
  });
  axes.forEach((axis, i) => {
    const extent = c.size(x, first + i);
    const padded = axis.before + axis.after;
    if (extent.kind === 'int' && extent.value + padded < reach(axis))
      throw shapeMismatch(
        `the kernel reaches over ${String(reach(axis))} elements, and there are ${String(extent.value + padded)}${padded > 0 ? ' with padding' : ''}`,
        'use a smaller kernel, or padding',
      );
  });
  const isPadded = axes.some(({ before, after }) => before !== 0 || after !== 0);
  return axes.reduce(
    (all, axis, i) => {
      const open = c.call('unfold', [all], { dim: first + i, size: reach(axis), step: axis.stride });
      return axis.dilation === 1 ? open : c.slice(open, c.rank(open) - 1, { step: axis.dilation });
    },
    isPadded ? c.pad(x, pairs, value) : x,
  );
}

interface WindowsOver {
  readonly axes: readonly Window[];
  readonly value?: number | ScalarRef;
  /** The dim of the first of them. */
  readonly first?: number;
}

/** Adds a batch axis to a tensor that has none, for `body`, and drops it from the results. */
export function batched(
  c: Composer,
  x: ValueRef,
  { rank, body }: { rank: number; body: (x: ValueRef) => readonly ValueRef[] },
): readonly ValueRef[] {
  if (c.rank(x) === rank) return body(x);
  if (c.rank(x) !== rank - 1)
    throw shapeMismatch(
      `input of ${printShape(c.shape(x))}`,
      `it must have ${String(rank - 1)} or ${String(rank)} dims`,
    );
  return body(c.unsqueeze(x, 0)).map((result) => c.squeeze(result, 0));
}

/** One number or a number for each axis. */
export function perAxis(a: ArgumentReader, name: string, count: number): readonly number[] {
  return a.intsOf(name, count);
}

export function requirePositive(a: ArgumentReader, names: readonly string[]): void {
  for (const name of names) {
    if (a.attr(name) !== null && a.ints(name).some((item) => item < 1))
      throw argumentValue(a.operator.name, `${name} is not positive`, 'use positive numbers');
  }
}
