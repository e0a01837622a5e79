// From values of a kernel to tiles: known numbers take the dtype of what they meet, dtypes are promoted as in PyTorch, and
// shapes are broadcast from the right.
import type { Node } from 'acorn';
import { dtypeInfo, isFloat, isInteger } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Tile } from '@tsinductor/ir';
import { sameShape } from '@tsinductor/ir';
import { promoteTypes, wrapToDType } from '@tsinductor/ops';
import { faultAt } from './context.ts';
import type { Context } from './context.ts';
import { describeValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** A place in the source with its context: what every check needs. */
export interface Site {
  readonly node: Node;
  readonly context: Context;
}

const limits: Partial<Record<DType, readonly [number, number]>> = {
  i32: [-(2 ** 31), 2 ** 32 - 1],
  i16: [-(2 ** 15), 2 ** 16 - 1],
  i8: [-128, 255],
  u8: [-128, 255],
};

/** The dtype that a known number has by itself. */
export function ownDType(value: number): DType {
  if (!Number.isInteger(value) || Object.is(value, -0) || Math.abs(value) >= 2 ** 63) return 'f32';
  return value >= -(2 ** 31) && value < 2 ** 31 ? 'i32' : 'i64';
}

/** A known number as a scalar of `dtype`. */
function numberTile(value: number, dtype: DType, { node, context }: Site): Tile {
  const limit = limits[dtype];
  if (isInteger(dtype) && (!Number.isInteger(value) || (limit !== undefined && (value < limit[0] || value > limit[1]))))
    throw faultAt(node, context, [
      'KERNEL_DTYPE',
      `the number ${String(value)} is not one of ${dtype}`,
      `cast the other operand with tl.cast(x, tl.f32) or tl.i64, or use a number that ${dtype} has`,
    ]);
  const { builder } = context;
  if (dtype === 'i64') return builder.constant(BigInt(value), { dtype, shape: [] });
  if (dtype === 'bool') return builder.constant(value !== 0, { dtype, shape: [] });
  if (isInteger(dtype)) return builder.constant(Number(wrapToDType(value, dtype)), { dtype, shape: [] });
  return builder.constant(Object.is(value, -0) ? '-0' : asJson(value), { dtype, shape: [] });
}

const asJson = (value: number): number | 'NaN' | 'Infinity' | '-Infinity' =>
  Number.isFinite(value) ? value : (String(value) as 'NaN' | 'Infinity' | '-Infinity');

/** Any value that has elements as a tile: known numbers and booleans in their own dtype, or in `dtype`. */
export function asTile(value: KernelValue, site: Site, dtype?: DType): Tile {
  switch (value.kind) {
    case 'tile':
      return value.tile;
    case 'number':
      return numberTile(value.value, dtype ?? ownDType(value.value), site);
    case 'boolean':
      return dtype === undefined || dtype === 'bool'
        ? site.context.builder.constant(value.value, { dtype: 'bool', shape: [] })
        : numberTile(Number(value.value), dtype, site);
    case 'pointer':
      throw faultAt(site.node, site.context, [
        'KERNEL_POINTER',
        `${describeValue(value)} is used as a number`,
        'load what it points to with tl.load, or add an offset to it',
      ]);
    case 'string':
    case 'dtype':
    case 'list':
    case 'record':
    case 'function':
    case 'language':
    case 'range':
    case 'operation':
    case 'undefined':
      throw faultAt(site.node, site.context, [
        'KERNEL_ARGUMENT',
        `${describeValue(value)} is used as a number`,
        'use a block, a scalar or a number here',
      ]);
  }
}

const rank = (dtype: DType): number => ['bool', 'integer', 'float'].indexOf(dtypeInfo[dtype].category);

/** The dtype that operands meet in: tiles promote each other, known numbers only raise the category. */
export function commonDType(values: readonly KernelValue[]): DType {
  const tiles = values.flatMap((value) => (value.kind === 'tile' ? [value.tile.dtype] : []));
  const numbers = values.flatMap((value): DType[] =>
    value.kind === 'number' ? [ownDType(value.value)] : value.kind === 'boolean' ? ['bool'] : [],
  );
  const all = [...tiles, ...numbers];
  if (tiles.length === 0) return all.length === 0 ? 'f32' : all.reduce(promoteTypes);
  const dtype = tiles.reduce(promoteTypes);
  const raised = numbers.filter((number) => rank(number) > rank(dtype));
  return raised.length === 0 ? dtype : raised.reduce(promoteTypes);
}

/** The shape that all of `shapes` are broadcast to. */
function broadcastShape(shapes: readonly (readonly number[])[], site: Site): readonly number[] {
  return shapes.reduce((left, right) => {
    const length = Math.max(left.length, right.length);
    return Array.from({ length }, (_, axis) => {
      const a = left[axis - length + left.length] ?? 1;
      const b = right[axis - length + right.length] ?? 1;
      if (a !== b && a !== 1 && b !== 1)
        throw faultAt(site.node, site.context, [
          'KERNEL_SHAPE',
          `blocks of shapes [${left.join(', ')}] and [${right.join(', ')}] do not broadcast: axis ${String(axis)} is ${String(a)} and ${String(b)}`,
          'insert axes of size 1 with tl.expandDims, or use blocks of one shape',
        ]);
      return Math.max(a, b);
    });
  });
}

/** Tiles at their common shape. */
export function broadcastAll(tiles: readonly Tile[], site: Site): readonly Tile[] {
  const shape = broadcastShape(
    tiles.map((tile) => tile.shape),
    site,
  );
  return tiles.map((tile) => site.context.builder.broadcast(tile, shape));
}

/** `tile` at a shape that it must be broadcastable to. */
export function broadcastTile(tile: Tile, shape: readonly number[], site: Site): Tile {
  const common = broadcastShape([tile.shape, shape], site);
  if (!sameShape(common, shape))
    throw faultAt(site.node, site.context, [
      'KERNEL_SHAPE',
      `a block of shape [${tile.shape.join(', ')}] does not broadcast to [${shape.join(', ')}]`,
      'use a block that has that shape, or axes of size 1',
    ]);
  return site.context.builder.broadcast(tile, shape);
}

/** `test` as a bool tile: integers are compared with 0. */
export function asTest(value: KernelValue, site: Site): Tile {
  const tile = asTile(value, site);
  if (tile.dtype === 'bool') return tile;
  if (isFloat(tile.dtype))
    throw faultAt(site.node, site.context, [
      'KERNEL_DTYPE',
      `${describeValue(value)} is used as a condition`,
      'compare it: x > 0, x !== 0',
    ]);
  return site.context.builder.cast(tile, 'bool');
}

/** An extent of a block: 1, 2, 4 ... up to 2^20. */
export function checkExtent(extent: number, site: Site): number {
  if (!Number.isInteger(Math.log2(extent)) || extent < 1 || extent > 2 ** 20)
    throw faultAt(site.node, site.context, [
      'KERNEL_SHAPE',
      `a block cannot have the extent ${String(extent)}`,
      'use a power of two from 1 to 1048576, and mask the rest',
    ]);
  return extent;
}
