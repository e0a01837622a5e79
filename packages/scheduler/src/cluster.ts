// A group while it grows: nodes over the same outer loops. Joining two clusters aligns their loops through a buffer that
// both touch, and checks that every value which passes between them is made in the iteration that uses it.
//
// Invariants: all nodes of a cluster have all of `outer` among their axes (an `elementwise` one has no others), and every
// value that one node of it reads from another comes from the same point of `outer`.
import { at } from '@tsinductor/base';
import { axisIndex, equal, producingPoint } from '@tsinductor/ir';
import type { Axis, BufferId, LoopNode } from '@tsinductor/ir';
import { alignAxes, denseAxes, splitList, splitMap } from './align.ts';
import type { Alignment, FreshAxis, Splits } from './align.ts';
import { bodyReads, hasAxis, isUnit, loopsOf, overOf, reindex, renameContract, resultAxes } from './node-access.ts';
import type { Read } from './node-access.ts';
import { overRows } from './over-rows.ts';

export interface Cluster {
  /** In program order. */
  readonly nodes: readonly Member[];
  readonly outer: readonly Axis[];
  /** Maps only, all loops of which are outer: any of them may still become inner. */
  readonly elementwise: boolean;
  /** A row of what passes between its nodes may be of any length: its kernel keeps none whole, or has workspace for them. */
  readonly streams?: boolean;
}

export interface Member {
  readonly node: LoopNode;
  /** Its place in the program. */
  readonly position: number;
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const success = <T>(value: T): Outcome<T> => ({ ok: true, value });
export const refusal = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

export const singleCluster = (node: LoopNode, position: number): Cluster => ({
  nodes: [{ node, position }],
  outer: node.kind === 'contract' ? node.axes.filter((axis) => !isUnit(axis)) : node.axes,
  elementwise: node.kind === 'map',
});

/**
 * What two clusters are aligned by: a buffer that `left` writes (`flow`) or reads too (`share`), or their outer loops alone
 * (`space`).
 */
export type Link = { readonly kind: 'flow' | 'share'; readonly buffer: BufferId } | { readonly kind: 'space' };

type BufferLink = Exclude<Link, { readonly kind: 'space' }>;

export interface Joining {
  readonly link: Link;
  readonly fresh: FreshAxis;
  /** Whether loops may be split, and whether their order may change, so that they fit. */
  readonly maySplit: boolean;
  readonly mayReorder: boolean;
}

/** The two clusters as one, or why not. `left` comes first. */
export function joinClusters(left: Cluster, right: Cluster, joining: Joining): Outcome<Cluster> {
  const aligned = alignThrough(left, right, joining);
  if (!aligned.ok) return aligned;
  const { left: here, right: there } = aligned.value;
  const inRows = joining.maySplit ? overRows(left, () => splitCluster(right, there), here) : undefined;
  if (inRows === undefined) return joinAligned(left, right, { ...joining, splits: aligned.value });
  const again = alignThrough(left, inRows, joining);
  return again.ok ? joinAligned(left, inRows, { ...joining, splits: again.value }) : again;
}

/** The two, over loops that were found to run through the same elements. */
function joinAligned(
  left: Cluster,
  right: Cluster,
  { splits: { left: here, right: there }, ...joining }: Joining & { readonly splits: Alignment },
): Outcome<Cluster> {
  const split = refuseSplits(left, here, joining) ?? refuseSplits(right, there, joining);
  if (split !== undefined) return refusal(split);
  // Most pairs end here: nodes are rebuilt for the others only.
  const shared = sharedOuter(splitOuter(left, here), splitOuter(right, there));
  if (!shared.ok) return shared;
  const outer = shared.value;
  const [a, b] = [splitCluster(left, here), splitCluster(right, there)];
  const nodes = [...a.nodes, ...b.nodes]
    .sort((x, y) => x.position - y.position)
    .map((member) => orderAxes(member, outer));
  const joined: Cluster = {
    nodes,
    outer,
    elementwise: a.elementwise && b.elementwise && outer.length === a.outer.length && outer.length === b.outer.length,
  };
  if (!joining.mayReorder && (reorders(a, joined) || reorders(b, joined)))
    return refusal('the order of loops would have to change');
  const crossing = crossesIterations(joined, new Set(left.nodes.map((member) => member.position)));
  return crossing === undefined ? success(joined) : refusal(crossing);
}

function alignThrough(left: Cluster, right: Cluster, { link, fresh }: Joining): Outcome<Alignment> {
  if (link.kind === 'space') {
    const alignment = alignAxes(left.outer, right.outer, fresh);
    return alignment === undefined ? refusal('their loops cannot be aligned') : success(alignment);
  }
  const here = link.kind === 'flow' ? writtenAxes(left, link.buffer) : readAxes(left, link);
  const there = readAxes(right, link);
  if (here === undefined || there === undefined) return refusal('it is not read element by element');
  const alignment = alignAxes(here, there, fresh);
  return alignment === undefined ? refusal('their loops cannot be aligned') : success(alignment);
}

/** A cluster of a product over the loops of another that reads what it writes: a product in that one keeps its loops. */
export function overLoopsOf(
  left: Cluster,
  right: Cluster,
  { link, fresh, maySplit }: Pick<Joining, 'fresh' | 'maySplit'> & { readonly link: BufferLink },
): Outcome<Cluster> {
  const [here, there] = [writtenAxes(left, link.buffer), readAxes(right, link)];
  const aligned = here && there && alignAxes(there, here, fresh);
  if (aligned === undefined || splitsLoops(aligned.left)) return refusal('their loops cannot be aligned');
  const several = new Map([...aligned.right].filter(([, pieces]) => pieces.length > 1));
  const refused = refuseSplits(left, several, { maySplit });
  return refused === undefined ? success(splitCluster(left, aligned.right)) : refusal(refused);
}

function writtenAxes(cluster: Cluster, buffer: BufferId): readonly Axis[] | undefined {
  for (const { node } of cluster.nodes) {
    const slot = node.outs.indexOf(buffer);
    if (slot !== -1) return denseAxes(at(node.writes, slot), resultAxes(node));
  }
  return undefined;
}

/**
 * The loops through which a cluster reads all of a buffer: of the read that uses most of them. What is only shared has
 * to be read by all loops of the node, or nothing is gained.
 */
function readAxes(cluster: Cluster, { buffer, kind }: BufferLink): readonly Axis[] | undefined {
  let best: readonly Axis[] | undefined;
  for (const { node } of cluster.nodes) {
    for (const read of bodyReads(node)) {
      if (read.buffer !== buffer) continue;
      const axes = denseAxes(read.at, loopsOf(node));
      if (kind === 'share' && axes?.length !== loopsOf(node).length) continue;
      if (axes !== undefined && axes.length > (best?.length ?? -1)) best = axes;
    }
  }
  return best;
}

/** Why a cluster's loops cannot be split as they would have to be. */
export function refuseSplits(
  { nodes }: Cluster,
  splits: Splits,
  { maySplit }: Pick<Joining, 'maySplit'>,
): string | undefined {
  if (!maySplit && splitsLoops(splits)) return 'loops would have to be split';
  const isScan = ({ node }: Member): boolean =>
    node.kind === 'scan' && node.over.some((axis) => (splits.get(axis.name)?.length ?? 1) > 1);
  if (nodes.some(isScan)) return 'the loop of a scan cannot be split';
  const split = splitMap(splits);
  // Its batch alone may be of any number of loops.
  const splitsProduct = ({ node }: Member): boolean =>
    node.kind === 'contract' && [node.m, node.n, ...node.over].some(({ name }) => split.has(name));
  return nodes.some(splitsProduct) ? 'rows and columns of a matrix product cannot be split' : undefined;
}

/** The cluster with some of its loops in pieces. */
export function splitCluster(cluster: Cluster, splits: Splits): Cluster {
  const map = splitMap(splits);
  if (map.size === 0) return cluster;
  const list = (axes: readonly Axis[]): readonly Axis[] => splitList(axes, splits);
  const nodes = cluster.nodes.map(({ node, position }) => ({
    position,
    node:
      node.kind === 'contract'
        ? renameContract(node, map, list)
        : reindex(node, { map, axes: list(node.axes), over: list(overOf(node)) }),
  }));
  return { ...cluster, nodes, outer: splitList(cluster.outer, splits) };
}

type OuterLoops = Pick<Cluster, 'outer' | 'elementwise'>;

/** A cluster's outer loops, some of them in pieces. */
const splitOuter = ({ outer, elementwise }: Cluster, splits: Splits): OuterLoops => ({
  outer: splitList(outer, splits),
  elementwise,
});

const splitsLoops = (splits: Splits): boolean => [...splits.values()].some((pieces) => pieces.length > 1);

/** Whether some node's loops stand in another order after joining. */
export function reorders(before: Cluster, after: Cluster): boolean {
  const names = new Map(after.nodes.map(({ node, position }) => [position, node.axes.map((axis) => axis.name).join()]));
  return before.nodes.some(({ node, position }) => names.get(position) !== node.axes.map((axis) => axis.name).join());
}

/** The loops that both can have outermost. */
function sharedOuter(left: OuterLoops, right: OuterLoops): Outcome<readonly Axis[]> {
  const aInB = left.outer.every((axis) => hasAxis(right.outer, axis));
  const bInA = right.outer.every((axis) => hasAxis(left.outer, axis));
  if (aInB && bInA) return success(right.outer);
  if (aInB && right.elementwise) return success(left.outer);
  if (bInA && left.elementwise) return success(right.outer);
  if (left.elementwise && !right.elementwise)
    return refusal('the reduction would need all of it in each of its outer iterations');
  return refusal('their outer loops differ');
}

/** A member with the cluster's outer loops first. */
export function orderAxes({ node, position }: Member, outer: readonly Axis[]): Member {
  if (node.kind === 'contract' || outer.every(({ name }, place) => node.axes[place]?.name === name))
    return { position, node };
  const own = new Map(node.axes.map((axis) => [axis.name, axis]));
  const first = outer.flatMap(({ name }) => own.get(name) ?? []);
  const axes = [...first, ...node.axes.filter((axis) => !hasAxis(first, axis))];
  return { position, node: { ...node, axes } };
}

/** The value that is used in another iteration than that which makes it, if there is one between the two sides. */
function crossesIterations({ nodes, outer }: Cluster, left: ReadonlySet<number>): string | undefined {
  const makers = new Map(
    nodes.flatMap(({ node, position }) => (left.has(position) ? node.outs.map((out) => [out, node] as const) : [])),
  );
  for (const { node, position } of nodes) {
    if (left.has(position)) continue;
    for (const read of bodyReads(node)) {
      const maker = makers.get(read.buffer);
      if (maker === undefined || isSameElement(maker, read)) continue;
      const point = pointOf(maker, read);
      const isHere = point !== undefined && outer.every((axis) => isAxis(point, axis));
      if (!isHere) return 'it is read in another iteration of the outer loops than that which makes it';
    }
  }
  return undefined;
}

/** Where in its loops a node is, by axis. */
type Point = ReturnType<typeof producingPoint>;

/** The point at which `maker` writes the element that is read. */
export const pointOf = (maker: LoopNode, read: Pick<Read, 'buffer' | 'at'>): Point =>
  producingPoint({ axes: resultAxes(maker), write: at(maker.writes, maker.outs.indexOf(read.buffer)) }, read.at);

/** Whether what is read at a point is what `maker` writes there, by the same expression: a write is injective. */
export const isSameElement = (maker: LoopNode, read: Pick<Read, 'buffer' | 'at'>): boolean =>
  equal(at(maker.writes, maker.outs.indexOf(read.buffer)), read.at);

/** Whether a point's coordinate along `axis` is the loop's own. */
export function isAxis(point: NonNullable<Point>, axis: Axis): boolean {
  const coordinate = point.get(axis.name);
  return coordinate !== undefined && equal(coordinate, axisIndex(axis));
}
