// A sort has results that somebody reads, and may have others: those need not be written.
import { at } from '@tsinductor/base';
import type { LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';

/** The node, a sort without those of its outs that nobody needs. */
export function withoutUnreadOuts(node: LoopNode, needed: ReadonlySet<BufferId>): LoopNode {
  if (node.kind !== 'sort' || node.outs.every((out) => needed.has(out))) return node;
  const kept = node.outs.flatMap((out, position) => (needed.has(out) ? [position] : []));
  return {
    ...node,
    outs: kept.map((position) => at(node.outs, position)),
    writes: kept.map((position) => at(node.writes, position)),
    results: kept.map((position) => at(node.results, position)),
  };
}
