// The stages of graphs that hold a forward and a backward pass: the program's own passes before and after ours, and the partition.
// Graphs without a backward pass go through them as they are, but for a bound on memory, which holds for every graph.
import { dtypeInfo } from '@tsinductor/base';
import type { Form, Stage } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { jointGraph, partition } from '@tsinductor/graph';
import type { Graph, PartitionChoice } from '@tsinductor/graph';
import { add, evaluateIndex, int, multiply } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { chainedRowsOf } from '@tsinductor/scheduler';
import { contextFor, passed } from '../passes/graph-pass.ts';

interface Context {
  readonly config: Config;
}

type JointStage<More extends Context> = Stage<Graph, Graph, More>;

const passStage = (
  form: Form<Graph>,
  { name, doc, setting }: { name: string; doc: string; setting: 'jointCustomPrePass' | 'jointCustomPostPass' },
): JointStage<Context> => ({
  name,
  doc,
  makes: form,
  run: (graph, { config }) => {
    const hook = config[setting];
    if (hook === null || jointGraph(graph) === undefined) return graph;
    return passed(graph, hook, {
      setting,
      context: contextFor(setting === 'jointCustomPrePass' ? 'primitives' : 'simplified', graph, config.patternMatcher),
    });
  },
});

export const jointPrePass = (form: Form<Graph>): JointStage<Context> =>
  passStage(form, {
    name: 'joint-pre-pass',
    doc: 'the pass of the setting jointCustomPrePass, on graphs with a backward pass',
    setting: 'jointCustomPrePass',
  });

export const jointPostPass = (form: Form<Graph>): JointStage<Context> =>
  passStage(form, {
    name: 'joint-post-pass',
    doc: 'the pass of the setting jointCustomPostPass, on graphs with a backward pass',
    setting: 'jointCustomPostPass',
  });

interface Partitioning<More extends Context> {
  /** How a graph would be scheduled. */
  readonly schedule: (graph: Graph, context: More) => Schedule;
  /** Whether kernels have rows between matrix products in a cache. */
  readonly chains: boolean;
}

/** What is kept between the passes, and what is computed again. */
export const partitionStage = <More extends Context>(
  form: Form<Graph>,
  { schedule, chains }: Partitioning<More>,
): JointStage<More> => ({
  name: 'partition',
  doc: 'what the forward pass keeps for the backward pass, and what is computed again there',
  makes: form,
  run: (graph, context) => {
    const { config } = context;
    const { activationMemoryBudget: budget, activationMemoryLimit: limit, customPartitionerFn: hook } = config;
    const rowLimits = chains ? chainedRowsOf(config) : undefined;
    return partition(graph, {
      budget,
      ...(limit === null ? {} : { limit }),
      ...(rowLimits && { rowLimits }),
      aggressive: config.aggressiveRecomputation,
      ...(hook === null ? {} : { partitioner: hook.run as (choice: PartitionChoice) => unknown }),
      peakOf: (candidate) => peakBytes(schedule(candidate, context)),
    });
  },
});

/** A symbolic size counts as this. */
const TYPICAL_SIZE = 256;

/** What a call takes at its peak: everything that it is given and gives, and the workspace. */
function peakBytes({ program, workspaceBytes }: Schedule): number {
  const held = program.buffers
    .filter(({ role }) => role !== 'temporary')
    .map(({ size, dtype }) => multiply(size, int(dtypeInfo[dtype].bytes)));
  const sizes = new Map(program.sizes.map((name) => [name, TYPICAL_SIZE]));
  return evaluateIndex([...held, workspaceBytes].reduce(add, int(0)), { sizes });
}
