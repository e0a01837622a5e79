// Sizes that a trace has proved equal become one. In: a graph over symbolic sizes, and the environment in which it was
// traced, when no more is asked of it. Out: the same graph in which every size that a guard made a number, or another
// size, is that: in metas, attributes and `sizes`. It holds where the environment's guards hold.
import { isAttrList } from '../argument-reader.ts';
import type { Attr, Graph, GraphNode, Meta } from '../graph.ts';
import { sizeAttr } from '../shape.ts';
import type { SizeEnvironment } from '../size-environment.ts';

export function resolveSizes(graph: Graph, environment: SizeEnvironment): Graph {
  if (graph.sizes.every(({ name }) => environment.isFree(name))) return graph;
  return {
    ...graph,
    nodes: graph.nodes.map((node) => resolveNode(node, environment)),
    sizes: graph.sizes.filter(({ name }) => environment.isFree(name)),
  };
}

function resolveNode(node: GraphNode, environment: SizeEnvironment): GraphNode {
  const results = node.results.map((meta) => resolveMeta(meta, environment));
  if (!('attrs' in node)) return { ...node, results };
  const attrs = Object.entries(node.attrs).map(([name, attr]) => [name, resolveAttr(attr, environment)] as const);
  const resolved = { ...node, results, attrs: Object.fromEntries(attrs) };
  if (resolved.kind !== 'host') return resolved;
  if (resolved.flow !== undefined) {
    const bodies = resolved.flow.bodies.map((body) => ({ ...body, graph: resolveSizes(body.graph, environment) }));
    return { ...resolved, flow: { ...resolved.flow, bodies } };
  }
  if (resolved.launch === undefined) return resolved;
  const operands = resolved.launch.operands.map((operand) => {
    const { shape, strides, offset } = operand.layout;
    const layout = { ...resolveLayout({ shape, strides }, environment), offset: environment.resolve(offset) };
    return { ...operand, layout };
  });
  return { ...resolved, launch: { ...resolved.launch, operands } };
}

const resolveMeta = (meta: Meta, environment: SizeEnvironment): Meta => ({
  ...resolveLayout(meta, environment),
  dtype: meta.dtype,
});

type Strided = Pick<Meta, 'shape' | 'strides'>;

const resolveLayout = ({ shape, strides }: Strided, environment: SizeEnvironment): Strided => ({
  shape: shape.map((size) => environment.resolve(size)),
  strides: strides.map((stride) => environment.resolve(stride)),
});

function resolveAttr(attr: Attr, environment: SizeEnvironment): Attr {
  if (typeof attr !== 'object' || attr === null) return attr;
  if (isAttrList(attr)) return attr.map((item) => resolveAttr(item, environment));
  return 'size' in attr ? sizeAttr(environment.resolve(attr.size)) : attr;
}
