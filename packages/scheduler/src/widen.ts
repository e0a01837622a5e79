// A small pointwise cluster in the loops of a larger one (`expandDimensionForPointwiseNodes`): both read a buffer, the larger at
// its first points only, as a concatenation with zeros does and a cast of the same array beside it. The small one runs in the
// first points of loops that are longer than its own, as `LoopTree` allows; code generation cuts these loops where it ends.
//
// In: two clusters that nothing else forbids to be one. Out: their union, which joins no third, or why there is none.
import { axisIndex, coefficientOf, equal, int, isAtMost, multiply, product, sum } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { alignAxes, denseAxes } from './align.ts';
import type { Splits } from './align.ts';
import { orderAxes, refusal, refuseSplits, reorders, splitCluster, success } from './cluster.ts';
import type { Cluster, Joining, Outcome } from './cluster.ts';
import { bodyReads } from './node-access.ts';
import { exactQuotient } from './normalize-axes.ts';

interface Widening extends Omit<Joining, 'link'> {
  /** What both read. */
  readonly buffer: BufferId;
}

/** `small` in the loops of `large`. */
export function widenCluster(small: Cluster, large: Cluster, widening: Widening): Outcome<Cluster> {
  if (!small.elementwise || !large.elementwise) return refusal('only pointwise work runs in a part of a loop');
  const splits = splitsInto(small, large, widening);
  if (splits === undefined) return refusal('the larger does not read it from its first point on');
  const refused = refuseSplits(small, splits, widening);
  if (refused !== undefined) return refusal(refused);
  const split = splitCluster(small, splits);
  const fitted = split.nodes.map((member) => orderAxes(member, large.outer));
  const nodes = [...fitted, ...large.nodes].sort((x, y) => x.position - y.position);
  const joined: Cluster = { nodes, outer: large.outer, elementwise: false };
  if (!widening.mayReorder && reorders(split, joined)) return refusal('the order of loops would have to change');
  return success(joined);
}

/** What the loops of `small` become to be called as those of `large`. */
function splitsInto(small: Cluster, large: Cluster, { buffer, fresh }: Widening): Splits | undefined {
  const [own] = placesOf(small, buffer).flatMap(({ node, place }) => wholly(place, node));
  if (own === undefined) return undefined;
  const size = product(own.map((axis) => axis.extent));
  for (const { place } of placesOf(large, buffer)) {
    const box = firstPoints(place, large.outer, size);
    const aligned = box === undefined ? undefined : alignAxes(box, own, fresh);
    const isKept = [...(aligned?.left ?? [])].every(([name, pieces]) => pieces.every((piece) => piece.name === name));
    if (aligned !== undefined && isKept) return aligned.right;
  }
  return undefined;
}

interface ReadPlace {
  readonly node: LoopNode;
  readonly place: Index;
}

const placesOf = ({ nodes }: Cluster, buffer: BufferId): readonly ReadPlace[] =>
  nodes.flatMap(({ node }) =>
    bodyReads(node).flatMap((read) => (read.buffer === buffer ? [{ node, place: read.at }] : [])),
  );

/** The loops of a node by which it reads an array element by element, where that is all of them. */
function wholly(place: Index, { axes }: LoopNode): readonly (readonly Axis[])[] {
  const dense = denseAxes(place, axes);
  return dense?.length === axes.length ? [dense] : [];
}

/**
 * The first points of loops at which `place` runs through an array of `size` elements: axes of the same names that are as long as
 * that, outermost first, and none longer than its loop. Undefined where it does not.
 */
function firstPoints(place: Index, loops: readonly Axis[], size: Index): readonly Axis[] | undefined {
  const steps = loops.map((axis) => ({ axis, stride: coefficientOf(place, axis) ?? int(0) }));
  const read = sum(steps.map(({ axis, stride }) => multiply(axisIndex(axis), stride)));
  if (!equal(read, place)) return undefined;
  const box: Axis[] = [];
  let reach = size;
  let left = steps;
  while (left.length > 0) {
    const next = left.find(({ stride }) => left.every((other) => exactQuotient(stride, other.stride) !== undefined));
    const extent = next === undefined ? undefined : exactQuotient(reach, next.stride);
    if (next === undefined || extent === undefined || !isAtMost(extent, next.axis.extent)) return undefined;
    box.push({ name: next.axis.name, extent });
    reach = next.stride;
    left = left.filter((one) => one !== next);
  }
  return equal(reach, int(1)) ? box : undefined;
}

/** Whether a node runs in the first points of some loop of its cluster only. */
export const isShorter = ({ axes }: LoopNode, { outer }: Cluster): boolean =>
  axes.some(({ name, extent }) => outer.some((axis) => axis.name === name && !equal(axis.extent, extent)));
