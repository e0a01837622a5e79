// Shapes and strides of tensors that exist, as plain numbers; strides and offsets count elements. What comes from users
// is checked here once; everything behind may rely on it.
import { invariant } from '@tsinductor/base';
import type { ElementArray } from './element-array.ts';
import { cannotBroadcast, invalidShape } from './errors.ts';

export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

export const maximumRank = 64;

/** A shape given by a user, as a list of its own. */
export function checkShape(shape: unknown): readonly number[] {
  if (!Array.isArray(shape)) throw invalidShape(shape, 'a shape is an array');
  if (shape.length > maximumRank) throw invalidShape(shape, `more than ${maximumRank} dims`);
  const sizes = Array.from(shape as readonly unknown[]);
  let count = 1;
  sizes.forEach((size) => {
    if (typeof size !== 'number') throw invalidShape(shape, 'a size is not a number');
    if (Number.isNaN(size)) throw invalidShape(shape, 'a size is NaN');
    if (!Number.isInteger(size)) throw invalidShape(shape, 'a size is not a whole number');
    if (size < 0) throw invalidShape(shape, 'a size is negative');
    if (!Number.isSafeInteger(size)) throw invalidShape(shape, 'a size is too large');
    count *= Math.max(size, 1);
  });
  // Counted without zeros, so that strides stay exact as well.
  if (!Number.isSafeInteger(count * 8)) throw invalidShape(shape, 'too many elements');
  return sizes as number[];
}

export const elementsOf = (shape: readonly number[]): number => shape.reduce((count, size) => count * size, 1);

/** The shape that shapes have together when broadcast: sizes aligned at the right are equal or 1. A size alone is a shape of one dim. */
export function broadcastShapes(...shapes: readonly (readonly number[] | number)[]): readonly number[] {
  return shapes
    .map((shape) => checkShape(typeof shape === 'number' ? [shape] : shape))
    .reduce<readonly number[]>((all, shape) => {
      const rank = Math.max(all.length, shape.length);
      return Array.from({ length: rank }, (_, axis) => {
        const [a, b] = [all[axis - rank + all.length] ?? 1, shape[axis - rank + shape.length] ?? 1];
        if (a !== b && a !== 1 && b !== 1) throw cannotBroadcast(all, shape);
        return a === 1 ? b : a;
      });
    }, []);
}

/** Row-major strides; an axis of size 0 counts as 1, as in PyTorch. */
export function rowMajor(shape: readonly number[]): readonly number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = stride;
    stride *= Math.max(shape[axis] ?? 1, 1);
  }
  return strides;
}

export const rowMajorLayout = (shape: readonly number[]): Layout => ({ shape, strides: rowMajor(shape), offset: 0 });

/** Whether elements lie in row-major order without gaps; strides of axes of size 1 do not matter. */
export function isRowMajor({ shape, strides }: Pick<Layout, 'shape' | 'strides'>): boolean {
  let expected = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    const size = shape[axis] ?? 1;
    if (size === 0) return true;
    if (size !== 1 && strides[axis] !== expected) return false;
    expected *= size;
  }
  return true;
}

/** One past the last element that the layout reaches, counted from the start of the storage. */
export function reach({ shape, strides, offset }: Layout): number {
  let last = offset;
  for (let axis = 0; axis < shape.length; axis += 1) {
    const size = shape[axis] ?? 1;
    if (size === 0) return offset;
    last += (size - 1) * (strides[axis] ?? 0);
  }
  return last + 1;
}

/** Elements from a tensor's first to one past its last in memory. */
export const reachOf = ({ shape, strides }: Pick<Layout, 'shape' | 'strides'>): number =>
  reach({ shape, strides, offset: 0 });

/** Whether two positions are one element: known to be false if, sorted by stride, each axis steps over the inner ones. */
export function overlapsItself({ shape, strides }: Pick<Layout, 'shape' | 'strides'>): boolean {
  const axes = shape
    .map((size, axis) => ({ size, stride: strides[axis] ?? 0 }))
    .filter(({ size }) => size !== 1)
    .sort((a, b) => a.stride - b.stride);
  if (axes.some(({ size }) => size === 0)) return false;
  let covered = 0;
  for (const { size, stride } of axes) {
    if (stride <= covered) return true;
    covered += (size - 1) * stride;
  }
  return false;
}

/** Beyond this many elements, whether layouts share one is judged by their extents alone. */
const exactOverlap = 1 << 20;

/** Whether two layouts over one storage share an element. */
export function sharesElements(a: Layout, b: Layout): boolean {
  const [start, end] = [Math.max(a.offset, b.offset), Math.min(reach(a), reach(b))];
  if (start >= end) return false;
  const isDense = isRowMajor(a) && isRowMajor(b);
  if (isDense || elementsOf(a.shape) + elementsOf(b.shape) > exactOverlap) return true;
  const seen = new Set<number>();
  forEachElement(a, (position) => seen.add(position));
  let isShared = false;
  forEachElement(b, (position) => {
    isShared ||= seen.has(position);
  });
  return isShared;
}

function forEachElement(layout: Layout, visit: (position: number) => void): void {
  if (elementsOf(layout.shape) === 0) return;
  const inner = layout.shape.length - 1;
  const [length, step] = [layout.shape[inner] ?? 1, layout.strides[inner] ?? 0];
  forEachRow(layout, layout, (start) => {
    for (let i = 0; i < length; i += 1) visit(start + i * step);
  });
}

/** Copies elements between layouts of one shape. */
export function copyElements(
  source: ElementArray,
  from: Layout,
  target: { readonly elements: ElementArray; readonly layout: Layout },
): void {
  const { elements, layout: to } = target;
  const count = elementsOf(from.shape);
  invariant(elementsOf(to.shape) === count, 'copyElements: the shapes differ');
  if (count === 0) return;
  if (isRowMajor(from) && isRowMajor(to)) {
    elements.set(source.subarray(from.offset, from.offset + count) as never, to.offset);
    return;
  }
  const inner = from.shape.length - 1;
  const length = from.shape[inner] ?? 1;
  const [readStep, writeStep] = [from.strides[inner] ?? 0, to.strides[inner] ?? 0];
  forEachRow(from, to, (read, write) => {
    for (let i = 0; i < length; i += 1) elements[write + i * writeStep] = source[read + i * readStep] as never;
  });
}

/** Calls `row` with the positions at which each innermost row begins in both layouts. */
function forEachRow(from: Layout, to: Layout, row: (read: number, write: number) => void): void {
  const outer = Math.max(from.shape.length - 1, 0);
  const counter = new Array<number>(outer).fill(0);
  let [read, write] = [from.offset, to.offset];
  for (;;) {
    row(read, write);
    let axis = outer - 1;
    for (; axis >= 0; axis -= 1) {
      const size = from.shape[axis] ?? 1;
      const next = (counter[axis] ?? 0) + 1;
      read += from.strides[axis] ?? 0;
      write += to.strides[axis] ?? 0;
      if (next < size) {
        counter[axis] = next;
        break;
      }
      counter[axis] = 0;
      read -= size * (from.strides[axis] ?? 0);
      write -= size * (to.strides[axis] ?? 0);
    }
    if (axis < 0) return;
  }
}
