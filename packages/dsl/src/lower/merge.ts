// Where two ways of running meet, after a branch or from one iteration to the next: which variables differ, which type each
// has from then on, and how every value becomes a tile of that type.
import type { Node } from 'acorn';
import { at, isFloat } from '@tsinductor/base';
import { sameShape } from '@tsinductor/ir';
import type { Tile, TileType } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import { asTile, ownDType } from './coerce.ts';
import { faultAt } from './context.ts';
import type { Context } from './context.ts';
import { describeValue, tileValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** What a variable is where ways meet: a tile, or a pointer of one parameter. */
export interface MergedType extends TileType {
  readonly pointer?: { readonly param: number; readonly name: string };
}

const isKnown = (value: KernelValue): boolean => value.kind === 'number' || value.kind === 'boolean';

/** Whether nothing has to be merged: the same tile, the same number, the same function. */
export function sameValue(left: KernelValue, right: KernelValue): boolean {
  if (left === right) return true;
  if (left.kind === 'tile' && right.kind === 'tile') return left.tile.id === right.tile.id;
  if (left.kind === 'pointer' && right.kind === 'pointer')
    return left.param === right.param && left.offsets.id === right.offsets.id;
  if ((left.kind === 'number' || left.kind === 'boolean') && right.kind === left.kind)
    return Object.is(left.value, right.value);
  return left.kind === 'undefined' && right.kind === 'undefined';
}

/** The type of a value that merges with others; undefined where it has no elements. */
function ownType(value: KernelValue): MergedType | undefined {
  if (value.kind === 'tile') return { dtype: value.tile.dtype, shape: value.tile.shape };
  if (value.kind === 'number') return { dtype: ownDType(value.value), shape: [] };
  if (value.kind === 'boolean') return { dtype: 'bool', shape: [] };
  if (value.kind !== 'pointer') return undefined;
  return { dtype: value.offsets.dtype, shape: value.offsets.shape, pointer: { param: value.param, name: value.name } };
}

interface Meeting {
  readonly name: string;
  readonly node: Node;
  readonly context: Context;
  /** "from one iteration to the next", "from one branch to the other". */
  readonly where: string;
}

/** The type that two values of a variable meet in: known numbers and offsets give way, tiles do not. */
export function meet(left: KernelValue, right: KernelValue, meeting: Meeting): MergedType {
  const [a, b] = [ownType(left), ownType(right)];
  const refuse = (): never => {
    const { name, node, context, where } = meeting;
    throw faultAt(node, context, [
      'KERNEL_CARRIED',
      `${name} changes ${where}: it is ${describeValue(left)}, then ${describeValue(right)}`,
      'give it one dtype and shape: begin with tl.zeros or tl.full, and cast what is assigned',
    ]);
  };
  if (a === undefined || b === undefined || a.pointer?.param !== b.pointer?.param) return refuse();
  if (sameShape(a.shape, b.shape) && a.dtype === b.dtype) return a;
  return giveWay({ type: a, isKnown: isKnown(left) }, { type: b, isKnown: isKnown(right) }) ?? refuse();
}

interface Side {
  readonly type: MergedType;
  readonly isKnown: boolean;
}

/** The type of two that differ, if one of them may take the other's. */
function giveWay(left: Side, right: Side): MergedType | undefined {
  const [a, b] = [left.type, right.type];
  const promoted = { ...a, dtype: promoteTypes(a.dtype, b.dtype) };
  if (a.pointer !== undefined || (left.isKnown && right.isKnown))
    return sameShape(a.shape, b.shape) ? promoted : undefined;
  if (left.isKnown && b.shape.length === 0 && isNumberOf(a, b)) return b;
  return right.isKnown && isNumberOf(b, a) ? a : undefined;
}

/** Whether a known number of type `number` can be an element of `tile`. */
const isNumberOf = (number: MergedType, tile: MergedType): boolean =>
  number.dtype === tile.dtype ||
  number.dtype === 'i32' ||
  number.dtype === 'i64' ||
  (number.dtype === 'f32' && isFloat(tile.dtype));

/** A value as a tile of the merged type. */
export function toMerged(
  value: KernelValue,
  type: MergedType,
  { node, context }: Pick<Meeting, 'node' | 'context'>,
): Tile {
  const { builder } = context;
  if (value.kind === 'pointer') return builder.cast(value.offsets, type.dtype);
  const tile = builder.cast(asTile(value, { node, context }, isKnown(value) ? type.dtype : undefined), type.dtype);
  return builder.broadcast(tile, type.shape);
}

/** A tile of the merged type as the variable's value. */
export function fromMerged(tile: Tile, type: MergedType, { params }: Context): KernelValue {
  if (type.pointer === undefined) return tileValue(tile);
  const { param, name } = type.pointer;
  return { kind: 'pointer', param, name, dtype: at(params, param).dtype, offsets: tile };
}
