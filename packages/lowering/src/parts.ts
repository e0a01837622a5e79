// Buffers that several nodes fill, each a part: long concatenations. A part stands right behind the last node that makes what it
// reads, so that a value which is computed step by step is stored step by step, and does not wait for the steps after it.
import { loadsOf } from '@tsinductor/ir';
import type { BufferId, LoopNode } from '@tsinductor/ir';

/** The nodes in their order, but each of `parts` behind its makers; one that reads inputs alone stays where it is. */
export function partsAfterMakers(nodes: readonly LoopNode[], parts: ReadonlySet<LoopNode>): readonly LoopNode[] {
  if (parts.size === 0) return nodes;
  const makers = new Map<BufferId, LoopNode>();
  const behind = new Map<LoopNode, LoopNode[]>();
  const staying: LoopNode[] = [];
  const position = new Map(nodes.map((node, index) => [node, index]));
  for (const node of nodes) {
    const last = parts.has(node) ? lastMaker(node, makers, position) : undefined;
    if (last === undefined) staying.push(node);
    else behind.set(last, [...(behind.get(last) ?? []), node]);
    for (const out of node.outs) makers.set(out, node);
  }
  return staying.flatMap((node) => withThose(node, behind));
}

/** A node, and what stands behind it; a part may stand behind a part. */
const withThose = (node: LoopNode, behind: ReadonlyMap<LoopNode, readonly LoopNode[]>): readonly LoopNode[] => [
  node,
  ...(behind.get(node) ?? []).flatMap((part) => withThose(part, behind)),
];

/** Of the nodes that make what a map reads, the one furthest down. */
function lastMaker(
  node: LoopNode,
  makers: ReadonlyMap<BufferId, LoopNode>,
  position: ReadonlyMap<LoopNode, number>,
): LoopNode | undefined {
  if (node.kind !== 'map') return undefined;
  let last: LoopNode | undefined;
  for (const { buffer } of loadsOf(node.body)) {
    const maker = makers.get(buffer);
    if (maker === undefined) continue;
    if (last === undefined || (position.get(maker) ?? 0) > (position.get(last) ?? 0)) last = maker;
  }
  return last;
}
