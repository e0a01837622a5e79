// schedule: a loop program becomes groups of nodes that run as one kernel each, in order, with a place for every buffer
// and a reason for every decision. A pure function of the program and the configuration: the steps are the lines of
// `schedule`, each in a file of its own.
import type { Config } from '@tsinductor/config';
import type { BufferId, Group, LoopProgram, Schedule } from '@tsinductor/ir';
import type { Cluster } from './cluster.ts';
import { resolveEmptyNodes } from './empty-nodes.ts';
import { factsOf } from './facts.ts';
import type { Facts } from './facts.ts';
import { finishAxes } from './finish-axes.ts';
import { fuseNodes } from './fuse.ts';
import { GroupNames } from './group-names.ts';
import { inlineProducers } from './inline.ts';
import { orderLoops } from './loop-order.ts';
import { planMemory } from './memory-plan.ts';
import { buildNest } from './nest.ts';
import { buffersRead } from './node-access.ts';
import { normalizeAxes, separateAxes } from './normalize-axes.ts';
import { orderClusters } from './order-groups.ts';
import { placeStages } from './stages.ts';

export interface ScheduleOptions {
  readonly config: Config;
}

export function schedule(program: LoopProgram, { config }: ScheduleOptions): Schedule {
  const simple = resolveEmptyNodes(program).map(separateAxes);
  const inlined = inlineProducers(simple, factsOf(program, simple), {
    reads: config.realizeReadsThreshold,
    operations: config.realizeOpcountThreshold,
    keepRounding: config.emulatePrecisionCasts,
  });
  const nodes = inlined.nodes.map(normalizeAxes);
  const facts = factsOf(program, nodes);
  const fused = fuseNodes(nodes, facts, { maxNodes: config.maxFusionSize });
  const names = new GroupNames();
  const groups = orderClusters(fused.clusters, facts).map((cluster, id) => toGroup(cluster, facts, { id, names }));
  const memory = planMemory(program, groups);
  const decisions = [...inlined.decisions, ...fused.decisions, ...memory.decisions];
  return { program, groups, buffers: memory.buffers, workspaceBytes: memory.workspaceBytes, decisions };
}

function toGroup(
  cluster: Cluster,
  facts: Facts,
  { id, names }: { readonly id: number; readonly names: GroupNames },
): Group {
  const ordered = orderLoops(cluster);
  const { cluster: finished, stages } = finishAxes({ cluster: ordered, stages: placeStages(ordered) });
  const { nodes, tree, locals } = buildNest(finished, stages, facts);
  const isLocal = new Set<BufferId>(locals.map((local) => local.buffer));
  const made = new Set<BufferId>(nodes.flatMap((node) => node.outs));
  const reads = [...new Set(nodes.flatMap(buffersRead))].filter((buffer) => !made.has(buffer));
  const writes = [...made].filter((buffer) => !isLocal.has(buffer));
  return { id, name: names.nameOf(nodes), nodes, nest: tree, locals, reads, writes };
}
