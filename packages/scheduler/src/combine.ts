// Combined kernels: independent clusters that one kernel runs one after another, so that an optimiser's step over fifty
// parameters is one launch and not fifty. Clusters at the same distance from the inputs are independent of each other, and
// running them together delays nothing that waits for them. What they would keep alive longer (temporaries of some size)
// keeps a cluster out, unless it is one buffer of which all fill parts, as the borders of an image are.
//
// In: clusters in an order that respects data dependence. Out: combinations, most of one cluster, in such an order.
import { at, dtypeInfo } from '@tsinductor/base';
import { printIndex, product } from '@tsinductor/ir';
import type { BufferId, Decision, LoopNode } from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import type { Cluster } from './cluster.ts';
import { isEmptyAxis } from './empty-nodes.ts';
import type { Facts } from './facts.ts';
import type { FusionTrial } from './fusion-trial.ts';
import { bodiesOf, loopsOf } from './node-access.ts';
import { makersOf } from './order-groups.ts';

/** A cluster that touches larger temporaries stays alone: together, more of them would live at a time. */
const TEMPORARY_BYTES = 64 * 1024;

interface Combined {
  readonly combinations: readonly (readonly Cluster[])[];
  readonly decisions: readonly Decision[];
}

/** What decides on the company of a cluster. */
interface Candidate {
  /** What it computes, whatever the buffers and sizes are. */
  readonly signature: string;
  readonly size: string;
  readonly isSymbolic: boolean;
  readonly buffers: ReadonlySet<BufferId>;
  /** The temporary of which all clusters of the combination fill parts; empty where it has none. */
  readonly fills: string;
}

interface Combination {
  readonly clusters: Cluster[];
  /** The same, where others may join them. */
  readonly members: Candidate[];
  readonly buffers: Set<BufferId>;
}

interface CombineOptions {
  readonly choices: Choices;
  /** Times what would be combined; what is slower together stays apart. */
  readonly trial: FusionTrial | undefined;
}

export function combineClusters(
  clusters: readonly Cluster[],
  facts: Facts,
  { choices, trial }: CombineOptions,
): Combined {
  const measured = new Map<Combination, string>();
  const rejected: Decision[] = [];
  const isFaster = (combination: Combination, cluster: Cluster): boolean => {
    const { clusters: before } = combination;
    const ways = { together: [[...before, cluster]], apart: [before, [cluster]] };
    const { isJoined, says } = trial?.decide(ways) ?? { isJoined: true, says: undefined };
    if (says === undefined) return true;
    if (isJoined) measured.set(combination, `; ${says}`);
    else
      rejected.push({
        kind: 'rejected',
        nodes: [...before, cluster].map(({ nodes }) => facts.nameOf(at(nodes, 0).node)),
        reason: says,
      });
    return isJoined;
  };
  const levels = levelsOf(clusters, facts);
  const open = new Map<string, Combination[]>();
  const combinations: Combination[] = [];
  for (const [position, cluster] of clusters.entries()) {
    const alone: Combination = { clusters: [cluster], members: [], buffers: buffersOf(cluster, facts) };
    const fills = fillOf(alone, facts);
    const candidate = fills === undefined ? undefined : candidateOf(cluster, alone.buffers, fills);
    if (candidate === undefined) {
      combinations.push(alone);
      continue;
    }
    const level = `${String(at(levels, position))} ${candidate.fills}`;
    const keys = [`${level} ${candidate.signature}`, level];
    const joined = [...new Set(keys.flatMap((key) => open.get(key) ?? []))].find(
      (combination) =>
        choices.refuseCombination(describe(combination, candidate)) === undefined && isFaster(combination, cluster),
    );
    if (joined === undefined) {
      alone.members.push(candidate);
      combinations.push(alone);
      for (const key of keys) open.set(key, [alone, ...(open.get(key) ?? [])].slice(0, OPEN));
    } else {
      joined.clusters.push(cluster);
      joined.members.push(candidate);
      for (const buffer of candidate.buffers) joined.buffers.add(buffer);
    }
  }
  const combined = combinations.filter(({ members }) => members.length > 1);
  return {
    combinations: combinations.map((combination) => combination.clusters),
    decisions: [
      ...combined.map((all) => decision(all.clusters, { facts, note: measured.get(all) ?? '' })),
      ...rejected,
    ],
  };
}

/** Combinations that are tried for a cluster: full ones are behind them. */
const OPEN = 4;

interface Telling {
  readonly facts: Facts;
  /** What was measured. */
  readonly note: string;
}

const decision = (clusters: readonly Cluster[], { facts, note }: Telling): Decision => ({
  kind: 'fused',
  nodes: clusters.map(({ nodes }) => facts.nameOf(at(nodes, 0).node)),
  reason: `they are independent, and one kernel runs them one after another${note}`,
});

/** How many clusters have to run before each one, along the longest way. */
function levelsOf(clusters: readonly Cluster[], facts: Facts): readonly number[] {
  const owner = new Map(
    clusters.flatMap((cluster) => cluster.nodes.map(({ position }) => [position, cluster] as const)),
  );
  const levels = new Map<Cluster, number>();
  return clusters.map((cluster) => {
    let level = 0;
    for (const maker of makersOf([cluster], owner, facts)) level = Math.max(level, 1 + (levels.get(maker) ?? 0));
    levels.set(cluster, level);
    return level;
  });
}

function buffersOf({ nodes }: Cluster, facts: Facts): Set<BufferId> {
  const buffers = new Set<BufferId>();
  for (const { node, position } of nodes) {
    for (const buffer of node.outs) buffers.add(buffer);
    for (const buffer of facts.reads(position)) buffers.add(buffer);
  }
  return buffers;
}

function candidateOf(cluster: Cluster, buffers: ReadonlySet<BufferId>, fills: string): Candidate {
  const nodes = cluster.nodes.map(({ node }) => node);
  return {
    buffers,
    fills,
    signature: nodes.map(signatureOf).join('; '),
    size: nodes.map((node) => printIndex(product(loopsOf(node).map((axis) => axis.extent)))).join(' '),
    isSymbolic: nodes.some((node) => loopsOf(node).some(({ extent }) => extent.kind !== 'int')),
  };
}

/** A node's operations in order. */
function signatureOf(node: LoopNode): string {
  const operations = bodiesOf(node).map((body) =>
    body.nodes
      .map((scalar) =>
        scalar.kind === 'apply'
          ? scalar.op
          : scalar.kind === 'constant'
            ? JSON.stringify(scalar.value)
            : `${scalar.kind} ${scalar.dtype}`,
      )
      .join(),
  );
  return `${node.kind} ${operations.join(' | ')}`;
}

const isLoops = ({ kind }: LoopNode): boolean => kind !== 'contract' && kind !== 'scatter' && kind !== 'sort';

/**
 * The temporary of which a cluster fills a part, as all that it is combined with have to; empty where it fills a part of none. Undefined
 * where the cluster is combined with nothing.
 */
function fillOf({ clusters, buffers }: Combination, facts: Facts): string | undefined {
  const isPlain = clusters.every(({ nodes }) =>
    nodes.every(({ node }) => isLoops(node) && !loopsOf(node).some(isEmptyAxis)),
  );
  if (!isPlain) return undefined;
  const [only] = buffers;
  const isPart = buffers.size === 1 && only !== undefined && facts.isInParts(only);
  // What fills a part and reads nothing runs as early as it is asked to: with that of other buffers, all of them would live from there on.
  if (isPart && facts.decl(only).role === 'temporary') return String(only);
  return [...buffers].every((buffer) => isSmall(buffer, facts)) ? '' : undefined;
}

function isSmall(buffer: BufferId, facts: Facts): boolean {
  const { role, size, dtype } = facts.decl(buffer);
  return role !== 'temporary' || (size.kind === 'int' && size.value * dtypeInfo[dtype].bytes <= TEMPORARY_BYTES);
}

function describe(
  { members, buffers }: Combination,
  candidate: Candidate,
): Parameters<Choices['refuseCombination']>[0] {
  return {
    buffers: new Set([...buffers, ...candidate.buffers]).size,
    isAlike: members.every(({ signature }) => signature === candidate.signature),
    isOneSize: members.every(({ size }) => size === candidate.size),
    isSymbolic: [...members, candidate].some(({ isSymbolic }) => isSymbolic),
  };
}
