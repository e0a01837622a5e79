// Which values of the forward pass to keep for the backward pass: a smallest cut. Every early node is two vertices; the edge between
// them is its bytes, and cutting it keeps the node. An edge from the source into a node is what computing it again costs in the
// currency of bytes (all the world where it must not be), and cutting that computes it again, from operands that are then needed
// as well. What late calls use hangs on the sink.
import { at } from '@tsinductor/base';
import type { GraphNode, NodeId } from '../graph.ts';
import { argumentsOf } from './joint-graph.ts';
import type { JointGraph } from './joint-graph.ts';
import { FlowNetwork } from './max-flow.ts';
import { costKindOf } from './cost-kind.ts';
import type { ValueCosts } from './value-costs.ts';

interface Pricing {
  readonly costs: ValueCosts;
  /** Whether a call may be computed again. */
  readonly mayRepeat: (id: NodeId) => boolean;
  /** Bytes that one operation of computing again is worth. */
  readonly bytesPerOperation: number;
}

/** The nodes whose results are kept, inputs and constants among them. */
export function savedCut(
  joint: JointGraph,
  { costs, mayRepeat: isAllowed, bytesPerOperation }: Pricing,
): ReadonlySet<NodeId> {
  const { graph, crossing, late } = joint;
  const mayRepeat = (id: NodeId): boolean => canRepeat(joint, id) && (joint.dropped.has(id) || isAllowed(id));
  const count = graph.nodes.length;
  const [source, sink] = [2 * count, 2 * count + 1];
  const network = new FlowNetwork(2 * count + 2);
  const [into, outOf] = [(id: NodeId): number => 2 * id, (id: NodeId): number => 2 * id + 1];
  for (const node of graph.nodes) {
    if (late.has(node.id)) continue;
    const { id } = node;
    network.connect(source, into(id), mayRepeat(id) ? priceOf(node, costs) * bytesPerOperation : Infinity);
    network.connect(into(id), outOf(id), isKeepable(joint, node) ? costs.bytes(node) : Infinity);
    for (const { node: used } of argumentsOf(node)) network.connect(outOf(used), into(id), Infinity);
    if (crossing.has(id)) network.connect(outOf(id), sink, Infinity);
  }
  // An operand hangs on its user: where the user is computed again, on the side of the sink, the operand is needed there.
  const early = network.cut(source, sink);
  return new Set(
    graph.nodes.flatMap(({ id }) => (!late.has(id) && early.has(into(id)) && !early.has(outOf(id)) ? [id] : [])),
  );
}

/** What only the backward pass needs is not computed twice when it is computed there. */
const priceOf = (node: GraphNode, costs: ValueCosts): number =>
  node.kind !== 'call' || node.origin.pass === 'residual' ? 0 : costs.time(node);

/** A view is kept by keeping what it is a view of, and what a checkpoint drops is not kept at all. */
function isKeepable(joint: JointGraph, node: GraphNode): boolean {
  if (node.kind !== 'call') return true;
  return costKindOf(node) !== 'view' && !(joint.dropped.has(node.id) && canRepeat(joint, node.id));
}

/** Whether a call can be computed again at all. */
export function canRepeat({ graph }: Pick<JointGraph, 'graph'>, id: NodeId): boolean {
  const node = at(graph.nodes, id);
  return node.kind === 'call' && costKindOf(node) !== 'checked';
}
