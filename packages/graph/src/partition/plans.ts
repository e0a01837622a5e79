// Partitions as graphs, with what they take; and those of them that are best for some budget.
import { at } from '@tsinductor/base';
import type { Graph, NodeId } from '../graph.ts';
import type { Candidate } from './candidates.ts';
import { estimatePeak } from './estimate-peak.ts';
import type { JointGraph } from './joint-graph.ts';
import { repeatedCalls, withRepeated } from './recompute.ts';
import type { Repeated } from './recompute.ts';
import { canRepeat } from './saved-cut.ts';
import type { ValueCosts } from './value-costs.ts';

interface Planning {
  readonly joint: JointGraph;
  readonly costs: ValueCosts;
  /** Bytes at the peak of a call of a graph, as it is scheduled. */
  readonly peakOf: (graph: Graph) => number;
}

/** A partition with what it takes. */
export interface Plan {
  /** How it was found. */
  readonly origin: string;
  readonly graph: Graph;
  /** What is computed again; undefined: nothing, and the graph is as it was. */
  readonly repeated: Repeated | undefined;
  /** What it adds to a call: operations, and time in operations. */
  readonly operations: number;
  readonly time: number;
  /** Bytes at the peak of a call, where it was scheduled. */
  readonly peak?: number;
}

/** So many partitions are scheduled to find out what they take. */
const MOST_SCHEDULED = 8;
/** and so many of them because they seem to take least memory. */
const LEAST_SCHEDULED = 3;

/** Everything is kept that no checkpoint drops. */
export const keepingAll = ({ joint, costs }: Planning): Plan =>
  planOf('keeps all', { joint, costs, isRepeated: (id) => joint.dropped.has(id) });

/** What the candidate does not keep is computed again, as far as it can be. */
export const planFor = ({ origin, saved }: Candidate, { joint, costs }: Planning): Plan =>
  planOf(origin, { joint, costs, isRepeated: (id) => !saved.has(id) || joint.dropped.has(id) });

interface Choosing extends Pick<Planning, 'joint' | 'costs'> {
  readonly isRepeated: (id: NodeId) => boolean;
}

function planOf(origin: string, { joint, costs, isRepeated }: Choosing): Plan {
  const repeated = repeatedCalls(joint, (id) => canRepeat(joint, id) && isRepeated(id));
  // What only the backward pass needs is not computed twice.
  const twice = repeated.calls.filter((node) => node.origin.pass !== 'residual');
  const sum = (cost: (node: (typeof twice)[number]) => number): number =>
    twice.reduce((total, node) => total + cost(node), 0);
  const [operations, time] = [sum((node) => costs.operations(node)), sum((node) => costs.time(node))];
  if (time === 0 && twice.length === 0) return { origin, graph: joint.graph, repeated: undefined, operations, time };
  return { origin, graph: withRepeated(joint, repeated), repeated, operations, time };
}

/**
 * The plans of which none is better in both memory and time, by falling peaks. The first plan is what the others are measured by. Of
 * many, those that seem best are scheduled: an estimate decides, which may be wrong by a little, so those that seem to take least are
 * among them, whatever time they take.
 */
export function frontierOf(plans: readonly Plan[], { costs, peakOf }: Planning): readonly Plan[] {
  const [first, ...others] = distinct(plans);
  if (first === undefined) return [];
  const estimated = others.map((plan) => ({ plan, peak: estimatePeak(plan.graph, costs), time: plan.time }));
  const promising = undominated(estimated, (each) => each);
  const least = estimated
    .toSorted((a, b) => (a.peak === b.peak ? a.time - b.time : a.peak - b.peak))
    .slice(0, LEAST_SCHEDULED);
  const looked = new Set([...spread(promising, MOST_SCHEDULED - LEAST_SCHEDULED), ...least]);
  const scheduled = [first, ...[...looked].map(({ plan }) => plan)].map((plan) => ({
    ...plan,
    peak: peakOf(plan.graph),
  }));
  return undominated(scheduled, (each) => each);
}

/** Of plans that compute the same again the first. */
function distinct(plans: readonly Plan[]): readonly Plan[] {
  const keyOf = ({ repeated }: Plan): string => repeated?.calls.map(({ id }) => id).join() ?? '';
  return [...new Map(plans.toReversed().map((plan) => [keyOf(plan), plan])).values()].toReversed();
}

/** By falling peaks, so that each takes more time than the one before. */
function undominated<T>(items: readonly T[], costOf: (item: T) => { peak: number; time: number }): readonly T[] {
  const byTime = items
    .map((item) => ({ item, ...costOf(item) }))
    .sort((a, b) => (a.time === b.time ? a.peak - b.peak : a.time - b.time));
  let least = Infinity;
  return byTime.flatMap(({ item, peak }) => {
    if (peak >= least) return [];
    least = peak;
    return [item];
  });
}

/** At most `count` of them, at even distances, the last one among them. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  return Array.from({ length: count }, (_, index) => at(items, Math.round((index * (items.length - 1)) / (count - 1))));
}
