// The stages of compiling one graph, as values: what is generated, what `explain` and the plan are made of, and what the
// debug log and the debug folder show. A pure function of the graph, the configuration and the target.
import { at, get } from '@tsinductor/base';
import type { Positions } from '@tsinductor/codegen';
import { bindSchedule, generateCpp } from '@tsinductor/codegen-cpp';
import type { CppProgram, CpuTarget } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import { optimize, printGraph } from '@tsinductor/graph';
import type { Graph, OptimizeOptions } from '@tsinductor/graph';
import { printDecision, printKernelIr, printProgram, printSchedule } from '@tsinductor/ir';
import type { LoopNode, LoopProgram, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import type { LoweringOptions } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import type { Measure } from '@tsinductor/scheduler';
import { indexIntoNothing } from '../errors.ts';
import { familyOf } from './machine.ts';
import type { NativeMachine } from './machine.ts';
import type { TracedGraph } from '../session.ts';

/** Generated code, and for what. */
interface Generated {
  readonly target: CpuTarget;
  readonly program: CppProgram;
}

/** `native` is undefined where the interpreter runs it. */
export interface Compilation<Native extends Generated | undefined = Generated | undefined> {
  readonly graph: Graph;
  readonly optimized: Graph;
  readonly loops: LoopProgram;
  readonly scheduled: Schedule;
  readonly native: Native;
  /** Generated CUDA, where a graph is made for such a device. */
  readonly cuda?: string;
}

/** What code is generated for, on a machine and under settings. */
export const targetOf = (machine: NativeMachine, config: Config): CpuTarget => ({
  isa: machine.isa,
  threads: machine.codeThreads,
  anyThreads: config.cpp.dynamicThreads,
  family: familyOf(machine),
  units: config.compileThreads,
  minChunk: config.cpp.minChunkSize,
  emptyLoops: !config.cpp.noRedundantLoops,
  decidesBounds: config.constantAndIndexPropagation,
  splitReductions: config.splitReductions,
  leastSplits: config.minNumSplit,
  positions: positionsOf(config),
});

/** What the settings say of the width of indices. */
export const positionsOf = ({ assume32BitIndexing }: Config): Positions => (assume32BitIndexing ? 'assumed' : 'proven');

/** What the settings say of lowering. */
const loweringOf = (config: Config): LoweringOptions => ({
  catInputs: config.forcePointwiseCat ? Infinity : config.maxPointwiseCatInputs,
  unrollBelow: config.unrollReductionsThreshold,
  checkIndices: config.assertIndirectIndexing,
  divideRows: config.conv1x1AsMm,
  channelsLast: !config.layoutOptimization ? 'never' : config.forceLayoutOptimization ? 'always' : 'whereItGains',
  keepOutputStrides: config.keepOutputStride,
});

/** Rows of this size leave the second-level cache before they are walked again. */
const LONG_ROW_BYTES = 1 << 20;

/** What the settings say of graphs of primitives. */
const optimizeOf = (config: Config): OptimizeOptions =>
  config.onlineSoftmax ? { onlineSoftmax: { leastBytes: LONG_ROW_BYTES } } : {};

/** Throws UserError INDEX_INTO_NOTHING for a program that can only fail: no code is made for a loop that stores nothing. */
function refuseFutile({ nodes, buffers }: LoopProgram): void {
  const isEmpty = ({ axes }: Pick<LoopNode, 'axes'>): boolean =>
    axes.some(({ extent }) => extent.kind === 'int' && extent.value === 0);
  for (const node of nodes) {
    if (node.kind !== 'scatter' || isEmpty(node)) continue;
    const { size } = get(new Map(buffers.map((buffer) => [buffer.id, buffer])), at(node.outs, 0));
    if (size.kind === 'int' && size.value === 0) throw indexIntoNothing(at(node.origins, 0));
  }
}

/** Down to the schedule: all that the interpreter's users have to read. */
export function planStages(
  { graph, primitives }: TracedGraph,
  config: Config,
  measure?: Measure,
): Compilation<undefined> {
  const optimized = optimize(primitives, optimizeOf(config));
  const loops = lowerGraph(optimized, loweringOf(config));
  refuseFutile(loops);
  return { graph, optimized, loops, scheduled: schedule(loops, { config, measure }), native: undefined };
}

/** What code is made for, and the clock that the settings ask for. */
export interface Making {
  readonly target: CpuTarget;
  readonly measure: Measure | undefined;
}

/** Down to C++ for `target`. */
export function compileStages(
  traced: TracedGraph,
  config: Config,
  { target, measure }: Making,
): Compilation<Generated> {
  const stages = planStages(traced, config, measure);
  return { ...stages, native: { target, program: generateCpp(stages.scheduled, target) } };
}

/** The generated C++, all units in order. */
export const sourceText = (units: CppProgram['units']): string =>
  units.map(({ name, source }) => `// ${name}\n${source}`).join('\n');

/** What each stage decided, under a heading: the lines of the setting `debug`. */
export function describeStages({ optimized, loops, scheduled, native }: Compilation): readonly string[] {
  const kernels = native?.program.kernels ?? [];
  return [
    `graph: ${String(optimized.nodes.length)} nodes after decomposition and optimisation`,
    `lowering: ${String(loops.nodes.length)} loop nodes\n${printProgram(loops)}`,
    `fusion: ${String(scheduled.groups.length)} groups\n${scheduled.decisions.map(printDecision).join('\n')}`,
    ...(native === undefined
      ? []
      : [
          `code generation: ${String(kernels.length)} kernels for ${native.target.isa}\n` +
            kernels.map(({ name, notes }) => `${name}: ${notes.join('; ')}`).join('\n'),
        ]),
  ].map((text) => text.trimEnd());
}

/** The files of the debug folder: name and text. */
export function stageFiles(stages: Compilation): ReadonlyMap<string, string> {
  const { graph, optimized, loops, scheduled, native, cuda } = stages;
  const files = new Map([
    ['graph.txt', printGraph(graph)],
    ['decomposed.txt', printGraph(optimized)],
    ['loops.txt', printProgram(loops)],
    ['schedule.txt', printSchedule(scheduled)],
    ['decisions.txt', `${scheduled.decisions.map(printDecision).join('\n')}\n`],
  ]);
  if (native !== undefined) {
    const kernels = bindSchedule(scheduled, native.target).map(printKernelIr);
    files.set('kernels.txt', [...new Set(kernels)].join('\n'));
    files.set('graph.cc', sourceText(native.program.units));
  }
  if (cuda !== undefined) files.set('graph.cu', cuda);
  return files;
}
