// A group of clusters: the loops of each in their final order and names, its nest, and what is local to it. Several clusters
// stand one after another below no common loop, with names of their own for their loops.
import type { BufferId, Group, LoopNode, LoopTree, LocalBuffer, NodeRef } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import type { Facts } from './facts.ts';
import { finishAxes } from './finish-axes.ts';
import type { GroupNaming } from './group-names.ts';
import { orderLoops } from './loop-order.ts';
import { buildNest } from './nest.ts';
import { buffersRead } from './node-access.ts';
import { placeStages } from './stages.ts';

interface Making {
  readonly facts: Facts;
  readonly id: number;
  readonly nameOf: GroupNaming;
  /** Whether the order of loops follows the strides of accesses. */
  readonly pickOrder: boolean;
}

export function makeGroup(clusters: readonly Cluster[], { facts, id, nameOf, pickOrder }: Making): Group {
  const nodes: LoopNode[] = [];
  const trees: LoopTree[] = [];
  const locals: LocalBuffer[] = [];
  let axes = 0;
  for (const cluster of clusters) {
    const ordered = pickOrder ? orderLoops(cluster) : cluster;
    const finished = finishAxes({ cluster: ordered, stages: placeStages(ordered) }, axes);
    const nest = buildNest(finished.cluster, finished.stages, facts);
    trees.push(shifted(nest.tree, nodes.length));
    nodes.push(...nest.nodes);
    locals.push(...nest.locals);
    axes += finished.names;
  }
  const [only, ...others] = trees;
  const nest: LoopTree =
    only !== undefined && others.length === 0 ? only : { kind: 'loops', loops: [], children: trees };
  const isLocal = new Set<BufferId>(locals.map((local) => local.buffer));
  const made = new Set<BufferId>(nodes.flatMap((node) => node.outs));
  const reads = [...new Set(nodes.flatMap(buffersRead))].filter((buffer) => !made.has(buffer));
  const writes = [...made].filter((buffer) => !isLocal.has(buffer));
  return { id, name: nameOf(nodes), nodes, nest, locals, reads, writes };
}

/** The tree over nodes that stand `by` places further on. */
function shifted(tree: LoopTree, by: number): LoopTree {
  if (by === 0) return tree;
  const shift = (child: LoopTree | NodeRef): LoopTree | NodeRef =>
    child.kind === 'node' ? { kind: 'node', node: child.node + by } : shifted(child, by);
  return { ...tree, children: tree.children.map(shift) };
}
