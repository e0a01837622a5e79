// The partition of a joint graph: which values of the forward pass are kept for the backward pass, and which are computed again there.
// In: a graph of primitives after all other passes, a budget, and a way to find out what a graph takes when it is scheduled. Out: the
// graph with copies of what is computed again, and the decisions. Results are the same bit for bit: the same operators run on the same
// values, random numbers among them.
import { at } from '@tsinductor/base';
import { badPartition, budgetUnreachable } from '../errors.ts';
import type { RowLimits } from './rows-between.ts';
import type { Graph, NodeId } from '../graph.ts';
import { candidatesFor } from './candidates.ts';
import type { RecomputeRules } from './candidates.ts';
import { decisionsOf } from './decisions.ts';
import { jointGraph } from './joint-graph.ts';
import type { JointGraph } from './joint-graph.ts';
import { frontierOf, keepingAll, planFor } from './plans.ts';
import type { Plan } from './plans.ts';
import { costKindOf } from './cost-kind.ts';
import { ValueCosts } from './value-costs.ts';

/** What a program's own partitioner is given: the values between the passes, each with what keeping and repeating it takes. */
export interface PartitionChoice {
  readonly graph: Graph;
  readonly values: readonly {
    /** The number of the node in `graph`. */
    readonly node: NodeId;
    readonly target: string;
    readonly bytes: number;
    readonly operations: number;
    /** Whether the backward pass uses it as it is. */
    readonly isUsed: boolean;
  }[];
}

export interface PartitionOptions extends RecomputeRules {
  /** Between the least (0) and the most (1) that a partition takes at its peak. */
  readonly budget: number;
  /** The most bytes at the peak of a call. */
  readonly limit?: number;
  /** Which rows between matrix products are not kept, as kernels have them in a cache; none, if absent. */
  readonly rowLimits?: RowLimits;
  /** Gives the numbers of the nodes to keep. */
  readonly partitioner?: (choice: PartitionChoice) => unknown;
  /** Bytes that live at the peak of a call of the graph, as it is scheduled: inputs, results and temporaries. */
  readonly peakOf: (graph: Graph) => number;
}

/**
 * The graph with its backward pass apart, under a budget.
 *
 * Throws UserError MEMORY_BUDGET where `limit` cannot be kept, PARTITION_INVALID for what a partitioner gives.
 */
export function partition(graph: Graph, options: PartitionOptions): Graph {
  const { budget, limit, partitioner, peakOf, rowLimits } = options;
  const joint = jointGraph(graph, rowLimits);
  if (joint === undefined) {
    if (limit !== undefined)
      requireWithin(peakOf(graph), limit, 'and it has no backward pass that could compute more again');
    return graph;
  }
  const costs = new ValueCosts(joint);
  const context = { joint, costs, peakOf };
  const all = keepingAll(context);
  const isAsked = budget < 1 || limit !== undefined;
  if (partitioner === undefined && !isAsked) return all.repeated === undefined ? graph : decided(all, [all], context);
  const plans =
    partitioner === undefined
      ? frontierOf([all, ...candidatesFor(joint, costs, options).map((each) => planFor(each, context))], context)
      : [planFor({ origin: 'customPartitionerFn', saved: givenBy(partitioner, joint, costs) }, context)];
  return decided(chosenOf(plans, options), plans, context);
}

/** The fastest of the plans, which stand by falling peaks, within the budget. */
function chosenOf(plans: readonly Plan[], { budget, limit = Infinity, peakOf }: PartitionOptions): Plan {
  const measured = plans.map((plan) => ({ plan, peak: plan.peak ?? peakOf(plan.graph) }));
  const peaks = measured.map(({ peak }) => peak);
  const [least, most] = [Math.min(...peaks), Math.max(...peaks)];
  requireWithin(least, limit, 'with everything computed again that is worth it');
  const allowed = Math.min(limit, least + budget * (most - least));
  const fitting = measured.filter(({ peak }) => peak <= allowed);
  return fitting.reduce((best, each) => (each.plan.time < best.plan.time ? each : best), at(fitting, 0)).plan;
}

function requireWithin(least: number, limit: number, how: string): void {
  if (least > limit) throw budgetUnreachable({ least, limit, how });
}

const decided = (plan: Plan, plans: readonly Plan[], context: { joint: JointGraph; costs: ValueCosts }): Graph => ({
  ...plan.graph,
  decisions: [...(plan.graph.decisions ?? []), ...decisionsOf(plan, plans, context)],
});

/** The nodes that a program's own partitioner keeps. */
function givenBy(
  partitioner: NonNullable<PartitionOptions['partitioner']>,
  { graph, early, crossing }: JointGraph,
  costs: ValueCosts,
): ReadonlySet<NodeId> {
  const values = early
    .filter((node) => costKindOf(node) !== 'view')
    .map((node) => ({
      node: node.id,
      target: node.target,
      bytes: costs.bytes(node),
      operations: costs.operations(node),
      isUsed: crossing.has(node.id),
    }));
  const given = partitioner({ graph, values });
  if (!Array.isArray(given)) throw badPartition('it gave no array');
  const known = new Set(values.map(({ node }) => node));
  const odd = (given as readonly unknown[]).findIndex((node) => !known.has(node as NodeId));
  if (odd !== -1) throw badPartition(`its item ${String(odd)} is the number of none of the values that it was given`);
  return new Set(given as readonly NodeId[]);
}
