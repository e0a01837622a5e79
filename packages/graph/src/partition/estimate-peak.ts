// About how many bytes live at a time in a graph that runs in the order of its calls: for choosing among partitions before any is
// scheduled. What views stand for lives as long as they are used; a value for each element that is used once stands in its user.
import { at } from '@tsinductor/base';
import type { Graph, NodeId } from '../graph.ts';
import { argumentsOf } from './joint-graph.ts';
import { costKindOf } from './cost-kind.ts';
import type { ValueCosts } from './value-costs.ts';

export function estimatePeak(graph: Graph, costs: Pick<ValueCosts, 'ownBytes'>): number {
  const { nodes } = graph;
  const outputs = new Set(graph.outputs.map(({ node }) => node));
  const uses = nodes.map(() => 0);
  for (const node of nodes) for (const { node: used } of argumentsOf(node)) uses[used] = at(uses, used) + 1;
  const isStored = (id: NodeId): boolean => {
    const node = at(nodes, id);
    if (node.kind !== 'call' || outputs.has(id)) return false;
    const kind = costKindOf(node);
    if (kind === 'view' || kind === 'created') return false;
    return kind !== 'pointwise' || at(uses, id) > 1;
  };
  const last = nodes.map(({ id }) => id);
  for (let id = nodes.length - 1; id >= 0; id -= 1) {
    const node = at(nodes, id);
    const through = isStored(id) || outputs.has(id) || node.kind !== 'call' ? id : at(last, id);
    for (const { node: used } of argumentsOf(node)) last[used] = Math.max(at(last, used), through);
  }
  const freed = new Map<NodeId, number>();
  let [live, peak] = [0, 0];
  for (const node of nodes) {
    if (isStored(node.id)) {
      const bytes = costs.ownBytes(node);
      live += bytes;
      peak = Math.max(peak, live);
      const end = at(last, node.id);
      freed.set(end, (freed.get(end) ?? 0) + bytes);
    }
    live -= freed.get(node.id) ?? 0;
  }
  return peak;
}
