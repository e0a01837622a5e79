// Rows of memory, as loads read them along an axis: which they are, how long, and how many of them lie ahead of a reader that is to
// find what it asked for. What is asked for is in row-ahead.ts.
import { dtypeInfo } from '@tsinductor/base';
import { hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, coefficientOf, int, multiply } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { asking, habitsOf, nearRows, shortRowBytes, streams } from '../target.ts';
import type { RowHabits } from '../target.ts';
import { pointBodies } from './lane-choice.ts';
import type { Ahead, Nest } from './nest.ts';

/** The unconditional loads of a node. */
export const loadsOf = (node: LoopNode): readonly Ahead[] => pointBodies(node).flatMap(unconditionalLoads);

export const unconditionalLoads = (body: Body): readonly Ahead[] =>
  body.nodes.flatMap((scalar) =>
    scalar.kind === 'load' && scalar.mask === undefined ? [{ buffer: scalar.buffer, position: scalar.at }] : [],
  );

export interface RowLimits {
  readonly bufferBytes: number;
  readonly leastRow: number;
  readonly mostRow: number;
}

export interface RowOf extends RowLimits {
  readonly axis: Axis;
}

/** Rows along `axis` whose bytes are within `limits`, in memory that was filled before the kernel runs. */
export function isRowOf(nest: Nest, buffer: BufferId, { axis, bufferBytes, leastRow, mostRow }: RowOf): boolean {
  if (!isFilledBefore(nest, buffer)) return false;
  const { dtype, size } = nest.memory.decl(buffer);
  const { bytes } = dtypeInfo[dtype];
  const [elements, length] = [staticValue(size), staticValue(axis.extent)];
  if (elements === undefined || length === undefined) return false;
  return elements * bytes >= bufferBytes && length * bytes >= leastRow && length * bytes <= mostRow;
}

export const isFilledBefore = ({ memory }: Nest, buffer: BufferId): boolean =>
  !memory.isVirtual(buffer) && memory.row(buffer) === undefined && memory.parameter(buffer).role === 'read';

/** How many rows along `axis` make up what a loop over rows asks for ahead. */
export const rowsAhead = (nest: Nest, buffer: BufferId, axis: Axis): number =>
  rowsOf(rowHabits(nest, buffer), rowBytes(nest, buffer, axis));

export const rowBytes = (nest: Nest, buffer: BufferId, axis: Axis): number =>
  (staticValue(axis.extent) ?? Infinity) * nest.memory.bytesOf(buffer);

/** The same of rows of so many bytes. */
export const rowsOf = ({ least, bytes: all }: RowHabits, bytes: number): number =>
  Math.max(bytes <= shortRowBytes ? least : 1, Math.ceil(all / Math.max(1, bytes)));

/** How rows of a buffer are asked for. */
export const rowHabits = (nest: Nest, buffer: BufferId): RowHabits =>
  isBesideCaches(nest, buffer) ? habitsOf(nest.target).memory : nearRows;

/** How those are that loaded values choose. */
export const chosenHabits = (nest: Nest, buffer: BufferId): RowHabits =>
  isBesideCaches(nest, buffer) ? habitsOf(nest.target).chosen : nearRows;

/** Whether a buffer is so large that a last-level cache may not have it. */
export function isBesideCaches({ memory }: Nest, buffer: BufferId): boolean {
  const elements = staticValue(memory.decl(buffer).size);
  return elements !== undefined && elements * memory.bytesOf(buffer) >= asking.leastBytes;
}

export interface Below {
  readonly along: Axis;
  readonly down: Axis;
  readonly rows: number;
}

/** A load of memory along an axis, some rows further on; nothing where it is no such load, or the caches hold the array. */
export function rowFurtherOn(
  nest: Nest,
  { buffer, position }: Ahead,
  { along, down, rows, limits = { ...streams, leastRow: 0 } }: Below & { readonly limits?: RowLimits },
): readonly Ahead[] {
  const further = furtherDown(position, { down, rows });
  if (further === undefined || hasIndirect(position) || strideAlong(position, along.name) !== 1) return [];
  return isRowOf(nest, buffer, { axis: along, ...limits }) ? [{ buffer, position: further }] : [];
}

/** A position some rows further down; nothing where rows do not differ. */
export function furtherDown(position: Index, { down, rows }: Pick<Below, 'down' | 'rows'>): Index | undefined {
  const step = coefficientOf(position, down);
  const isJump = step !== undefined && staticValue(step) !== 0;
  return isJump ? add(position, multiply(step, int(rows))) : undefined;
}
