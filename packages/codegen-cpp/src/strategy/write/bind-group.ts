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
import { removeDeadLets, visitStatements, withBlocks, withoutCopies } from '@tsinductor/ir';
import type { Group, Kernel, Schedule, Stmt } from '@tsinductor/ir';
import { choicesFor } from '../../machine/choices.ts';
import type { CpuTarget } from '../../machine/target.ts';
import type { WideSteps } from '../plan/lanes.ts';
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
  const planning = { target, choices: choicesFor(target), group, memory, wideSteps };
  const { results } = planKernelTraffic(planning);
  const nest: Nest = { ...planning, memory, schedule, writer, notes: [], decisions: [], results };
  const outs = group.nodes.flatMap((node) => node.outs);
  const isEmpty = outs.every((out) => staticValue(memory.decl(out).size) === 0);
  if (isEmpty) nest.notes.push('nothing to compute');
  else if (group.nodes.some((node) => node.kind === 'scatter')) writeScatter(nest);
  else if (group.nodes.some((node) => node.kind === 'contract')) writeContract(nest);
  else if (group.nodes.some((node) => node.kind === 'sort')) writeSort(nest);
  else writeRegions(nest, group.nest);
  const body = withFences(shareWindows(removeDeadLets(writer.finish()), { isa: options.target.isa, writer }));
  return {
    name: group.name,
    buffers: usedBuffers(memory.buffers, body),
    sizes: sizesOf(body, schedule),
    body,
    origins: distinctOrigins(group.nodes.flatMap((node) => node.origins)),
    notes: nest.notes,
  };
}

const usesStreams = (block: readonly Stmt[]): boolean => {
  let found = false;
  visitStatements(block, (statement) => {
    found ||= (statement.kind === 'store' || statement.kind === 'transpose') && statement.hint === 'stream';
  });
  return found;
};

/** A fence at the end of whatever stored past the caches: others may read it next. */
function withFences(body: readonly Stmt[]): readonly Stmt[] {
  const withOwn = (block: readonly Stmt[]): readonly Stmt[] =>
    usesStreams(block) ? [...block, { kind: 'fence' }] : block;
  const fenced = body.map((statement) => (statement.kind === 'parallel' ? withBlocks(statement, withOwn) : statement));
  const serial = body.filter((statement) => statement.kind !== 'parallel');
  return usesStreams(serial) ? [...fenced, { kind: 'fence' }] : fenced;
}
