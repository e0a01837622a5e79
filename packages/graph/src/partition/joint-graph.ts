// A graph with a backward pass in it, taken apart: what depends on cotangents, and what of the rest that part reads. In: a graph
// of primitives, whose calls carry the marks of the trace. The criterion is closed: a call is late if a backward pass made it from
// cotangents, or if it uses a late value (as an optimiser's step does). So no early call ever needs a late one.
import { at } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, NodeId } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { costKindOf } from './cost-kind.ts';
import { rowsBetween } from './rows-between.ts';
import type { RowLimits } from './rows-between.ts';

/** A symbolic size counts as this where bytes have to be compared. */
const TYPICAL_SIZE = 256;

export interface JointGraph {
  readonly graph: Graph;
  /** Calls that depend on cotangents. */
  readonly late: ReadonlySet<NodeId>;
  /** The other calls, in order. */
  readonly early: readonly CallNode[];
  /** Nodes of the graph by number whose results are outputs of it: their memory lives anyway. */
  readonly outputs: ReadonlySet<NodeId>;
  /** Early nodes that late calls use as they are. */
  readonly crossing: ReadonlySet<NodeId>;
  /** Early calls within a `checkpoint` whose values do not leave it in the forward pass: they are not kept. */
  readonly dropped: ReadonlySet<NodeId>;
  /** Those of `dropped` that are rows between matrix products, where kernels keep such rows in a cache (see rows-between.ts). */
  readonly between: ReadonlySet<NodeId>;
  /** A size as a number. */
  readonly sizeOf: (size: Index) => number;
}

/** Undefined where no backward pass made any of it. `rowLimits`: which rows between matrix products are not kept; none, if absent. */
export function jointGraph(graph: Graph, rowLimits?: RowLimits): JointGraph | undefined {
  const late = lateCalls(graph);
  if (late.size === 0) return undefined;
  const early = graph.nodes.filter((node): node is CallNode => node.kind === 'call' && !late.has(node.id));
  const outputs = new Set(graph.outputs.map(({ node }) => node));
  const crossing = new Set<NodeId>();
  for (const id of late)
    for (const { node } of argumentsOf(at(graph.nodes, id))) if (!late.has(node)) crossing.add(node);
  const sizes = new Map(graph.sizes.map(({ name }) => [name, TYPICAL_SIZE]));
  const sizeOf = (size: Index): number => (size.kind === 'int' ? size.value : evaluateIndex(size, { sizes }));
  const between = rowLimits === undefined ? new Set<NodeId>() : rowsBetween({ graph, late, outputs }, rowLimits);
  const dropped = new Set([...droppedCalls({ graph, early, outputs }), ...between]);
  return { graph, late, early, outputs, crossing, dropped, between, sizeOf };
}

export const argumentsOf = (node: GraphNode): ReturnType<typeof valuesOf> =>
  'args' in node ? valuesOf(node.args) : [];

function lateCalls({ nodes }: Graph): ReadonlySet<NodeId> {
  const late = new Set<NodeId>();
  for (const node of nodes) {
    if (node.kind !== 'call') continue;
    const isLate = node.origin.pass === 'backward' || valuesOf(node.args).some((value) => late.has(value.node));
    if (isLate) late.add(node.id);
  }
  return late;
}

function droppedCalls({ graph, early, outputs }: Pick<JointGraph, 'graph' | 'early' | 'outputs'>): ReadonlySet<NodeId> {
  const leaves = new Set<NodeId>(outputs);
  for (const node of early) {
    // What is done for a backward pass alone may be done there again.
    if (node.origin.pass === 'residual') continue;
    for (const { node: used } of valuesOf(node.args)) {
      if (at(graph.nodes, used).origin.region !== node.origin.region) leaves.add(used);
    }
  }
  const dropped = new Set<NodeId>();
  for (const { id, origin, args } of early) {
    const isInside = origin.region !== undefined && !leaves.has(id);
    const isMadeOfIt = origin.pass === 'residual' && valuesOf(args).some((value) => dropped.has(value.node));
    if (isInside || isMadeOfIt) dropped.add(id);
  }
  return dropped;
}

/** For each node the one whose memory it is in. */
export function rootsOf({ graph: { nodes } }: JointGraph): readonly NodeId[] {
  const roots: NodeId[] = [];
  for (const node of nodes) {
    const [first] = argumentsOf(node);
    const isView = node.kind === 'call' && costKindOf(node) === 'view' && first !== undefined;
    roots.push(isView ? at(roots, first.node) : node.id);
  }
  return roots;
}
