// Rows that a group keeps to itself, side by side. What one inner loop leaves for the next is a row per outer iteration; a
// value whose memory is laid out the other way (a softmax down columns) has its elements far apart. As nobody else sees
// the value, it is given the layout in which its rows are contiguous: the outer loops first, then its own.
//
// In and out: stages, in which every read of such a value is at a known point of its maker (an invariant of clusters).
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { add, axisIndex, int, mapNodeBodies, multiply, product, substitute } from '@tsinductor/ir';
import type { Axis, BodyBuilder, BufferId, Index, Load, LoopNode, ScalarId } from '@tsinductor/ir';
import { denseAxes } from './align.ts';
import { pointOf } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { buffersRead, hasAxis, resultAxes } from './node-access.ts';
import type { Stage } from './stages.ts';

/** A row of scratch has at most this many bytes. */
const ROW_BYTES = 64 * 1024;

/** Whether so many elements may be kept per outer iteration. */
export const fitsRow = (size: Index, dtype: DType): boolean =>
  size.kind === 'int' && size.value * dtypeInfo[dtype].bytes <= ROW_BYTES;

interface Privacy {
  readonly facts: Facts;
  /** Whether nobody outside the group reads a buffer. */
  readonly isPrivate: (buffer: BufferId) => boolean;
}

/** `stages` with the values of `isPrivate` buffers that have inner loops in rows. */
export function compactRows(
  stages: readonly Stage[],
  { outer }: Cluster,
  { facts, isPrivate }: Privacy,
): readonly Stage[] {
  const moved = new Map<BufferId, Moved>();
  for (const { node } of stages.flatMap((stage) => stage.members)) {
    node.outs.forEach((buffer, slot) => {
      if (node.kind !== 'map' && node.kind !== 'reduce' && node.kind !== 'scan') return;
      if (!isPrivate(buffer)) return;
      const write = compactWrite(node, at(node.writes, slot), { outer, dtype: facts.decl(buffer).dtype });
      if (write !== undefined) moved.set(buffer, { maker: node, write });
    });
  }
  if (moved.size === 0) return stages;
  return stages.map((stage) => ({
    ...stage,
    members: stage.members.map((member) => ({ ...member, node: redirect(member.node, moved) })),
  }));
}

/** A value's maker as it was, and where it writes now. */
interface Moved {
  readonly maker: LoopNode;
  readonly write: Index;
}

interface Row {
  readonly outer: readonly Axis[];
  readonly dtype: DType;
}

/** The outer loops row by row, then the inner ones; undefined where rows are contiguous already, too long, or have gaps. */
function compactWrite(node: LoopNode, write: Index, { outer, dtype }: Row): Index | undefined {
  const axes = resultAxes(node);
  const inner = axes.filter((axis) => !hasAxis(outer, axis));
  if (inner.length === 0) return undefined;
  const row = substitute(write, new Map(outer.map((axis) => [axis.name, int(0)])));
  const isRow = denseAxes(row, inner)?.length === inner.length;
  if (isRow || !fitsRow(product(inner.map((axis) => axis.extent)), dtype)) return undefined;
  if (denseAxes(write, axes)?.length !== axes.length) return undefined;
  const ordered = [...outer.filter((axis) => hasAxis(axes, axis)), ...inner];
  return ordered.reduce<Index>((place, axis) => add(multiply(place, axis.extent), axisIndex(axis)), int(0));
}

/** The node with its writes and loads of moved values in their new places. */
function redirect(node: LoopNode, moved: ReadonlyMap<BufferId, Moved>): LoopNode {
  const touches = (buffer: BufferId): boolean => moved.has(buffer);
  if (!node.outs.some(touches) && !buffersRead(node).some(touches)) return node;
  const redirected = mapNodeBodies(node, { load: (load, builder) => loadMoved(load, builder, moved) });
  return { ...redirected, writes: node.outs.map((out, slot) => moved.get(out)?.write ?? at(redirected.writes, slot)) };
}

function loadMoved(load: Load, builder: BodyBuilder, moved: ReadonlyMap<BufferId, Moved>): ScalarId | undefined {
  const target = moved.get(load.buffer);
  if (target === undefined) return undefined;
  const point = pointOf(target.maker, load);
  invariant(point !== undefined, 'a row is read at a place that its maker does not write');
  const { mask, other } = load;
  return builder.load(load.buffer, load.dtype, substitute(target.write, point), {
    ...(mask !== undefined && { mask }),
    ...(other !== undefined && { other }),
  });
}
