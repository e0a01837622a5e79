// Where the elements of a tile come from: coordinates of an operand for coordinates of a result.
import { at } from '@tsinductor/base';
import { add, int, multiply, sameShape } from '@tsinductor/ir';
import type { Index, TileOp } from '@tsinductor/ir';
import type { BlockScope } from './block-scope.ts';

/** The coordinates of the operand of a broadcast, reshape or permute; undefined where a reshape regroups axes. */
export function sourceCoordinates(
  node: TileOp,
  coordinates: readonly Index[],
  scope: BlockScope,
): readonly Index[] | undefined {
  const { shape } = scope.tile(at(node.args, 0));
  if (node.op === 'broadcast') return shape.map((extent, axis) => (extent === 1 ? int(0) : at(coordinates, axis)));
  if (node.op === 'permute') {
    const { order } = node.attrs;
    return shape.map((_, axis) => at(coordinates, order.indexOf(axis)));
  }
  if (node.op !== 'reshape' || !keepsAxes(shape, node.attrs.shape)) return undefined;
  const kept = coordinates.filter((_, axis) => node.attrs.shape[axis] !== 1);
  let next = 0;
  return shape.map((extent) => (extent === 1 ? int(0) : at(kept, next++)));
}

const withoutOnes = (shape: readonly number[]): readonly number[] => shape.filter((extent) => extent !== 1);

/** Whether a reshape only inserts or drops axes of size 1. */
export const keepsAxes = (from: readonly number[], to: readonly number[]): boolean =>
  sameShape(withoutOnes(from), withoutOnes(to));

/** The row-major place of an element. */
export const flatIndex = (shape: readonly number[], coordinates: readonly Index[]): Index =>
  shape.reduce<Index>((flat, extent, axis) => add(multiply(flat, int(extent)), at(coordinates, axis)), int(0));
