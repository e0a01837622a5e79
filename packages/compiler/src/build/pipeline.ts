// The pipeline: from a traced graph to C++ or CUDA, stage by stage. The list below is all of it, top to bottom; `through` inserts
// the lists of graph passes (`graph/passes/optimize.ts`) and of the scheduler's steps (`scheduler/steps.ts`), and a kernel's own
// stages (`kernel-stages.ts` of each target) run for every group when it is printed. A pure function of the graph, the
// configuration and the target. Pipelines are given by functions: scheduler and printers are loaded when they are called first.
import { at, get, Pipeline } from '@tsinductor/base';
import type { Cut, Form, PartedStage, Stage } from '@tsinductor/base';
import { distinctGroups } from '@tsinductor/codegen';
import type { LoneGroup } from '@tsinductor/codegen';
import { bindingFor, generateCpp, kernelStages as cppKernelStages } from '@tsinductor/codegen-cpp';
import type { BindOptions, CppProgram, CpuTarget } from '@tsinductor/codegen-cpp';
import { generateCuda, kernelStages as cudaKernelStages, refuseChain } from '@tsinductor/codegen-cuda';
import type { CudaProgram, CudaTarget } from '@tsinductor/codegen-cuda';
import { graphPasses, latePasses, primitivesForm } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { printProgram, verifyProgram } from '@tsinductor/ir';
import type { LoopNode, LoopProgram, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { formOfSchedules, scheduleSteps, schedulingOf } from '@tsinductor/scheduler';
import type { Chains, Measure } from '@tsinductor/scheduler';
import type { Config } from '@tsinductor/config';
import { indexIntoNothing, unknownStage } from '../errors.ts';
import type { TracedGraph } from '../request.ts';
import { padStage } from '../passes/pad-products.ts';
import { postGradFusion, postGradPostPass, postGradPrePass } from '../passes/post-grad.ts';
import { jointPostPass, jointPrePass, partitionStage } from './joint-stages.ts';
import { lateOf, loweringOf, optimizeOf } from './stage-options.ts';

/** What scheduling goes by. */
interface PlanContext {
  readonly config: Config;
  /** The clock that the settings ask for. */
  readonly measure?: Measure | undefined;
}

export interface CppContext extends PlanContext {
  readonly target: CpuTarget;
  /** Gives groups choices of their own, where the settings ask a clock. */
  readonly tune?: ((schedule: Schedule) => Schedule) | undefined;
}

export interface CudaContext extends PlanContext {
  readonly target: CudaTarget;
}

const decompose: Stage<TracedGraph, Graph, PlanContext> = {
  name: 'decompose',
  doc: 'composites are primitives: done while the graph is traced, as it asks guards of sizes',
  makes: primitivesForm,
  run: ({ primitives }) => primitives,
};

const programForm: Form<LoopProgram> = {
  print: printProgram,
  summary: ({ nodes }) => `${String(nodes.length)} loop nodes`,
  verify: verifyProgram,
};

/** What every kernel of a target can be. */
export interface ForTarget {
  /** Two products and the loops between them. */
  readonly chains?: Chains;
  /** In lanes, for which what lies across is transposed in tiles. */
  readonly hasLanes?: boolean;
  /** Over inputs that their results replace. */
  readonly updates?: boolean;
  /** By instructions for matrices of 16 bits. */
  readonly hasMatrices?: boolean;
}

const lower = ({ hasLanes = false }: ForTarget): Stage<Graph, LoopProgram, PlanContext> => ({
  name: 'lower',
  doc: 'every primitive is a loop over the elements of its result',
  makes: programForm,
  run: (graph, { config }) => lowerGraph(graph, { ...loweringOf(config), hasLanes }),
});

/** Throws UserError INDEX_INTO_NOTHING: no code is made for a loop that stores nothing. */
const refuseFutile: Stage<LoopProgram, LoopProgram, PlanContext> = {
  name: 'refuse-futile',
  doc: 'a program that can only fail is an error',
  makes: programForm,
  run(program) {
    const { nodes, buffers } = program;
    const isEmpty = ({ axes }: Pick<LoopNode, 'axes'>): boolean =>
      axes.some(({ extent }) => extent.kind === 'int' && extent.value === 0);
    for (const node of nodes) {
      if (node.kind !== 'scatter' || isEmpty(node)) continue;
      const { size } = get(new Map(buffers.map((buffer) => [buffer.id, buffer])), at(node.outs, 0));
      if (size.kind === 'int' && size.value === 0) throw indexIntoNothing(at(node.origins, 0));
    }
    return program;
  },
};

/** A function, as the scheduler is loaded when it is called. */
const tuneStage = (): Stage<Schedule, Schedule, CppContext> => ({
  name: 'tune',
  doc: 'groups with matrix products have the choices that a clock has made, where the settings ask for it',
  makes: formOfSchedules(),
  run: (schedule, { tune }) => tune?.(schedule) ?? schedule,
});

/** The generated C++, all units in order. */
const sourceText = (units: CppProgram['units']): string =>
  units.map(({ name, source }) => `// ${name}\n${source}`).join('\n');

/** Source text, and the schedule that it is of. */
export interface Printed<Program> {
  readonly scheduled: Schedule;
  readonly program: Program;
}

const cppForm: Form<Printed<CppProgram>> = {
  print: ({ program }) => sourceText(program.units),
  summary: ({ program }) => `${String(program.kernels.length)} kernels in ${String(program.units.length)} units`,
  verify: () => undefined,
};

const cudaForm: Form<Printed<CudaProgram>> = {
  print: ({ program }) => program.source,
  summary: ({ program }) => `${String(program.kernels.length)} kernels`,
  verify: () => undefined,
};

const printCpp = (): PartedStage<Schedule, Printed<CppProgram>, CppContext, LoneGroup, BindOptions> => ({
  name: 'print-cpp',
  doc: 'kernels, and the entry that calls them in order, as C++',
  makes: cppForm,
  stages: cppKernelStages(),
  contextOf: ({ target }) => bindingFor(target),
  parts: (schedule) => distinctGroups(schedule, 'operators'),
  run: (scheduled, { target }, watch) => ({ scheduled, program: generateCpp(scheduled, target, watch) }),
});

const printCuda = (): PartedStage<Schedule, Printed<CudaProgram>, CudaContext, LoneGroup, CudaTarget> => ({
  name: 'print-cuda',
  doc: 'kernels, and how they are launched, as CUDA C++',
  makes: cudaForm,
  stages: cudaKernelStages(),
  contextOf: ({ target }) => target,
  parts: (schedule) => distinctGroups(schedule, 'operators'),
  run: (scheduled, { target }, watch) => ({ scheduled, program: generateCuda(scheduled, target, watch) }),
});

/** Down to the schedule: all that the interpreter's users have to read. */
export const planPipeline = (forTarget: ForTarget = {}): Pipeline<TracedGraph, Schedule, PlanContext> =>
  Pipeline.of(decompose)
    .then(jointPrePass(primitivesForm))
    .through(graphPasses, ({ config }) => optimizeOf(config))
    .then(jointPostPass(primitivesForm))
    .then(
      partitionStage(primitivesForm, {
        schedule: (graph, { config }: PlanContext) => scheduling(forTarget).run(graph, { config }),
        chains: forTarget.chains === true,
      }),
    )
    .then(postGradPrePass(primitivesForm))
    .through(latePasses, ({ config }) => lateOf(config, forTarget.hasLanes === true))
    .then(postGradFusion(primitivesForm))
    .then(
      padStage(primitivesForm, {
        schedule: (graph, { config }: PlanContext) => scheduling(forTarget).run(graph, { config }),
        hasMatrices: forTarget.hasMatrices === true,
      }),
    )
    .then(postGradPostPass(primitivesForm))
    .through(scheduling(forTarget), (context) => context);

/** From primitives to the schedule. */
const scheduling = (forTarget: ForTarget): Pipeline<Graph, Schedule, PlanContext> =>
  Pipeline.of(lower(forTarget))
    .then(refuseFutile)
    .through(scheduleSteps(), (context) =>
      schedulingOf({ ...context, chains: forTarget.chains ?? false, updates: forTarget.updates ?? false }),
    );

/** What kernels of processors can be; `updates` besides, where who runs them sees to it. */
export const processors: ForTarget = { chains: true, hasLanes: true };

/** What kernels of CUDA can be: of chains of products those whose rows need not be kept whole. */
export const cudaDevices: ForTarget = {
  chains: { operandBytes: Infinity, anySize: true, refuse: (chain) => refuseChain(chain) },
  hasMatrices: true,
};

/** Down to C++. */
export const cppPipeline = (): Pipeline<TracedGraph, Printed<CppProgram>, CppContext> =>
  planPipeline({ ...processors, updates: true })
    .inContext<CppContext>()
    .then(tuneStage())
    .thenEach(printCpp());

/** Down to CUDA. */
export const cudaPipeline = (): Pipeline<TracedGraph, Printed<CudaProgram>, CudaContext> =>
  planPipeline(cudaDevices).inContext<CudaContext>().thenEach(printCuda());

/**
 * Runs a pipeline up to and with the stage of that name, and prints what it makes.
 *
 * @throws UserError STAGE_UNKNOWN for a name that no stage has; it lists those that there are.
 */
export function showStage<Context>(
  pipeline: Cut<TracedGraph, Context>,
  { traced, context }: { readonly traced: TracedGraph; readonly context: Context },
  name: string,
): string {
  const cut = pipeline.upTo(name);
  if (cut === undefined)
    throw unknownStage(
      name,
      pipeline.stages.map((stage) => stage.name),
    );
  return cut.print(traced, context);
}
