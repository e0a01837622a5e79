// Values as lowering sees them: a buffer and where in it each element lies. A View is plain data: an Index over its own
// axes, one per axis of the value. Taking a view of a view substitutes those axes, so nothing is ever copied; loading an
// element substitutes the coordinates of the loop.
//
// Invariants: `axes` have the value's extents, outermost first; `at` is free of every other axis.
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  add,
  axisIndex,
  coefficientOf,
  divisorsOf,
  equal,
  floorDivide,
  freeAxes,
  int,
  minimum,
  multiply,
  product,
  rangeOf,
  substitute,
  subtract,
} from '@tsinductor/ir';
import type { Axis, BufferId, Index } from '@tsinductor/ir';

export type Shape = readonly Index[];

export interface View {
  readonly buffer: BufferId;
  readonly dtype: DType;
  readonly axes: readonly Axis[];
  readonly at: Index;
}

export const zero: Index = int(0);
export const one: Index = int(1);

export const isInt = (index: Index, value: number): boolean => index.kind === 'int' && index.value === value;
export const countOf = (view: View): Index => product(shapeOf(view));
export const shapeOf = (view: View): Shape => view.axes.map((axis) => axis.extent);

/** Row-major strides, in elements. */
export function rowMajorStrides(shape: Shape): Shape {
  const strides: Index[] = [];
  let stride = one;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides.unshift(stride);
    stride = multiply(stride, at(shape, axis));
  }
  return strides;
}

/** The row-major position of `coordinates` in `shape`. */
export const linearize = (shape: Shape, coordinates: Shape): Index => dot(coordinates, rowMajorStrides(shape));

export const dot = (coordinates: Shape, strides: Shape): Index =>
  coordinates.reduce((sum, coordinate, axis) => add(sum, multiply(coordinate, at(strides, axis))), zero);

/** The index of the element at `coordinates`. */
export function locate(view: View, coordinates: Shape): Index {
  invariant(
    coordinates.length === view.axes.length,
    `${String(coordinates.length)} coordinates of a value of rank ${String(view.axes.length)}`,
  );
  return substitute(view.at, new Map(view.axes.map((axis, position) => [axis.name, at(coordinates, position)])));
}

/**
 * The index of the element that stands at `coordinates` of the larger `shape` when the value is broadcast to it, aligned
 * at the right.
 */
export function locateBroadcast(view: View, shape: Shape, coordinates: Shape): Index {
  const lead = shape.length - view.axes.length;
  return locate(
    view,
    view.axes.map(({ extent }, axis) => clamp(at(coordinates, lead + axis), extent, at(shape, lead + axis))),
  );
}

/** Coordinate 0 of an axis of size 1, which stands for all of `whole`; the coordinate itself elsewhere. */
function clamp(coordinate: Index, extent: Index, whole: Index): Index {
  if (isInt(extent, 1)) return zero;
  // A symbolic size that differs from its partner equals it or is 1, as a guard of the trace says.
  const range = rangeOf(extent);
  const mayBeOne = extent.kind !== 'int' && (range.min ?? 0) <= 1 && !equal(extent, whole);
  return mayBeOne ? minimum(coordinate, subtract(extent, one)) : coordinate;
}

/** The shape that shapes have together, aligned at the right; they are known to fit. */
export function broadcastShape(shapes: readonly Shape[]): Shape {
  const rank = Math.max(0, ...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? one).filter((size) => !isInt(size, 1));
    return sizes.find((size) => size.kind === 'int') ?? sizes[0] ?? one;
  });
}

/** Whether the value is a whole buffer from its start, in row-major order. */
export const isRowMajor = (view: View): boolean => equal(view.at, linearize(shapeOf(view), view.axes.map(axisIndex)));

/** Whether `index` is free of other axes than these, and each of them adds the same at every step. */
export function isAffine(index: Index, axes: readonly Axis[]): boolean {
  const strides = axes.map((axis) => coefficientOf(index, axis));
  return strides.every((stride) => stride !== undefined && freeAxes(stride).size === 0);
}

/** The extents of the fewest parts of an axis over each of which the index is affine; undefined where there are none. */
export function divide(index: Index, axis: Axis): readonly Index[] | undefined {
  if (isAffine(index, [axis])) return [axis.extent];
  for (const divisor of divisorsOf(index, axis)) {
    const outer: Axis = { name: `${axis.name}_outer`, extent: floorDivide(axis.extent, divisor) };
    if (!equal(multiply(outer.extent, divisor), axis.extent)) continue;
    const inner: Axis = { name: `${axis.name}_inner`, extent: divisor };
    const point = add(multiply(axisIndex(outer), divisor), axisIndex(inner));
    const divided = substitute(index, new Map([[axis.name, point]]));
    if (!isAffine(divided, [inner])) continue;
    const rest = divide(substitute(divided, new Map([[inner.name, zero]])), outer);
    if (rest !== undefined) return [...rest, divisor];
  }
  return undefined;
}
