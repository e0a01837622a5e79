// From a cluster to a Group's nest: stages become loop trees below the shared loops, and buffers that only the group
// uses become locals. Where there is one stage only, its loops and the shared ones are one nest.
import { at } from '@tsinductor/base';
import { int, product, substitute } from '@tsinductor/ir';
import type { Axis, BufferId, LocalBuffer, LoopBand, LoopNode, LoopTree, NodeRef } from '@tsinductor/ir';
import { denseAxes } from './align.ts';
import type { Cluster } from './cluster.ts';
import { compactRows, fitsRow } from './compact-rows.ts';
import type { Facts } from './facts.ts';
import { hasAxis, overOf, resultAxes } from './node-access.ts';
import type { Stage } from './stages.ts';

interface Nest {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  readonly tree: LoopTree;
  readonly locals: readonly LocalBuffer[];
}

export function buildNest(cluster: Cluster, given: readonly Stage[], facts: Facts): Nest {
  const positions = new Set(cluster.nodes.map(({ position }) => position));
  const isPrivate = (buffer: BufferId): boolean =>
    facts.decl(buffer).role === 'temporary' && facts.readers(buffer).every((reader) => positions.has(reader));
  const stages = compactRows(given, cluster, { facts, isPrivate });
  const nodes = stages.flatMap((stage) => stage.members.map(({ node }) => node));
  return { nodes, tree: buildTree(cluster, stages), locals: findLocals(stages, { cluster, facts, isPrivate }) };
}

function buildTree({ outer }: Cluster, stages: readonly Stage[]): LoopTree {
  // A product that sums over a shared loop adds to its result in each iteration of it.
  const summed = stages.flatMap(({ members }) => members.flatMap(({ node }) => overOf(node)));
  const shared = outer.map((axis): LoopBand => ({ axis, role: hasAxis(summed, axis) ? 'reduction' : 'parallel' }));
  let next = 0;
  const refs = (stage: Stage): readonly NodeRef[] => stage.members.map(() => ({ kind: 'node', node: next++ }));
  if (stages.length === 1) {
    const stage = at(stages, 0);
    return { kind: 'loops', loops: [...shared, ...bandsOf(stage)], children: refs(stage) };
  }
  const children = stages.flatMap((stage): readonly (LoopTree | NodeRef)[] =>
    stage.loops.length === 0 ? refs(stage) : [{ kind: 'loops', loops: bandsOf(stage), children: refs(stage) }],
  );
  return { kind: 'loops', loops: shared, children };
}

function bandsOf(stage: Stage): readonly LoopBand[] {
  const reduced = stage.members.flatMap(({ node }) => overOf(node));
  return stage.loops.map((axis) => ({ axis, role: hasAxis(reduced, axis) ? 'reduction' : 'parallel' }));
}

interface Locality {
  readonly cluster: Cluster;
  readonly facts: Facts;
  /** Whether nobody outside the group reads a buffer. */
  readonly isPrivate: (buffer: BufferId) => boolean;
}

function findLocals(stages: readonly Stage[], { cluster, facts, isPrivate }: Locality): readonly LocalBuffer[] {
  return stages.flatMap((stage) =>
    stage.members.flatMap(({ node }) =>
      node.outs.flatMap((buffer, slot): LocalBuffer[] => {
        // What nobody reads is computed for its checks: a map's value is dropped, what others write has a place.
        const isUnread = node.kind !== 'map' && facts.readers(buffer).length === 0;
        if (node.kind === 'sort' || isUnread || !isPrivate(buffer)) return [];
        const isPassing = isReadWithin(stage, buffer, facts) || innerAxes(node, cluster.outer).length === 0;
        if (isPassing) return [{ buffer, kind: 'scalar', size: int(1) }];
        return rowOf(node, slot, { cluster, facts });
      }),
    ),
  );
}

/** The loops of a node's results inside the shared ones. */
const innerAxes = (node: LoopNode, outer: readonly Axis[]): readonly Axis[] =>
  resultAxes(node).filter((axis) => !hasAxis(outer, axis));

/** Whether a map's value is only used by the stage that makes it, at the point that makes it. */
const isReadWithin = ({ members }: Stage, buffer: BufferId, facts: Facts): boolean =>
  facts.readers(buffer).every((reader) => members.some(({ position }) => position === reader));

/** A result that a later inner loop reads: kept per outer iteration, where it is dense, and small or never there as a whole. */
function rowOf(
  node: LoopNode,
  slot: number,
  { cluster, facts }: { readonly cluster: Cluster; readonly facts: Facts },
): LocalBuffer[] {
  const buffer = at(node.outs, slot);
  const inner = innerAxes(node, cluster.outer);
  const row = substitute(at(node.writes, slot), new Map(cluster.outer.map((axis) => [axis.name, int(0)])));
  const size = product(inner.map((axis) => axis.extent));
  const fits = cluster.streams === true || fitsRow(size, facts.decl(buffer).dtype);
  return fits && denseAxes(row, inner)?.length === inner.length ? [{ buffer, kind: 'row', size }] : [];
}
