// Group -> Kernel: picks the strategy for what the group contains and collects what it wrote into a kernel.
import {
  BufferDirectory,
  collapseAxes,
  cutLoops,
  distinctOrigins,
  GroupMemory,
  KernelWriter,
  sizesOf,
  staticValue,
  usedBuffers,
} from '@tsinductor/codegen';
import { removeDeadLets, withoutCopies } from '@tsinductor/ir';
import type { Group, Kernel, Schedule, Stmt } from '@tsinductor/ir';
import { choicesOfGroup } from '../../machine/choices.ts';
import { hasNonTemporalStore } from '../../passes/fences.ts';
import type { CpuTarget } from '../../machine/target.ts';
import type { WideSteps } from '../plan/lanes.ts';
import { nonTemporalResultsRule } from '../traffic/results.ts';
import type { TrafficDecision } from '../traffic/rule.ts';
import { planKernelTraffic } from '../traffic/rules.ts';
import type { Nest } from './nest.ts';
import { writeRegions } from './regions.ts';
import { writeScatter } from './scatter.ts';
import { writeSort } from './sort.ts';
import { writeContract } from '../contract/contract.ts';
import { shareWindows } from '../passes/shared-windows.ts';

export interface StrategyOptions {
  readonly target: CpuTarget;
  /** What is found out about ops, kept for the next kernels. */
  readonly wideSteps: WideSteps;
}

export function bindGroup(given: Group, schedule: Schedule, options: StrategyOptions): Kernel {
  const bounds = options.target.decidesBounds === false ? 'kept' : 'decided';
  const group = collapseAxes(cutLoops(withoutCopies(given, schedule), bounds));
  const writer = new KernelWriter(options.target.positions);
  const memory = new GroupMemory(group, new BufferDirectory(schedule), { writer });
  const { target, wideSteps } = options;
  const planning = { target, choices: choicesOfGroup(target, group.choices), group, memory, wideSteps };
  const anywhere = planKernelTraffic(planning);
  const nest: Nest = { ...planning, memory, schedule, writer, notes: [], decisions: [], results: anywhere.results };
  const outs = group.nodes.flatMap((node) => node.outs);
  const isEmpty = outs.every((out) => staticValue(memory.decl(out).size) === 0);
  if (isEmpty) nest.notes.push('nothing to compute');
  else if (group.nodes.some((node) => node.kind === 'scatter')) writeScatter(nest);
  else if (group.nodes.some((node) => node.kind === 'contract')) writeContract(nest);
  else if (group.nodes.some((node) => node.kind === 'sort')) writeSort(nest);
  else writeRegions(nest, group.nest);
  const body = shareWindows(removeDeadLets(writer.finish()), { isa: options.target.isa, writer });
  return {
    name: group.name,
    buffers: usedBuffers(memory.buffers, body),
    sizes: sizesOf(body, schedule),
    body,
    origins: distinctOrigins(group.nodes.flatMap((node) => node.origins)),
    notes: nest.notes,
    decisions: decisionsOf([...nest.decisions, ...(nest.decisions.length > 0 ? [] : anywhere.decisions)], body),
  };
}

/** Each decision once; none about non-temporal stores where nothing is written so, as lanes are too few or not aligned. */
function decisionsOf(decisions: readonly TrafficDecision[], body: readonly Stmt[]): readonly TrafficDecision[] {
  const told = new Map(decisions.map((decision) => [`${decision.rule} ${decision.what}`, decision]));
  const hasAny = hasNonTemporalStore(body);
  return [...told.values()].filter(({ rule }) => rule !== nonTemporalResultsRule.name || hasAny);
}
