// Questions about a nest of loops: which nodes and loops are below, which buffers a node reads.
import { elementsOf, sortOperands } from '@tsinductor/ir';
import type { BufferId, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';

/** The positions of the nodes below `tree`, in execution order. */
export const nodesBelow = (tree: LoopTree): readonly number[] =>
  tree.children.flatMap((child) => (child.kind === 'node' ? [child.node] : nodesBelow(child)));

/** The loops of `tree` and of the trees below it. */
export const bandsBelow = (tree: LoopTree): readonly LoopBand[] =>
  tree.loops.concat(tree.children.flatMap((child) => (child.kind === 'node' ? [] : bandsBelow(child))));

/** Whether nothing but nodes stands in the loops of `tree`. */
export const isLeaf = (tree: LoopTree): boolean => tree.children.every((child) => child.kind === 'node');

export const parallelBands = (tree: LoopTree): readonly LoopBand[] =>
  tree.loops.filter((band) => band.role === 'parallel');

/** Whether a node writes or reads `buffer`. */
export function touches(node: LoopNode, buffer: BufferId): boolean {
  if (node.outs.includes(buffer)) return true;
  if (node.kind === 'sort') return sortOperands(node).some((operand) => operand.buffer === buffer);
  if (node.kind === 'contract' && [node.a, node.b].some((operand) => operand.buffer === buffer)) return true;
  const bodies =
    node.kind === 'map' || node.kind === 'scatter'
      ? [node.body]
      : node.kind === 'contract'
        ? elementsOf(node)
        : [node.init, node.step, node.finish];
  return bodies.some((body) => body.nodes.some((scalar) => scalar.kind === 'load' && scalar.buffer === buffer));
}
