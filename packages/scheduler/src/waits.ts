// What nodes wait for without reading it (`after`), kept true while nodes are taken into others, and dropped once groups have an
// order.
import type { BufferId, Group, LoopNode } from '@tsinductor/ir';
import { buffersRead } from './node-access.ts';

/**
 * The nodes that are left when those that fill the buffers of `taken` stand within their readers: whoever waited for such a buffer
 * waits for what that node read.
 */
export function withWaitsMoved(
  nodes: readonly LoopNode[],
  taken: ReadonlyMap<BufferId, LoopNode>,
): readonly LoopNode[] {
  const resolve = (buffers: readonly BufferId[], found: Set<BufferId>, seen: Set<BufferId>): ReadonlySet<BufferId> => {
    for (const buffer of buffers) {
      const maker = taken.get(buffer);
      if (maker === undefined) found.add(buffer);
      else if (!seen.has(buffer)) resolve(buffersRead(maker), found, seen.add(buffer));
    }
    return found;
  };
  return nodes.map((node) =>
    node.after?.some((buffer) => taken.has(buffer)) === true
      ? { ...node, after: [...resolve(node.after, new Set(), new Set())] }
      : node,
  );
}

/** The group as kernels are made of it. */
export function withoutWaits(group: Group): Group {
  if (group.nodes.every(({ after, again }) => after === undefined && again === undefined)) return group;
  const nodes = group.nodes.map((node): LoopNode => {
    const { after: _after, again: _again, ...rest } = node;
    return rest;
  });
  return { ...group, nodes };
}
