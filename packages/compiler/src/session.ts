// A compiler at work: a configuration, what builds under it, and a compiler for each kind of target. In: traced graphs, and how
// they are to run. Out: executables. One session serves all compiled functions of a process, unless a test makes its own.
import { isTsInductorError } from '@tsinductor/base';
import type { TsInductorError } from '@tsinductor/base';
import type { Config, LogTopic } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import type { TemporaryStats } from '@tsinductor/tensor';
import type { Placement } from '@tsinductor/tensor/internal';
import { Announcer, messageOf } from './build/announcer.ts';
import type { Voice } from './build/announcer.ts';
import type { Artifacts } from './build/artifacts.ts';
import { beginNative } from './build/begin-native.ts';
import { Builder } from './build/builder.ts';
import type { InterpretingMachine, Machine, NativeMachine } from './build/machine.ts';
import { NativeCompiler } from './build/native-compiler.ts';
import { done, failed, rethrown, then } from './build/pending.ts';
import type { Pending } from './build/pending.ts';
import { planPipeline, showStage } from './build/pipeline.ts';
import { keepsStages, StageLog, watchingFor } from './build/stage-log.ts';
import { compileAsync, compileBeside, compileNow } from './build/target-compiler.ts';
import type { BesideCompiler, CompileJob } from './build/target-compiler.ts';
import { GraphRecorder } from './build/tuning/recorded-graphs.ts';
import { CudaCompiler } from './cuda/cuda-compiler.ts';
import { FoldedStore } from './freeze/folded-store.ts';
import { FrozenGraph, splitByFrozen } from './freeze/freezing.ts';
import { isFutile, isToolchainFailure } from './errors.ts';
import { hostedExecutable } from './hosted/hosted-executable.ts';
import { graphParts } from './hosted/hosted-graph.ts';
import type { TracedProgram } from './hosted/hosted-graph.ts';
import { logGraph } from './log-graph.ts';
import { configUnder } from './mode.ts';
import { marked } from './profile/marked-executable.ts';
import { sumTemporaries } from './report.ts';
import type { PrepareRequest, TracedGraph } from './request.ts';
import { customExecutable } from './run/custom-executable.ts';
import type { Executable } from './run/executable.ts';
import { finiteOnly } from './run/finite-check.ts';
import { interpretedExecutable } from './run/loop-executable.ts';
import { lowerTier, lowerTierName } from './run/lower-tier.ts';
import { TieredExecutable } from './run/tiered-executable.ts';
import type { BuildOutcome } from './run/tiered-executable.ts';
import { compiledEvent } from './structured-trace/describe-graph.ts';
import type { TraceEvent } from './structured-trace/trace-event.ts';

/** Compiled graphs that are remembered beside the functions that use them. */
const keptExecutables = 256;

export class Session implements Disposable {
  readonly config: Config;
  /** What builds: also for hand-written kernels and batches of graphs. */
  readonly builder: Builder;
  readonly #announcer: Announcer;
  readonly #log: StageLog;
  readonly #native: NativeCompiler;
  readonly #cuda: CudaCompiler;
  readonly #folded = new FoldedStore();
  readonly #recorder: GraphRecorder;
  /** Compiles the parts of graphs that are split. */
  readonly #compiler = {
    now: (graph: Graph, request: PrepareRequest): Executable => this.prepare({ graph, primitives: graph }, request),
    beside: (graph: Graph, request: PrepareRequest): Pending<Executable> =>
      this.#prepareBeside({ graph, primitives: graph }, request),
    later: (graph: Graph, request: PrepareRequest): Promise<Executable> =>
      this.prepareAsync({ graph, primitives: graph }, request),
  };

  constructor(config: Config, voice: Voice, kept: number = keptExecutables) {
    this.config = config;
    this.#announcer = new Announcer(voice, config);
    this.builder = new Builder(config, this.#announcer);
    this.#recorder = new GraphRecorder(this.builder);
    this.#log = new StageLog(this.#announcer);
    this.#native = new NativeCompiler(this.builder, this.#log, kept);
    this.#cuda = new CudaCompiler(this.builder, this.#log);
  }

  /** Makes an executable of a traced graph, blocking until it is built, unless that happens in the background. */
  prepare(traced: TracedProgram, request: PrepareRequest): Executable {
    if ('parts' in traced) {
      const parts = graphParts(traced, request, this.config).map((part) => this.prepare(part.traced, part.request));
      return this.#mark(hostedExecutable(traced, parts), request);
    }
    const frozen = this.#frozen(traced, request);
    if (frozen !== undefined) return frozen.now(this.#compiler);
    const job = this.#jobOf(traced, request);
    const executable = request.isBackground === true ? this.#inBackground(job, request) : this.#now(job, request);
    return this.#finish(executable, traced, request);
  }

  /** The same without blocking while compilers run. */
  async prepareAsync(traced: TracedProgram, request: PrepareRequest): Promise<Executable> {
    if ('parts' in traced) {
      const parts = graphParts(traced, request, this.config);
      const prepared = await Promise.all(parts.map((part) => this.prepareAsync(part.traced, part.request)));
      return this.#mark(hostedExecutable(traced, prepared), request);
    }
    const frozen = this.#frozen(traced, request);
    if (frozen !== undefined) return await frozen.later(this.#compiler);
    const job = this.#jobOf(traced, request);
    const way = this.#wayOf(job, request);
    if ('run' in way) return this.#finish(way, traced, request);
    try {
      return this.#finish(await way.later(), traced, request);
    } catch (error) {
      return this.#finish(this.#lowerOrThrow(job, error), traced, request);
    }
  }

  /** The same beside this thread, which goes on once the text is generated. */
  #prepareBeside(traced: TracedGraph, request: PrepareRequest): Pending<Executable> {
    if (request.isBackground === true) return done(this.prepare(traced, request));
    const job = this.#jobOf(traced, request);
    const finish = (executable: Executable): Executable => this.#finish(executable, traced, request);
    try {
      const way = this.#wayOf(job, request);
      if ('run' in way) return done(finish(way));
      const built = then(
        way.beside(),
        (made) => made,
        (error) => this.#lowerOrThrow(job, error),
      );
      return then(built, finish);
    } catch (error) {
      return done(finish(this.#lowerOrThrow(job, error)));
    }
  }

  /** The machine under these settings: which compiler, how wide the vectors, how many threads. */
  machine(config: Config = this.config): Machine {
    return this.builder.machine(config);
  }

  /** The machine, where it has a compiler; throws a ToolchainError that says what is missing. */
  requireNative(): NativeMachine {
    return this.builder.requireNative();
  }

  /** Whether the machine was found to be known, so that its memory is had without waiting. */
  get isMachineKnown(): boolean {
    return this.builder.wasMachineKnown();
  }

  /** Where the settings keep what is built. */
  artifacts(): Artifacts {
    return this.builder.artifacts();
  }

  /** Temporaries of the graphs that are loaded, added up. */
  plannedTemporaries(): TemporaryStats {
    return sumTemporaries(this.#native.kept().map(({ report }) => report));
  }

  /** Says something once per `topic` in this session. */
  warnOnce(topic: string, message: string): void {
    this.#announcer.warnOnce(topic, message);
  }

  log(topic: LogTopic, message: () => string, config: Config = this.config): void {
    this.#announcer.log(topic, message, config);
  }

  record(name: string, event: () => TraceEvent, config: Config): void {
    this.#announcer.record(name, event, config);
  }

  [Symbol.dispose](): void {
    this.builder[Symbol.dispose]();
    this.#native.clear();
  }

  /** A graph of which part is computed once, as the settings ask. */
  #frozen(traced: TracedGraph, request: PrepareRequest): FrozenGraph | undefined {
    const config = this.#configOf(request);
    if (!config.freezing || request.backend !== 'inductor') return undefined;
    const isKnown = request.isBackground !== true || this.builder.isMachineKnown(config);
    const found = request.placement.device === 'cpu' && isKnown ? this.machine(config) : undefined;
    const machine = found?.kind === 'native' ? found : undefined;
    const split = splitByFrozen(traced, request, { config, machine });
    return split && new FrozenGraph({ traced, request, split }, this.#folded, config.freezingDiscardParameters);
  }

  #configOf(request: PrepareRequest): Config {
    return configUnder(this.config, request);
  }

  #jobOf(traced: TracedGraph, request: PrepareRequest): CompileJob {
    const { name, examples, placement, tally, isBackground } = request;
    return { name, traced, examples, placement, config: this.#configOf(request), tally, isBackground };
  }

  /** What a caller gets of an executable of one graph; tells of it what the settings ask for. */
  #finish(executable: Executable, traced: TracedGraph, request: PrepareRequest): Executable {
    const config = this.#configOf(request);
    const { report } = executable;
    logGraph(this.#announcer, { traced, request, report }, config);
    this.record(request.name, () => compiledEvent(traced.graph, report), config);
    if (config.runJitPostCompileHook && report.origin !== 'disk' && report.origin !== 'remote') {
      const hook = config.jitPostCompileHook as PostCompileHook | null;
      hook?.run({ name: request.name, report });
    }
    return this.#mark(config.nanAsserts ? finiteOnly(executable, traced.graph, request.name) : executable, request);
  }

  #mark(executable: Executable, request: PrepareRequest): Executable {
    return this.#configOf(request).profilerMarkWrapperCall ? marked(executable, request.name) : executable;
  }

  /** What runs the job without being built (custom backends, the interpreter), or who compiles it. */
  #wayOf(job: CompileJob, request: PrepareRequest): Executable | Way {
    const { backend } = request;
    const { traced, placement, config } = job;
    if (backend === 'inductor') this.#recorder.note(job);
    if (typeof backend === 'function') {
      job.tally?.bypass("the backend is the program's own");
      return customExecutable(traced.graph, backend, request);
    }
    if (backend !== 'inductor') {
      job.tally?.bypass(`backend '${backend}' compiles nothing`);
      return interpretedExecutable(traced, { runsOn: `the interpreter, as backend '${backend}' asks`, placement });
    }
    if (placement.device !== 'cpu') return wayThrough(this.#cuda, () => this.#cuda.jobFor(job));
    const native = this.machine(config);
    if (native.kind === 'interpreter') {
      this.#keepPlan(job);
      return this.#runLower(job, native);
    }
    const { droppedFlags = [] } = native.toolchain;
    if (droppedFlags.length > 0)
      this.warnOnce('COMPILER_FLAGS', `the C++ compiler is called without ${droppedFlags.join(' ')}: ${numericFlags}`);
    return wayThrough(this.#native, () => this.#native.jobFor(job, native));
  }

  #now(job: CompileJob, request: PrepareRequest): Executable {
    const way = this.#wayOf(job, request);
    if ('run' in way) return way;
    try {
      return way.now();
    } catch (error) {
      return this.#lowerOrThrow(job, error);
    }
  }

  /** What answers at once: code that is there, or else the lower tier until it is. */
  #inBackground(job: CompileJob, request: PrepareRequest): Executable {
    if (request.backend !== 'inductor') return this.#now(job, request);
    const begun = this.#begin(job, request);
    if ('run' in begun) return begun;
    const building = then(
      begun,
      (made): BuildOutcome =>
        'run' in made ? { executable: made, tier: 'native' } : { executable: this.#runLower(job, made), tier: 'lower' },
      (error) => this.#lowerInstead(job, error),
    );
    const lower = lowered(job, `${lowerTierName}, while native code is built`, job.placement);
    return new TieredExecutable(lower, building);
  }

  /** Code that is there, or code that is on its way. */
  #begin(job: CompileJob, request: PrepareRequest): Executable | ReturnType<typeof beginNative> {
    const { placement, config } = job;
    const isNative = placement.device === 'cpu';
    try {
      if (!isNative || this.builder.isMachineKnown(config)) {
        const way = this.#wayOf(job, request);
        const known = 'run' in way ? way : way.known();
        if (known !== undefined) return known;
      }
      if (isNative) return beginNative(job, { builder: this.builder, native: this.#native });
      return compileBeside(this.#cuda, this.#cuda.jobFor(job));
    } catch (error) {
      return failed(error);
    }
  }

  /** The lower tier for good, with a report. */
  #lowerInstead(job: CompileJob, error: unknown): BuildOutcome {
    const message = messageOf(error);
    job.tally?.bypass(`no native code: ${isTsInductorError(error) ? error.code : message}`);
    const executable = lowered(job, `${lowerTierName}: ${message}`, job.placement);
    if (isFutile(error)) return { executable, tier: 'lower' };
    this.warnOnce(
      `BACKGROUND_BUILD ${message}`,
      `a graph of ${job.name} goes on running as ${lowerTierName}: its native code was not built: ${message}`,
    );
    const isSuppressed = job.config.suppressErrors === true || isForgiven(job, error);
    return { executable, tier: 'lower', ...(isSuppressed ? {} : { fail: () => rethrown(error) }) };
  }

  /** The folder of a graph for which no code is made. */
  #keepPlan(job: CompileJob): void {
    const { traced, config } = job;
    if (!keepsStages(config)) return;
    const watching = watchingFor(config);
    const scheduled = planPipeline().run(traced, { config }, watching.watch);
    this.#log.keep({ job, scheduled }, watching);
  }

  /** On a machine where native code does not run. */
  #runLower(job: CompileJob, { code, reason }: Pick<InterpretingMachine, 'code' | 'reason'>): Executable {
    this.warnOnce(code, `compiled functions run as ${lowerTierName}: ${reason}`);
    job.tally?.bypass(`no native code: ${code}`);
    return lowered(job, `${lowerTierName}: ${reason}`, undefined);
  }

  /** What happens where building fails: the error, or the lower tier with a report; also where nothing native can be called. */
  #lowerOrThrow(job: CompileJob, error: unknown): Executable {
    const { config, placement } = job;
    const machine = this.machine(config);
    if (placement.device === 'cpu' && machine.kind === 'interpreter') return this.#runLower(job, machine);
    if (isFutile(error)) return lowered(job, `${lowerTierName}: ${error.message}`, placement);
    const message = messageOf(error);
    job.tally?.bypass(`no native code: ${isTsInductorError(error) ? error.code : message}`);
    if (config.suppressErrors === true)
      this.warnOnce(`SUPPRESSED ${message}`, `a graph runs as ${lowerTierName}, as suppressErrors asks: ${message}`);
    else if (isForgiven(job, error))
      this.warnOnce(error.code, `compiled functions run as ${lowerTierName} where they cannot be built: ${message}`);
    else throw error;
    return lowered(job, `${lowerTierName}: ${message}`, placement);
  }
}

/** What the setting jitPostCompileHook is. */
interface PostCompileHook {
  readonly run: (compiled: { readonly name: string; readonly report: Executable['report'] }) => unknown;
}

/** Whether a failure is this machine's alone, and the settings leave to us what happens then. */
const isForgiven = ({ config, placement }: CompileJob, error: unknown): error is TsInductorError =>
  config.suppressErrors === null && placement.device === 'cpu' && isToolchainFailure(error);

const numericFlags =
  'such flags change what code computes, and how the whole process rounds; see cpp.enableUnsafeMathOptFlag';

/** Who compiles a job, of whatever target. */
interface Way {
  /** What was compiled before, and is found without building. */
  known(): Executable | undefined;
  now(): Executable;
  beside(): Pending<Executable>;
  later(): Promise<Executable>;
}

const wayThrough = <Job, Generated, Built>(
  target: BesideCompiler<Job, Generated, Built, Executable>,
  job: () => Job,
): Way => ({
  known: () => target.find?.(job()),
  now: () => compileNow(target, job()),
  beside: () => compileBeside(target, job()),
  later: () => compileAsync(target, job()),
});

/** By the lower tier. Its stages can be shown down to the schedule. */
function lowered({ traced, config }: CompileJob, runsOn: string, placement: Placement | undefined): Executable {
  const executable = lowerTier(traced, runsOn, placement);
  return {
    ...executable,
    report: {
      ...executable.report,
      showStage: (name) => showStage(planPipeline(), { traced, context: { config } }, name),
    },
  };
}
