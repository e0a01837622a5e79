// schedule: a loop program becomes groups of nodes that run as one kernel each, in order, with a place for every buffer
// and a reason for every decision. A pure function of the program and the configuration: the steps are the lines of
// `schedule`, each in a file of its own.
import type { Config } from '@tsinductor/config';
import { decideBounds, withoutCopies, withoutUnreadZeros } from '@tsinductor/ir';
import type { LoopNode, LoopProgram, Schedule } from '@tsinductor/ir';
import type { Choices } from './choices.ts';
import { combineClusters } from './combine.ts';
import { choicesOf, passedGroups, passedNodes } from './custom-passes.ts';
import { resolveEmptyNodes, withoutUnread } from './empty-nodes.ts';
import { factsOf, redeclared } from './facts.ts';
import { fuseNodes } from './fuse.ts';
import { FusionTrial } from './fusion-trial.ts';
import type { Measure } from './fusion-trial.ts';
import { groupNaming } from './group-names.ts';
import { inlineProducers } from './inline.ts';
import { makeGroup } from './make-group.ts';
import { planMemory } from './memory-plan.ts';
import { normalizeAxes, separateAxes } from './normalize-axes.ts';
import { orderCombinations } from './order-groups.ts';
import { orderForPeak } from './peak-order.ts';
import { padInPlace } from './pad-in-place.ts';
import { padStrides } from './pad-strides.ts';
import { fusePrologues } from './prologue.ts';
import { countGroups } from './statistics.ts';

export interface ScheduleOptions {
  readonly config: Config;
  /** What to prefer where several schedules are legal; by default what the configuration says. */
  readonly choices?: Choices;
  /** What times schedules where `benchmarkFusion` or `benchmarkComboKernel` ask for it; without it nothing is measured. */
  readonly measure?: Measure | undefined;
}

export function schedule(
  program: LoopProgram,
  { config, choices = choicesOf(config), measure }: ScheduleOptions,
): Schedule {
  const simple = resolveEmptyNodes(program, { dropUnread: config.dce }).map(separateAxes);
  const inlined = inlineProducers(simple, factsOf(program, simple), {
    choices,
    keepRounding: config.emulatePrecisionCasts,
  });
  const simpler = { ...inlined, nodes: decided(inlined.nodes, program, config).map(withoutUnreadZeros) };
  const taken = config.prologueFusion ? fusePrologues(simpler, factsOf(program, simpler.nodes)) : simpler;
  const nodes = passedNodes(taken.nodes.map(normalizeAxes), program, config);
  const dense = factsOf(program, nodes);
  const trial = measure === undefined ? undefined : new FusionTrial(dense, config, measure);
  const fused = fuseNodes(nodes, dense, { config, choices, trial: config.benchmarkFusion ? trial : undefined });
  const clusters = orderCombinations(
    fused.clusters.map((cluster) => [cluster]),
    dense,
  ).flat();
  const combined = combineClusters(clusters, dense, {
    choices,
    trial: config.benchmarkComboKernel ? trial : undefined,
  });
  const rounded = padStrides(orderCombinations(combined.combinations, dense), { facts: dense, config });
  const padded = padInPlace(rounded, { facts: dense, config });
  const facts = redeclared(dense, padded.program);
  const nameOf = groupNaming(config, facts);
  const before = padded.combinations.map((all, id) =>
    makeGroup(all, { facts, id, nameOf, pickOrder: config.pickLoopOrders }),
  );
  const ordered = config.reorderForPeakMemory
    ? orderForPeak(before, facts.program, { successorThreshold: config.sizeThresholdForSuccBasedStrategy })
    : before;
  const groups = passedGroups(ordered, config);
  const { buffers, workspaceBytes, ...memory } = planMemory(facts.program, groups, { config, before });
  const decisions = [taken, fused, combined, padded, memory].flatMap((step) => step.decisions);
  const counted = groups.map((group) => withoutCopies(group, { buffers }));
  const statistics = { groups: countGroups(counted, facts), memory: memory.statistics, pairs: fused.pairs };
  return { program: facts.program, groups, buffers, workspaceBytes, decisions, statistics };
}

/** The nodes without what bounds of their integers make superfluous, and without those that nobody reads then. */
function decided(nodes: readonly LoopNode[], program: LoopProgram, config: Config): readonly LoopNode[] {
  if (!config.constantAndIndexPropagation) return nodes;
  const simpler = nodes.map((node) => decideBounds(node, config.computeAllBounds ? 'values' : 'indices'));
  return simpler.every((node, position) => node === nodes[position]) ? nodes : withoutUnread(simpler, program);
}
