// Buffers that several nodes fill, each a part: long concatenations. A part stands right behind the last node that makes what it
// reads, so that a value which is computed step by step is stored step by step, and does not wait for the steps after it.
import { loadsOf } from '@tsinductor/ir';
import type { BufferId, LoopNode } from '@tsinductor/ir';

/** The nodes in their order, but each of `parts` behind its makers; one that reads inputs alone stays where it is. */
export function partsAfterMakers(nodes: readonly LoopNode[], parts: ReadonlySet<LoopNode>): readonly LoopNode[] {
  if (parts.size === 0) return nodes;
  const makers = new Map<BufferId, LoopNode[]>();
  const places = new Map<LoopNode, Place>();
  const behind = new Map<LoopNode, LoopNode[]>();
  const staying: LoopNode[] = [];
  for (const [position, node] of nodes.entries()) {
    const last = parts.has(node) ? lastMaker(node, makers, places) : undefined;
    if (last === undefined) {
      staying.push(node);
      places.set(node, [position]);
    } else {
      const beside = behind.get(last) ?? [];
      behind.set(last, beside);
      places.set(node, [...(places.get(last) ?? []), beside.length]);
      beside.push(node);
    }
    for (const out of node.outs) {
      const known = makers.get(out);
      if (known === undefined) makers.set(out, [node]);
      else known.push(node);
    }
  }
  return staying.flatMap((node) => withThose(node, behind));
}

/** Where a node stands: the position of one that stays, and from there on which of those behind it. */
type Place = readonly number[];

function isFurther(place: Place, other: Place): boolean {
  const first = place.findIndex((step, depth) => step !== other[depth]);
  return first !== -1 && (place[first] ?? 0) > (other[first] ?? -1);
}

/** A node, and what stands behind it; a part may stand behind a part. */
const withThose = (node: LoopNode, behind: ReadonlyMap<LoopNode, readonly LoopNode[]>): readonly LoopNode[] => [
  node,
  ...(behind.get(node) ?? []).flatMap((part) => withThose(part, behind)),
];

/**
 * Of the nodes that make what a map reads, the one furthest down as they stand now: of a buffer in parts some may have moved up, and others
 * not.
 */
function lastMaker(
  node: LoopNode,
  makers: ReadonlyMap<BufferId, readonly LoopNode[]>,
  places: ReadonlyMap<LoopNode, Place>,
): LoopNode | undefined {
  if (node.kind !== 'map') return undefined;
  let last: LoopNode | undefined;
  for (const maker of new Set(loadsOf(node.body).flatMap(({ buffer }) => makers.get(buffer) ?? [])))
    if (last === undefined || isFurther(places.get(maker) ?? [], places.get(last) ?? [])) last = maker;
  return last;
}
