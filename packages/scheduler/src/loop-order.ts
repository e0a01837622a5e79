// The order of a cluster's outer loops: the innermost is the one along which most accesses are contiguous, stores above
// all; the others follow the order of memory, so that neighbours can be joined. Reductions keep their own order inside.
import { at, get } from '@tsinductor/base';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, LoopNode } from '@tsinductor/ir';
import { denseAxes } from './align.ts';
import type { Cluster } from './cluster.ts';
import { bodyReads, hasAxis, resultAxes } from './node-access.ts';

/** A contiguous store saves this many contiguous loads. */
const STORE_WEIGHT = 2;

export function orderLoops(cluster: Cluster): Cluster {
  if (cluster.outer.length < 2) return cluster;
  const candidates = cluster.nodes.flatMap(({ node }) =>
    node.writes.flatMap((write) => memoryOrder(cluster, denseAxes(write, resultAxes(node)))),
  );
  let best: { readonly outer: readonly Axis[]; readonly score: number } | undefined;
  const tried = new Set<string>();
  for (const outer of candidates) {
    const innermost = at(outer, outer.length - 1);
    if (tried.has(innermost.name)) continue;
    tried.add(innermost.name);
    const score = contiguousAccesses(cluster, innermost);
    if (best === undefined || score > best.score) best = { outer, score };
  }
  if (best === undefined) return cluster;
  const { outer } = best;
  const nodes = cluster.nodes.map(({ node, position }) => ({
    position,
    node:
      node.kind === 'contract'
        ? node
        : { ...node, axes: [...ownOf(node, outer), ...node.axes.filter((axis) => !hasAxis(outer, axis))] },
  }));
  return { ...cluster, nodes, outer };
}

/** The outer loops in the order in which a write runs through them, if it has all of them. */
function memoryOrder(cluster: Cluster, dense: readonly Axis[] | undefined): readonly (readonly Axis[])[] {
  const order = dense?.flatMap((axis) => cluster.outer.find(({ name }) => name === axis.name) ?? []);
  return order?.length === cluster.outer.length ? [order] : [];
}

/** The loops of a node in an order of outer loops, which may be longer. */
function ownOf({ axes }: LoopNode, outer: readonly Axis[]): readonly Axis[] {
  const own = new Map(axes.map((axis) => [axis.name, axis]));
  return outer.map(({ name }) => get(own, name));
}

function contiguousAccesses({ nodes, elementwise }: Cluster, innermost: Axis): number {
  return nodes.reduce((score, { node }) => {
    const stores = node.writes.filter((write) => isContiguous(write, innermost)).length;
    const loads = elementwise ? bodyReads(node).filter((read) => isContiguous(read.at, innermost)).length : 0;
    return score + STORE_WEIGHT * stores + loads;
  }, 0);
}

function isContiguous(index: Parameters<typeof coefficientOf>[0], axis: Axis): boolean {
  const stride = coefficientOf(index, axis);
  return stride?.kind === 'int' && stride.value === 1;
}
