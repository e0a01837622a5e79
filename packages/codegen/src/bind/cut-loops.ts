// Loops that some nodes share only the first points of (a law of `LoopTree`), cut where these end: a part in which all nodes run,
// and the rest, in which the others do. Nobody has to test where it is; and comparisons of coordinates that hold everywhere or
// nowhere in a part go, where the target decides bounds. In and out: a group. In the group that comes out, a buffer may be
// written in parts, by nodes one after another.
import { at } from '@tsinductor/base';
import { add, axisIndex, decideBounds, equal, replaceAxis, subtract } from '@tsinductor/ir';
import type { Axis, Group, LoopBand, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';

/** `group` with no node that runs in the first points of a loop only. */
export function cutLoops(group: Group, bounds: 'decided' | 'kept'): Group {
  const nodes = [...group.nodes];
  const nest = cutTree(group.nest, nodes);
  if (nest === group.nest) return group;
  return { ...group, nest, nodes: bounds === 'kept' ? nodes : nodes.map((node) => decideBounds(node, 'indices')) };
}

/** The axes of a node that are shorter than the loops of their names. */
export const shorterAxes = (node: LoopNode, loops: readonly LoopBand[]): readonly Axis[] =>
  node.axes.filter(({ name, extent }) => loops.some(({ axis }) => axis.name === name && !equal(axis.extent, extent)));

/** Rewrites nodes in place, and adds those of the rests at the end. */
function cutTree(tree: LoopTree, nodes: LoopNode[]): LoopTree {
  const refs = tree.children.filter((child): child is NodeRef => child.kind === 'node');
  const [short] = refs.flatMap(({ node }) => shorterAxes(at(nodes, node), tree.loops));
  if (short === undefined) {
    const children = tree.children.map((child) => (child.kind === 'loops' ? cutTree(child, nodes) : child));
    return children.every((child, position) => child === tree.children[position]) ? tree : { ...tree, children };
  }
  const band = at(
    tree.loops,
    tree.loops.findIndex(({ axis }) => axis.name === short.name),
  );
  const rest: Axis = { name: short.name, extent: subtract(band.axis.extent, short.extent) };
  const loopsAlong = (axis: Axis): readonly LoopBand[] =>
    tree.loops.map((own) => (own === band ? { ...own, axis } : own));
  const long = refs.filter(({ node }) => isAlong(at(nodes, node), band.axis));
  const behind = long.map(({ node }): NodeRef => {
    const moved = replaceAxis(at(nodes, node), rest, add(axisIndex(rest), short.extent));
    return { kind: 'node', node: nodes.push({ ...moved, id: nodes.length }) - 1 };
  });
  for (const { node } of long) nodes[node] = replaceAxis(at(nodes, node), short, axisIndex(short));
  const parts: readonly LoopTree[] = [
    { kind: 'loops', loops: loopsAlong(short), children: refs },
    { kind: 'loops', loops: loopsAlong(rest), children: behind },
  ];
  return { kind: 'loops', loops: [], children: parts.map((part) => cutTree(part, nodes)) };
}

const isAlong = ({ axes }: LoopNode, { name, extent }: Axis): boolean =>
  axes.some((axis) => axis.name === name && equal(axis.extent, extent));
