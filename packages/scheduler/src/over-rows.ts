// What follows a product element by element, over loops that its rows would have to be split into: over the loop of the rows
// instead, of which each of those is a quotient and a remainder. So a product of rows of places, as a convolution of 1 x 1 is, writes
// its elements to where they lie within the padding of the next one.
import { axisIndex, coefficientOf, floorDivide, modulo, product } from '@tsinductor/ir';
import type { Axis, Index, LoopNode } from '@tsinductor/ir';
import type { Splits } from './align.ts';
import type { Cluster } from './cluster.ts';
import { bodyReads, reindex } from './node-access.ts';

type Contract = LoopNode & { readonly kind: 'contract' };

/**
 * What follows a product in `left` over the product's rows, where alignment splits these; undefined where it does not, or where what
 * follows would not run along the product's columns.
 */
export function overRows(left: Cluster, following: () => Cluster, splits: Splits): Cluster | undefined {
  const products = left.nodes.flatMap(({ node }) => (node.kind === 'contract' ? [node] : []));
  const [split] = products.filter(({ m }) => (splits.get(m.name)?.length ?? 1) > 1);
  const pieces = split && splits.get(split.m.name);
  if (split === undefined || pieces?.every(({ extent }) => extent.kind === 'int') !== true) return undefined;
  const right = following();
  if (!right.elementwise) return undefined;
  const map = coordinatesIn(split.m, pieces);
  const joined = (axes: readonly Axis[]): readonly Axis[] => [
    ...axes.slice(0, firstOf(axes, map)),
    split.m,
    ...axes.slice(firstOf(axes, map)).filter(({ name }) => !map.has(name)),
  ];
  const nodes = right.nodes.map(({ node, position }) => ({
    position,
    node: reindex(node, { map, axes: joined(node.axes), over: [] }),
  }));
  return nodes.every(({ node }) => runsAlong(node, split))
    ? { ...right, nodes, outer: joined(right.outer) }
    : undefined;
}

const firstOf = (axes: readonly Axis[], map: ReadonlyMap<string, Index>): number =>
  axes.findIndex(({ name }) => map.has(name));

/** Each of the pieces of an axis, outermost first, as a coordinate of its points. */
function coordinatesIn(axis: Axis, pieces: readonly Axis[]): ReadonlyMap<string, Index> {
  return new Map(
    pieces.map((piece, position) => {
      const quotient = floorDivide(axisIndex(axis), product(pieces.slice(position + 1).map(({ extent }) => extent)));
      return [piece.name, position === 0 ? quotient : modulo(quotient, piece.extent)];
    }),
  );
}

/** Whether all that a node writes lies along the columns of a product, and all that it reads, if it depends on them. */
function runsAlong(node: LoopNode, { n }: Contract): boolean {
  const stepOf = (place: Index): number | undefined => {
    const step = coefficientOf(place, n);
    return step?.kind === 'int' ? step.value : undefined;
  };
  const reads = bodyReads(node).map((read) => stepOf(read.at));
  return node.writes.every((write) => stepOf(write) === 1) && reads.every((step) => step === 0 || step === 1);
}
