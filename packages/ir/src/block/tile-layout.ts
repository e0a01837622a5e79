// Row-major layout of tiles: for each element of a result, the element of an operand that it comes from.
import { at } from '@tsinductor/base';
import { tileSize } from './tile-ops.ts';

/** Elements from one place to the next along each axis. */
function rowMajorStrides(shape: readonly number[]): readonly number[] {
  const strides: number[] = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = at(strides, axis + 1) * at(shape, axis + 1);
  return strides;
}

/** For each element of `shape`, in row-major order, the sum of its coordinates times `strides`. */
function elementOffsets(shape: readonly number[], strides: readonly number[]): Int32Array {
  const offsets = new Int32Array(tileSize(shape));
  let filled = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const [extent, stride] = [at(shape, axis), at(strides, axis)];
    for (let block = filled - 1; block >= 0; block--) {
      const start = at(offsets, block);
      for (let place = 0; place < extent; place++) offsets[block * extent + place] = start + place * stride;
    }
    filled *= extent;
  }
  return offsets;
}

export function broadcastSources(from: readonly number[], to: readonly number[]): Int32Array {
  if (from.length === 0) return new Int32Array(tileSize(to));
  const strides = rowMajorStrides(from).map((stride, axis) => (from[axis] === 1 ? 0 : stride));
  return elementOffsets(to, strides);
}

export function permuteSources(from: readonly number[], order: readonly number[]): Int32Array {
  const strides = rowMajorStrides(from);
  return elementOffsets(
    order.map((axis) => at(from, axis)),
    order.map((axis) => at(strides, axis)),
  );
}

/** The rows of `shape` along `axis`: the first element of each, and the distance within one. */
export function rowsAlong(
  shape: readonly number[],
  axis: number,
): { readonly starts: Int32Array; readonly step: number } {
  const strides = rowMajorStrides(shape);
  const others = shape.map((_, index) => index).filter((index) => index !== axis);
  const starts = elementOffsets(
    others.map((index) => at(shape, index)),
    others.map((index) => at(strides, index)),
  );
  return { starts, step: at(strides, axis) };
}
