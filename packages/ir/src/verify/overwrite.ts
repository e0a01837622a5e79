// Whether a group may write a result over one of its inputs. It may if, whatever the order in which the loops around both
// accesses run, an element is never written before the last read of what lay there: a read has to happen in the same
// iteration of the loops that it shares with the write, and before it: in an earlier part of the nest, or at the very
// point that writes the element. The scheduler asks it when it places buffers, the verifier when it checks the places.
import { at } from '@tsinductor/base';
import { axisIndex } from '../arithmetic/polynomial.ts';
import { equal } from '../arithmetic/order.ts';
import { producingPoint } from '../body/inline-load.ts';
import { loadsOf } from '../body/traverse-body.ts';
import type { Axis, Index } from '../index-expr.ts';
import type { LoopNode } from '../loop.ts';
import type { BufferId } from '../scalar.ts';
import type { Group, LoopTree, NodeRef } from '../schedule.ts';
import { bodiesOf } from './verify-program.ts';

/** A node's place in the nest: the trees around it, outermost first, and when it runs among its group's nodes. */
interface Place {
  readonly node: LoopNode;
  readonly trees: readonly LoopTree[];
  readonly order: number;
}

/** Why `written` may not take the memory of `read` while the group runs; undefined: it may. */
export function cannotOverwrite(group: Group, read: BufferId, written: BufferId): string | undefined {
  const places = placesOf(group);
  const writers = places.filter(({ node }) => node.outs.includes(written));
  const [writer] = writers;
  if (writer === undefined || writers.length > 1) return 'it is not written by one loop';
  // Tiles of a product are written in several passes over its sum, before what follows it reads its own inputs.
  if (places.some(({ node }) => node.kind === 'contract' || node.kind === 'scatter'))
    return 'its elements may be written more than once';
  for (const place of places) {
    for (const { at: index } of bodiesOf(place.node)
      .flatMap(loadsOf)
      .filter(({ buffer }) => buffer === read)) {
      const reason = clash(writer, { place, index }, written);
      if (reason !== undefined) return reason;
    }
  }
  return undefined;
}

function placesOf(group: Group): readonly Place[] {
  const found: Place[] = [];
  const visit = (tree: LoopTree | NodeRef, trees: readonly LoopTree[]): void => {
    if (tree.kind === 'node') found.push({ node: at(group.nodes, tree.node), trees, order: found.length });
    else for (const child of tree.children) visit(child, [...trees, tree]);
  };
  visit(group.nest, []);
  return found;
}

function clash(
  writer: Place,
  { place, index }: { readonly place: Place; readonly index: Index },
  written: BufferId,
): string | undefined {
  const { node } = writer;
  if (place.order > writer.order) return 'an input is read after the result is written';
  const axes = node.kind === 'scan' ? [...node.axes, ...node.over] : node.axes;
  const point = producingPoint({ axes, write: at(node.writes, node.outs.indexOf(written)) }, index);
  const isHere = (axis: Axis): boolean => {
    const coordinate = point?.get(axis.name);
    return coordinate !== undefined && equal(coordinate, axisIndex(axis));
  };
  const shared = writer.trees.filter((tree) => place.trees.includes(tree));
  const isInnermost = shared.length === writer.trees.length && shared.length === place.trees.length;
  const loops = isInnermost ? axes : shared.flatMap((tree) => tree.loops.map(({ axis }) => axis));
  return loops.every(isHere) ? undefined : 'an input is read elsewhere than where the result is written';
}
