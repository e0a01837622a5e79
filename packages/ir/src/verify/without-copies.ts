// Copies of elements to where they lie already, left out: where the memory plan has a map write over what it copies, only the rest
// of its points is left; and where a part of an input is changed in place, that part. In: a group, and where its buffers lie. Out: the
// same group with shorter loops around such maps.
import { at, get } from '@tsinductor/base';
import type { LoopNode } from '../loop.ts';
import type { Group, LoopTree, Schedule } from '../schedule.ts';
import { writtenPart } from './overwrite.ts';
import { updatedPart } from './updated-part.ts';

export function withoutCopies(group: Group, { buffers }: Pick<Schedule, 'buffers'>): Group {
  const nodes = [...group.nodes];
  const shortened = (tree: LoopTree): LoopTree => {
    const [only, ...others] = tree.children;
    if (only?.kind !== 'node' || others.length > 0)
      return { ...tree, children: tree.children.map((child) => (child.kind === 'loops' ? shortened(child) : child)) };
    const node = at(nodes, only.node);
    const part = updatedPart(writtenPart(node, buffers), buffers);
    if (part === node || !hasAllLoops(tree, part)) return tree;
    nodes[only.node] = part;
    return { ...tree, loops: loopsAround(part, tree) };
  };
  return { ...group, nest: shortened(group.nest), nodes };
}

/** Whether the loops of a tree are those of its node, none of them further out. */
const hasAllLoops = ({ loops }: LoopTree, { axes }: LoopNode): boolean =>
  loops.length === axes.length && axes.every(({ name }) => loops.some(({ axis }) => axis.name === name));

/** The loops of a tree that has one node, as long as that is. */
function loopsAround({ axes }: LoopNode, { loops }: LoopTree): LoopTree['loops'] {
  const own = new Map(axes.map((axis) => [axis.name, axis]));
  return loops.map((band) => ({ ...band, axis: get(own, band.axis.name) }));
}
