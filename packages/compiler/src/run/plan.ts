// The plan: everything beside the machine code that a call of a compiled graph needs, as plain JSON. It lies in the
// cache with the shared object, so that a warm start reads two files and plans nothing.
import { Buffer } from 'node:buffer';
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ConstantsLayout, CppProgram } from '@tsinductor/codegen-cpp';
import type { Graph } from '@tsinductor/graph';
import { add, constantValue, printIndex } from '@tsinductor/ir';
import type {
  BufferDecl,
  Decision,
  GroupStatistics,
  Index,
  LoopProgram,
  MemoryStatistics,
  Schedule,
} from '@tsinductor/ir';
import type { TemporaryStats, Tensor } from '@tsinductor/tensor';
import type { GraphReport, KernelReport } from '../report.ts';

export const planFormat = 7;

export interface PlannedTensor {
  readonly dtype: DType;
  readonly shape: readonly Index[];
  readonly strides: readonly Index[];
  /** Elements to allocate. */
  readonly size: Index;
}

export interface Plan {
  readonly format: typeof planFormat;
  /** The entry's symbol. */
  readonly entry: string;
  readonly inputs: readonly PlannedTensor[];
  readonly outputs: readonly PlannedTensor[];
  readonly workspaceBytes: Index;
  /** The constants' block in base64; empty without constants. */
  readonly constants: string;
  readonly sizes: Graph['sizes'];
  /** What must not be above `largestIndex` for the sizes of a call. */
  readonly indexLimits: readonly Index[];
  readonly mutations: Graph['mutations'];
  /** Those of the mutations whose output may be given the memory of its input. */
  readonly inPlace: Graph['mutations'];
  readonly kernels: readonly KernelReport[];
  /** What each kernel moves and computes; empty where a group of nodes is several kernels. */
  readonly costs: readonly GroupStatistics[];
  readonly decisions: readonly Decision[];
  readonly loopNodes: number;
  readonly temporaries?: TemporaryStats;
}

export function makePlan(graph: Graph, schedule: Schedule, program: Omit<CppProgram, 'units'>): Plan {
  const { program: loops } = schedule;
  const counted = schedule.statistics?.groups;
  const costs = costsOf(counted, program.kernels);
  return {
    format: planFormat,
    entry: program.entry,
    inputs: loops.inputs.map((id) => plannedTensor(bufferOf(loops, id))),
    outputs: loops.outputs.map((id) => plannedTensor(bufferOf(loops, id))),
    workspaceBytes: program.workspaceBytes,
    constants: constantsBlock(loops, program.constants),
    sizes: graph.sizes,
    indexLimits: [...new Map(program.indexLimits.map((limit) => [printIndex(limit), limit])).values()],
    mutations: graph.mutations,
    inPlace: inPlaceOf(graph, schedule),
    kernels: program.kernels.map(({ name, notes }, index) => ({
      name,
      ...costOf(costs[index]),
      description: notes.join('; '),
    })),
    costs,
    decisions: [...schedule.decisions, ...kernelDecisions(program.kernels)],
    loopNodes: loops.nodes.length,
    ...temporariesOf(schedule.statistics?.memory),
  };
}

/** Of each kernel. On CUDA a group may be several kernels one after the other: what it moves is then no one kernel's. */
function costsOf(
  counted: readonly GroupStatistics[] = [],
  kernels: readonly { readonly group?: number }[],
): readonly GroupStatistics[] {
  const ofGroups = kernels.flatMap(({ group }) => (group === undefined ? [] : [counted[group]]));
  const known = ofGroups.filter((cost) => cost !== undefined);
  if (kernels.length > 0 && known.length === kernels.length) return known;
  return counted.length === kernels.length ? counted : [];
}

function inPlaceOf({ mutations }: Graph, { program, buffers }: Schedule): Graph['mutations'] {
  const over = new Set(
    buffers.flatMap((plan) => (plan.kind === 'output' && plan.over !== undefined ? [plan.buffer] : [])),
  );
  return mutations.filter(({ output }) => over.has(at(program.outputs, output)));
}

/** What was decided about each kernel, under its name; of kernels that are called several times once. */
export function kernelDecisions(
  kernels: readonly Pick<CppProgram['kernels'][number], 'name' | 'decisions'>[],
): readonly Decision[] {
  const different = new Map(kernels.map((kernel) => [kernel.name, kernel]));
  return [...different.values()].flatMap(({ name, decisions = [] }) =>
    decisions.map((decision) => (decision.kind === 'traffic' ? { ...decision, kernel: name } : decision)),
  );
}

/** What every report of code that runs by this plan says, beside the graph's text. */
export const reportOfPlan = (
  plan: Plan,
): Pick<GraphReport, 'loopNodes' | 'kernels' | 'decisions' | 'workspaceBytes' | 'temporaries'> => ({
  loopNodes: plan.loopNodes,
  kernels: plan.kernels,
  decisions: plan.decisions,
  ...(plan.workspaceBytes.kind === 'int' ? { workspaceBytes: plan.workspaceBytes.value } : {}),
  ...(plan.temporaries === undefined ? {} : { temporaries: plan.temporaries }),
});

function temporariesOf(counted: MemoryStatistics | undefined): Pick<Plan, 'temporaries'> {
  if (counted === undefined) return {};
  const total = constantValue(counted.totalBytes);
  const [peakBefore, peakAfter] = [constantValue(counted.peakBefore), constantValue(counted.peakAfter)];
  return total === undefined || peakBefore === undefined || peakAfter === undefined
    ? {}
    : { temporaries: { total, peakBefore, peakAfter } };
}

/** What a kernel moves and computes, where that does not depend on symbolic sizes. */
function costOf(counted: GroupStatistics | undefined): Pick<KernelReport, 'bytes' | 'leastBytes' | 'operations'> {
  if (counted === undefined) return {};
  const bytes = constantValue(add(counted.readBytes, counted.writtenBytes));
  const [leastBytes, operations] = [constantValue(counted.leastBytes), constantValue(counted.flops)];
  return bytes === undefined || leastBytes === undefined || operations === undefined
    ? {}
    : { bytes, leastBytes, operations };
}

function bufferOf(program: LoopProgram, id: number): BufferDecl {
  const buffer = program.buffers.find((candidate) => candidate.id === id);
  invariant(buffer !== undefined, `no buffer ${String(id)} in the loop program`);
  return buffer;
}

const plannedTensor = ({ dtype, shape, strides, size }: BufferDecl): PlannedTensor => ({ dtype, shape, strides, size });

/** The constants' bytes where the entry expects them, in base64. */
export function constantsBlock(program: LoopProgram, { offsets, bytes }: ConstantsLayout): string {
  if (bytes === 0) return '';
  const block = Buffer.alloc(bytes);
  for (const [id, offset] of offsets) {
    const { data, name } = bufferOf(program, id);
    invariant(data !== undefined, `constant ${name} has no data`);
    Buffer.from(data, 'base64').copy(block, offset);
  }
  return block.toString('base64');
}

/** Whether a plan read from disk is one that this version wrote. */
export const isPlan = (value: unknown): value is Plan =>
  typeof value === 'object' && value !== null && (value as { format?: unknown }).format === planFormat;

/** The symbolic sizes of a call, by name. */
export const sizesOfCall = (sizes: Graph['sizes'], inputs: readonly Tensor[]): ReadonlyMap<string, number> =>
  new Map(sizes.map(({ name, placeholder, axis }) => [name, at(at(inputs, placeholder).shape, axis)]));
