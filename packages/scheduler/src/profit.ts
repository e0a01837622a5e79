// Whether a legal group is also a good one. Everything here is heuristics: a refusal is a reason, not a law.
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, LoopNode, MapNode } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import { bodyCost, HEAVY } from './inline-policy.ts';
import { bodyReads, namesOf } from './node-access.ts';
import { innerLoops } from './stages.ts';
import type { Stage } from './stages.ts';

/** With fewer outer iterations than this, the inner loops have to be shared among threads instead. */
const FEW_ITERATIONS = 4;
/** Inner loops of up to this many points are not worth sharing. */
const SMALL_LOOP = 32 * 1024;
/** Columns up to this long stay in the cache while they are walked again. */
const SHORT_COLUMN = 512;

interface Taste {
  /** Whether pointwise work in the loops of a reduction may step across its rows of memory. */
  readonly mayWalkColumns: boolean;
}

/** Why the stages had better not be one kernel; undefined: they may. */
export function unprofitable(
  cluster: Cluster,
  stages: readonly Stage[],
  { mayWalkColumns }: Taste,
): string | undefined {
  const nests = stages.filter((stage) => stage.loops.length > 0);
  if (points(cluster.outer) < FEW_ITERATIONS && stages.some(hasHeavyBesideScan))
    return 'it is expensive, and would run in the loop of a scan, one element at a time';
  if (stages.length < 2 || nests.length === 0) return undefined;
  const longest = Math.max(...nests.map((stage) => points(stage.loops)));
  if (nests.length > 1 && points(cluster.outer) < FEW_ITERATIONS && longest > SMALL_LOOP) {
    return 'there are too few outer iterations to share among threads';
  }
  if (mayWalkColumns) return undefined;
  const isColumn = cluster.nodes.some(({ node }) => walksColumns(node, cluster.outer));
  return isColumn && (nests.length === 1 || longest > SHORT_COLUMN)
    ? 'it would walk down columns where memory lies in rows'
    : undefined;
}

/** Whether a map that is worth vectors shares the loop of a scan. */
function hasHeavyBesideScan({ members }: Stage): boolean {
  return (
    members.some(({ node }) => node.kind === 'scan') &&
    members.some(({ node }) => node.kind === 'map' && bodyCost(node.body).heaviest >= HEAVY)
  );
}

/** Points of a loop nest; Infinity where that is not known. */
function points(loops: readonly Axis[]): number {
  return loops.reduce((total, { extent }) => total * (extent.kind === 'int' ? extent.value : Infinity), 1);
}

/** A map whose neighbours in memory are neighbours of an outer loop. */
function walksColumns(node: LoopNode, outer: readonly Axis[]): boolean {
  if (node.kind !== 'map' || innerLoops(node, outer).length === 0) return false;
  const names = namesOf(outer);
  return node.writes.some((write) =>
    node.axes.some((axis) => names.has(axis.name) && isOne(coefficientOf(write, axis))),
  );
}

/** Why maps that alone would walk along rows of memory had better not share loops with what walks across rows too. */
export function mixedTilings({ nodes }: Cluster): string | undefined {
  const along = nodes.map(({ node }) => (node.kind === 'map' ? unitAxes(node) : new Set<string>()));
  const together = new Set(along.flatMap((axes) => [...axes]));
  return together.size > 1 && along.some((axes) => axes.size === 1)
    ? 'one walks along rows of memory that the other walks across'
    : undefined;
}

/** The loops whose next iteration is the next element of something that the map reads or writes. */
function unitAxes(node: MapNode): ReadonlySet<string> {
  const places = [...bodyReads(node).map((read) => read.at), ...node.writes];
  return new Set(
    node.axes.filter((axis) => places.some((place) => isOne(coefficientOf(place, axis)))).map(({ name }) => name),
  );
}

const isOne = (index: ReturnType<typeof coefficientOf>): boolean => index?.kind === 'int' && index.value === 1;
