// A graph with symbolic sizes for one set of sizes: every Index in metas and attributes becomes the number that it is.
import { int, substitute } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Attr, Graph, GraphNode, Meta } from '@tsinductor/graph';

export function staticGraph(graph: Graph, sizes: ReadonlyMap<string, number>): Graph {
  if (graph.sizes.length === 0) return graph;
  const values = new Map([...sizes].map(([name, value]) => [name, int(value)]));
  const fixed = (index: Index): Index => (index.kind === 'int' ? index : substitute(index, values));
  const attr = (value: Attr): Attr => {
    if (Array.isArray(value)) return (value as readonly Attr[]).map(attr);
    if (typeof value === 'object' && value !== null && 'size' in value) {
      const size = fixed(value.size);
      return size.kind === 'int' ? size.value : { size };
    }
    return value;
  };
  const meta = ({ dtype, shape, strides }: Meta): Meta => ({
    dtype,
    shape: shape.map(fixed),
    strides: strides.map(fixed),
  });
  const node = (each: GraphNode): GraphNode => {
    const results = each.results.map(meta);
    if (each.kind !== 'call') return { ...each, results };
    const attrs = Object.fromEntries(Object.entries(each.attrs).map(([name, value]) => [name, attr(value)]));
    return { ...each, results, attrs };
  };
  return { ...graph, nodes: graph.nodes.map(node), sizes: [] };
}
