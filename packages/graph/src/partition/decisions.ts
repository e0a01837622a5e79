// What `explain` says of a partition: the plans that were to choose from, what is kept between the passes, what is computed again, and
// why. Equal values are one line.
import { at } from '@tsinductor/base';
import type { Decision } from '@tsinductor/ir';
import { printShape } from '../errors.ts';
import type { GraphNode, NodeId } from '../graph.ts';
import type { CallNode } from '../passes/rebuild.ts';
import { argumentsOf } from './joint-graph.ts';
import type { JointGraph } from './joint-graph.ts';
import type { Plan } from './plans.ts';
import { costKindOf } from './cost-kind.ts';
import type { CostKind } from './cost-kind.ts';
import type { ValueCosts } from './value-costs.ts';

type Told = Extract<Decision, { readonly kind: 'kept' | 'recomputed' }>;

export function decisionsOf(
  plan: Plan,
  plans: readonly Plan[],
  { joint, costs }: { readonly joint: JointGraph; readonly costs: ValueCosts },
): readonly Decision[] {
  const repeated = new Set(plan.repeated?.calls.map(({ id }) => id));
  const frontier = plans.map(({ origin, peak, operations, time }): Decision => ({
    kind: 'partition',
    plan: origin,
    isChosen: origin === plan.origin,
    ...(peak === undefined ? {} : { peakBytes: peak }),
    operations,
    reason: time === 0 ? 'nothing is computed again' : `it adds ${percent(time, joint, costs)} of the time of a call`,
  }));
  const kept = keptCalls(joint, repeated).map((node): Told => ({
    ...{ kind: 'kept', value: nameOf(node), count: 1, bytes: costs.bytes(node), operations: costs.operations(node) },
    reason: whyKept(costKindOf(node), joint.outputs.has(node.id)),
  }));
  const again = (plan.repeated?.calls ?? [])
    .filter((node) => costKindOf(node) !== 'view' && costKindOf(node) !== 'created')
    .map((node): Told => ({
      ...{ kind: 'recomputed', value: nameOf(node), count: 1, bytes: costs.bytes(node) },
      operations: costs.operations(node),
      reason: whyRepeated(node, joint),
    }));
  return [...frontier, ...together(kept), ...together(again)];
}

/** Calls that are no views, which late calls or what is computed again use from the forward pass. */
function keptCalls({ graph, late }: JointGraph, repeated: ReadonlySet<NodeId>): readonly CallNode[] {
  const root = (id: NodeId): GraphNode => {
    const node = at(graph.nodes, id);
    const [first] = argumentsOf(node);
    return node.kind === 'call' && costKindOf(node) === 'view' && first !== undefined ? root(first.node) : node;
  };
  const found = new Set<GraphNode>();
  for (const id of [...late, ...repeated]) {
    for (const { node: used } of argumentsOf(at(graph.nodes, id))) {
      const made = root(used);
      if (!late.has(made.id) && !repeated.has(made.id)) found.add(made);
    }
  }
  return [...found].filter((node): node is CallNode => node.kind === 'call' && costKindOf(node) !== 'created');
}

const reasons: Readonly<Record<CostKind, string>> = {
  view: 'it is part of what is kept',
  created: 'it is made of nothing',
  pointwise: 'it takes less memory than what it is made of',
  reduction: 'it takes less memory than what it is made of',
  heavy: 'it would take long to compute again',
  checked: 'what is checked when it runs is checked once',
};

const whyKept = (kind: CostKind, isOutput: boolean): string => (isOutput ? 'it is a result anyway' : reasons[kind]);

function whyRepeated({ id, origin }: CallNode, { dropped, between }: JointGraph): string {
  if (between.has(id)) return 'rows between matrix products stay in a cache, and never are a whole matrix';
  if (dropped.has(id)) return 'a checkpoint keeps nothing of what lies within';
  return origin.pass === 'residual' ? 'only the backward pass needs it' : 'it is cheaper to compute again than to keep';
}

function nameOf({ target, results, origin: { location } }: CallNode): string {
  const { dtype, shape } = at(results, 0);
  const place = location === undefined ? '' : ` (${location.file}:${String(location.line)})`;
  return `${target} ${dtype}${printShape(shape)}${place}`;
}

/** Equal ones as one. */
function together(told: readonly Told[]): readonly Told[] {
  const found = new Map<string, Told>();
  for (const each of told) {
    const key = `${each.value} ${each.reason}`;
    const known = found.get(key);
    found.set(key, known === undefined ? each : { ...known, count: known.count + 1 });
  }
  return [...found.values()];
}

function percent(time: number, { graph }: JointGraph, costs: ValueCosts): string {
  const all = graph.nodes.reduce((sum, node) => (node.kind === 'call' ? sum + costs.time(node) : sum), 0);
  return `${((100 * time) / all).toFixed(1)} %`;
}
