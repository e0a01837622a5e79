// Rows of memory, as loads read them along an axis: which they are, how long, and how many of them lie between a reader and what it
// prefetches. What is prefetched is decided in strategy/traffic.
import { dtypeInfo } from '@tsinductor/base';
import { hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, coefficientOf, equal, int, multiply } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { nextRowDistance } from '../../machine/choices/traffic.ts';
import type { RowDistance, RowLimits } from '../../machine/choices/traffic.ts';
import { pointBodies } from './work.ts';
import { exceedsCaches, isInMemory } from './planning.ts';
import type { Planning } from './planning.ts';

/** A load without a mask: what it reads. */
export interface Load {
  readonly buffer: BufferId;
  readonly position: Index;
}

/** The loads without masks of a node. */
export const loadsOf = (node: LoopNode): readonly Load[] => pointBodies(node).flatMap(unmaskedLoads);

export const unmaskedLoads = (body: Body): readonly Load[] =>
  body.nodes.flatMap((scalar) =>
    scalar.kind === 'load' && scalar.mask === undefined ? [{ buffer: scalar.buffer, position: scalar.at }] : [],
  );

export const isSameLoad = (left: Load, right: Load): boolean =>
  left.buffer === right.buffer && equal(left.position, right.position);

export interface RowOf extends RowLimits {
  readonly axis: Axis;
}

/** Rows along `axis` whose bytes are within limits, in memory that was filled before the kernel runs. */
export function isRowOf(
  planning: Planning,
  buffer: BufferId,
  { axis, bufferBytes, leastRow, mostRow }: RowOf,
): boolean {
  if (!isFilledBefore(planning, buffer)) return false;
  const { dtype, size } = planning.memory.decl(buffer);
  const { bytes } = dtypeInfo[dtype];
  const [elements, length] = [staticValue(size), staticValue(axis.extent)];
  if (elements === undefined || length === undefined) return false;
  return elements * bytes >= bufferBytes && length * bytes >= leastRow && length * bytes <= mostRow;
}

export const isFilledBefore = (planning: Planning, buffer: BufferId): boolean =>
  isInMemory(planning, buffer) && !planning.memory.isWritten(buffer);

/** How many rows along `axis` make up the distance at which a loop over rows prefetches. */
export const rowsAhead = (planning: Planning, buffer: BufferId, axis: Axis): number =>
  rowsWithin(planning, rowDistance(planning, buffer), rowBytes(planning, buffer, axis));

export const rowBytes = ({ memory }: Planning, buffer: BufferId, axis: Axis): number =>
  (staticValue(axis.extent) ?? Infinity) * memory.bytesOf(buffer);

/** The same of rows of so many bytes. */
export const rowsWithin = (
  { choices }: Pick<Planning, 'choices'>,
  { leastRows, bytes: distance }: RowDistance,
  bytes: number,
): number => Math.max(bytes <= choices.shortRowBytes ? leastRows : 1, Math.ceil(distance / Math.max(1, bytes)));

/** How rows of a buffer are prefetched. */
export const rowDistance = (planning: Planning, buffer: BufferId): RowDistance =>
  exceedsCaches(planning, buffer) ? planning.choices.memoryRows : nextRowDistance;

/** How those are that loaded values choose. */
export const gatheredDistance = (planning: Planning, buffer: BufferId): RowDistance =>
  exceedsCaches(planning, buffer) ? planning.choices.gatheredRows : nextRowDistance;

/** An axis along which rows lie, the one from row to row, and a number of rows. */
export interface RowAxes {
  readonly along: Axis;
  readonly down: Axis;
}

/** A load of memory along an axis, some rows further on; nothing where it is no such load, or the caches hold the array. */
export function rowFurtherOn(
  planning: Planning,
  { buffer, position }: Load,
  {
    along,
    down,
    rows,
    limits = planning.choices.prefetchedRows,
  }: RowAxes & { readonly rows: number; readonly limits?: RowLimits },
): readonly Load[] {
  const further = furtherDown(position, down, rows);
  if (further === undefined || hasIndirect(position) || strideAlong(position, along.name) !== 1) return [];
  return isRowOf(planning, buffer, { axis: along, ...limits }) ? [{ buffer, position: further }] : [];
}

/** A position some rows further down; nothing where rows do not differ. */
export function furtherDown(position: Index, down: Axis, rows: number): Index | undefined {
  const step = coefficientOf(position, down);
  const isJump = step !== undefined && staticValue(step) !== 0;
  return isJump ? add(position, multiply(step, int(rows))) : undefined;
}
