// schedule: a loop program becomes groups of nodes that run as one kernel each, in order, with a place for every buffer
// and a reason for every decision. A pure function of the program and the configuration: the steps are the lines of
// `schedule`, each in a file of its own.
import type { Config } from '@tsinductor/config';
import type { LoopProgram, Schedule } from '@tsinductor/ir';
import { defaultChoices } from './choices.ts';
import type { Choices } from './choices.ts';
import { combineClusters } from './combine.ts';
import { resolveEmptyNodes } from './empty-nodes.ts';
import { factsOf } from './facts.ts';
import { fuseNodes } from './fuse.ts';
import { GroupNames } from './group-names.ts';
import { inlineProducers } from './inline.ts';
import { makeGroup } from './make-group.ts';
import { planMemory } from './memory-plan.ts';
import { normalizeAxes, separateAxes } from './normalize-axes.ts';
import { orderCombinations } from './order-groups.ts';
import { orderForPeak } from './peak-order.ts';
import { countGroups } from './statistics.ts';

export interface ScheduleOptions {
  readonly config: Config;
  /** What to prefer where several schedules are legal; by default what the configuration says. */
  readonly choices?: Choices;
}

export function schedule(
  program: LoopProgram,
  { config, choices = defaultChoices(config) }: ScheduleOptions,
): Schedule {
  const simple = resolveEmptyNodes(program, { dropUnread: config.dce }).map(separateAxes);
  const inlined = inlineProducers(simple, factsOf(program, simple), {
    choices,
    keepRounding: config.emulatePrecisionCasts,
  });
  const nodes = inlined.nodes.map(normalizeAxes);
  const facts = factsOf(program, nodes);
  const fused = fuseNodes(nodes, facts, { config, choices });
  const clusters = orderCombinations(
    fused.clusters.map((cluster) => [cluster]),
    facts,
  ).flat();
  const combined = combineClusters(clusters, facts, choices);
  const names = new GroupNames(config.kernelNameMaxOps);
  const before = orderCombinations(combined.combinations, facts).map((all, id) =>
    makeGroup(all, { facts, id, names, pickOrder: config.pickLoopOrders }),
  );
  const groups = config.reorderForPeakMemory
    ? orderForPeak(before, program, { successorThreshold: config.sizeThresholdForSuccBasedStrategy })
    : before;
  const memory = planMemory(program, groups, { config, before });
  const decisions = [...inlined.decisions, ...fused.decisions, ...combined.decisions, ...memory.decisions];
  const statistics = {
    groups: countGroups(groups, facts),
    memory: memory.statistics,
    pairs: fused.pairs,
  };
  return { program, groups, buffers: memory.buffers, workspaceBytes: memory.workspaceBytes, decisions, statistics };
}
