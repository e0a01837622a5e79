// Long rows of memory that one pass reads from end to end, as a sum over a row does, or over a piece of it. In: the site of a
// reduction. Out: the streams that it reads a row as, or nothing where neighbouring vectors are as good.
//
// Two halves of a row read side by side, each into one accumulator, are two sequences for the processor to foresee, and few
// enough sums in flight that its window holds more lines on their way. (Measured on a Cascade Lake: sums over rows of 8 KB and
// more, 256 MB in all, take 5 to 8 % less than with four neighbouring vectors; more streams, or more sums per stream, lose it
// again, and so do shorter rows. A sum of 64 MB in pieces of 128 KB takes 10 % less. Of what the caches hold both are read at one
// speed, but for the smallest arrays.) A processor that foresees what is read in the order of addresses alone reads rows so: on a
// Zen 4 sums over rows of 16 KB, 64 MB in all, take 20 to 40 % less than in two streams, over rows of 32 KB, 256 MB in all, 8 to 23.
import { difference, hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { equal, int } from '@tsinductor/ir';
import type { LoopNode } from '@tsinductor/ir';
import { habitsOf, streams as limits } from '../target.ts';
import { isRowOf, loadsOf } from './memory-rows.ts';
import type { RowOf } from './memory-rows.ts';
import { wholeRange } from './nest.ts';
import type { Ahead, Nest, Streams } from './nest.ts';
import type { Site } from './reduce.ts';

export function streamsOf(nest: Nest, { nodes, over, lane, part, ahead }: Site): Streams | undefined {
  const axis = over[0]?.axis;
  if (axis === undefined || over.length > 1 || lane === undefined || habitsOf(nest.target).asksInOrder)
    return undefined;
  const { from, to } = part ?? wholeRange(axis);
  const length = staticValue(difference(to, from));
  if (length === undefined || length % (limits.count * lane.lanes) !== 0) return undefined;
  const row = { ...axis, extent: int(length) };
  if (!isPassOver(nest, { nodes, ahead }, { axis: row, ...limits })) return undefined;
  return { axis, from, part: length / limits.count, lanes: lane.lanes, streams: limits.count };
}

interface Pass {
  readonly nodes: readonly LoopNode[];
  /** What it asks for itself. */
  readonly ahead?: readonly Ahead[] | undefined;
}

/** Whether reductions alone read one row of memory, which no other pass reads: such a pass asks for the row before this one. */
export function isPassOver(nest: Nest, { nodes, ahead }: Pass, row: RowOf): boolean {
  const [first, ...others] = nodes.flatMap(loadsOf);
  if (first === undefined || others.some((other) => !isSame(first, other))) return false;
  const { buffer, position } = first;
  if (nodes.some(({ kind }) => kind !== 'reduce') || hasIndirect(position)) return false;
  if (strideAlong(position, row.axis.name) !== 1) return false;
  const asked = [...nest.ahead.values()].filter((one) => one !== ahead).flat();
  return !asked.some((one) => one.buffer === buffer) && isRowOf(nest, buffer, row);
}

const isSame = (left: Ahead, right: Ahead): boolean =>
  left.buffer === right.buffer && equal(left.position, right.position);
