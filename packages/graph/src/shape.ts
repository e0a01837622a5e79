// Arithmetic on shapes and dims: what every operator's shape rule is made of. Sizes are Indexes and may be symbolic; a
// question that the expressions do not answer goes to the SizeEnvironment, which records what it assumed.
import { add, floorDivide, int, maximum, multiply, printIndex, subtract } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { at } from '@tsinductor/base';
import {
  argumentValue,
  cannotBroadcast,
  dimOutOfRange,
  duplicateDim,
  printShape,
  shapeMismatch,
  viewImpossible,
} from './errors.ts';
import type { Attr, Meta, ViewLayout } from './graph.ts';
import type { DType } from '@tsinductor/base';
import type { SizeEnvironment } from './size-environment.ts';

export type Shape = readonly Index[];

export const zero: Index = int(0);
export const one: Index = int(1);

export const product = (items: Shape): Index => items.reduce((total, item) => multiply(total, item), one);
export const total = (items: Shape): Index => items.reduce((sum, item) => add(sum, item), zero);

/** Row-major strides; an axis of size 0 counts as 1, as in PyTorch. */
export function contiguousStrides(shape: Shape): Shape {
  const strides: Index[] = [];
  let stride = one;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides.unshift(stride);
    const size = at(shape, axis);
    stride = multiply(stride, size.kind === 'int' ? int(Math.max(size.value, 1)) : size);
  }
  return strides;
}

export const contiguousMeta = (shape: Shape, dtype: DType): Meta => ({
  shape,
  strides: contiguousStrides(shape),
  dtype,
});

/** A dim counted from 0. A 0-d tensor has the dims -1 and 0, as in PyTorch. */
export function normalizeDim(dim: number, rank: number): number {
  const bound = Math.max(rank, 1);
  if (!Number.isInteger(dim) || dim < -bound || dim >= bound) throw dimOutOfRange(dim, rank);
  return dim < 0 ? dim + bound : dim;
}

/** Distinct dims counted from 0, in the order given. */
export function normalizeDims(dims: readonly number[], rank: number): readonly number[] {
  const normalized = dims.map((dim) => normalizeDim(dim, rank));
  normalized.forEach((dim, index) => {
    if (normalized.indexOf(dim) !== index) throw duplicateDim(dim);
  });
  return rank === 0 ? [] : normalized;
}

export const ascending = (dims: readonly number[]): readonly number[] => [...dims].sort((a, b) => a - b);
export const range = (end: number, start = 0): number[] =>
  Array.from({ length: Math.max(end - start, 0) }, (_, i) => start + i);

/** The shape two shapes have together, aligned at the right. */
function broadcastTwo(sizes: SizeEnvironment, a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return range(rank).map((axis) => {
    const left = a[axis - rank + a.length] ?? one;
    const right = b[axis - rank + b.length] ?? one;
    const size = sizes.broadcast(left, right);
    if (size === undefined) {
      throw cannotBroadcast(a, b, `axis ${String(axis)} is ${printIndex(left)} and ${printIndex(right)}`);
    }
    return size;
  });
}

export const broadcastShapes = (sizes: SizeEnvironment, shapes: readonly Shape[]): Shape =>
  shapes.reduce((all, shape) => broadcastTwo(sizes, all, shape), []);

export const sameShape = (sizes: SizeEnvironment, a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((size, axis) => sizes.same(size, at(b, axis)));

/** The target of `expand`: -1 keeps a size; throws unless every other axis is equal or 1. */
export function expandedShape(sizes: SizeEnvironment, shape: Shape, target: Shape): Shape {
  const lead = target.length - shape.length;
  if (lead < 0) {
    throw shapeMismatch(
      `cannot expand ${printShape(shape)} to the smaller rank of ${printShape(target)}`,
      'name at least as many sizes as the tensor has dims',
    );
  }
  const negative = target.find((size) => size.kind === 'int' && size.value < -1);
  if (negative !== undefined)
    throw argumentValue('expand', `a size of ${printIndex(negative)}`, 'sizes are 0 or more, or -1 to keep one');
  return counted(
    target.map((wanted, axis) => {
      const size = shape[axis - lead];
      if (isMinusOne(wanted)) {
        if (size === undefined) throw argumentValue('expand', 'size -1 of a new dim', 'a new dim needs a size');
        return size;
      }
      if (size === undefined || sizes.same(size, wanted) || sizes.isOne(size)) return wanted;
      throw shapeMismatch(
        `cannot expand ${printShape(shape)} to ${printShape(target)}: axis ${String(axis)} is ${printIndex(size)}, and not 1`,
        'only axes of size 1 expand',
      );
    }),
  );
}

/** The shape, if its elements can be counted. Throws UserError SIZE_OVERFLOW. */
export function counted(shape: Shape): Shape {
  if (!shape.some((size) => size.kind === 'int' && size.value === 0)) product(shape);
  return shape;
}

const isMinusOne = (size: Index): boolean => size.kind === 'int' && size.value === -1;

/** The shape that `reshape` means: resolves one -1, and requires the same number of elements. */
export function reshapedShape(sizes: SizeEnvironment, shape: Shape, target: Shape): Shape {
  const unknown = target.filter(isMinusOne).length;
  if (unknown > 1)
    throw shapeMismatch(`shape ${printShape(target)} has more than one -1`, 'leave out one size at most');
  if (target.some((size) => size.kind === 'int' && size.value < -1))
    throw shapeMismatch(`shape ${printShape(target)} has a negative size`);
  const count = product(shape);
  const wrong = (): Error =>
    shapeMismatch(
      `cannot reshape ${printShape(shape)} to ${printShape(target)}: there are ${printIndex(count)} elements`,
      'give sizes whose product is that, or one -1 for what the others leave',
    );
  if (unknown === 0) {
    if (!sizes.same(count, product(target))) throw wrong();
    return target;
  }
  const known = product(target.filter((size) => !isMinusOne(size)));
  if (sizes.isZero(known)) {
    throw shapeMismatch(
      `cannot tell what -1 stands for in ${printShape(target)}: the other sizes multiply to 0`,
      'write the size',
    );
  }
  const missing = floorDivide(count, known);
  if (!sizes.same(multiply(missing, known), count)) throw wrong();
  return target.map((size) => (isMinusOne(size) ? missing : size));
}

/**
 * Strides with which a reshape can share storage, or undefined where it must copy. The axes fall into runs that lie
 * like one axis in memory; the new sizes have to split and join within runs. Axes of size 1 lie anywhere.
 */
export function reshapedStrides(sizes: SizeEnvironment, base: ViewLayout, target: Shape): Shape | undefined {
  if (base.shape.some((size) => sizes.isZero(size)))
    return sameShape(sizes, base.shape, target) ? base.strides : contiguousStrides(target);
  const strides: Index[] = new Array<Index>(target.length).fill(one);
  let view = target.length - 1;
  for (const run of memoryRuns(sizes, base).reverse()) {
    let covered: Index = one;
    while (view >= 0 && (!sizes.same(covered, run.count) || sizes.isOne(at(target, view)))) {
      strides[view] = multiply(run.stride, covered);
      covered = multiply(covered, at(target, view));
      if (!sizes.atMost(covered, run.count)) return undefined;
      view -= 1;
    }
    if (!sizes.same(covered, run.count)) return undefined;
  }
  while (view >= 0 && sizes.isOne(at(target, view))) view -= 1;
  return view === -1 ? strides : undefined;
}

/** Maximal runs of axes, outermost first, each of which steps through memory like one axis. */
function memoryRuns(sizes: SizeEnvironment, { shape, strides }: ViewLayout): { count: Index; stride: Index }[] {
  const runs: { count: Index; stride: Index; outer: Index }[] = [];
  shape.forEach((size, axis) => {
    if (sizes.isOne(size)) return;
    const stride = at(strides, axis);
    const last = runs.at(-1);
    if (last !== undefined && sizes.same(last.stride, multiply(size, stride))) {
      last.count = multiply(last.count, size);
      last.stride = stride;
    } else runs.push({ count: size, stride, outer: stride });
  });
  return runs;
}

/** Strides of a `view`, which never copies. */
export function viewedStrides(sizes: SizeEnvironment, base: ViewLayout, target: Shape): Shape {
  const strides = reshapedStrides(sizes, base, target);
  if (strides === undefined) throw viewImpossible(base.shape, base.strides, target);
  return strides;
}

/** Number of steps of `step` in [start, end). */
export const stepCount = (start: Index, end: Index, step: number): Index =>
  maximum(floorDivide(add(subtract(end, start), int(step - 1)), int(step)), zero);

export const sizeAttr = (size: Index): Attr => (size.kind === 'int' ? size.value : { size });
export const sizesAttr = (shape: Shape): readonly Attr[] => shape.map(sizeAttr);
