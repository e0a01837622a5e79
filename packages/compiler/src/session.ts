// A compiler at work: a configuration, the machine it found, the cache, the worker pool, and what it has built so far.
// One session serves all compiled functions of a process, unless a test makes its own.
import type { Config, ConfigPatch } from '@tsinductor/config';
import { withConfig } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import { stableHash, ToolchainError } from '@tsinductor/base';
import type { TemporaryStats, Tensor } from '@tsinductor/tensor';
import type { Placement } from '@tsinductor/tensor/internal';
import { LRUCache } from 'lru-cache';
import { Artifacts } from './build/artifacts.ts';
import type { Artifact, BatchRequest, BuildRequest, CudaArtifact, CudaRequest } from './build/artifacts.ts';
import { checkIndexLimits } from './run/check-index-limits.ts';
import { compileStages, describeStages, planStages, sourceText } from './build/compilation.ts';
import type { Compilation } from './build/compilation.ts';
import { customExecutable } from './run/custom-executable.ts';
import { CudaCompiler } from './cuda/cuda-compiler.ts';
import type { CudaJobRequest, GeneratedCuda } from './cuda/cuda-compiler.ts';
import { DebugFolders } from './build/debug-folders.ts';
import { isFutile } from './errors.ts';
import type { Executable } from './run/executable.ts';
import { graphParts } from './hosted/hosted-graph.ts';
import type { TracedProgram } from './hosted/hosted-graph.ts';
import { hostedExecutable } from './hosted/hosted-executable.ts';
import { interpretedExecutable } from './run/interpreted-executable.ts';
import type { InterpretingMachine, Machine, NativeMachine } from './build/machine.ts';
import { Machines } from './build/machines.ts';
import { makingOf } from './build/measure-schedule.ts';
import { loadNative } from './build/load-native.ts';
import type { Loading } from './build/load-native.ts';
import { marked } from './profile/marked-executable.ts';
import type { Backend, Mode } from './options.ts';
import { graphKey } from './build/graph-key.ts';
import { makePlan, sizesOfCall } from './run/plan.ts';
import { openMachineLimits } from './profile/machine-limits.ts';
import type { MachineLimits } from './profile/machine-limits.ts';
import { sumTemporaries } from './report.ts';
import { CompileClients } from './build/compile-clients.ts';

/** A graph as traced, and the same in primitives. */
export interface TracedGraph {
  readonly graph: Graph;
  readonly primitives: Graph;
}

export interface PrepareRequest {
  readonly name: string;
  readonly backend: Backend;
  readonly examples: readonly Tensor[];
  readonly patch?: ConfigPatch;
  readonly mode?: Mode;
  /** Where the graph runs, and where its outputs are to be. */
  readonly placement: Placement;
}

/** Where a session says what a user should know. */
export interface Voice {
  warn(code: string, message: string): void;
  log(topic: string, message: string): void;
}

/** Compiled graphs that are remembered beside the functions that use them. */
const keptExecutables = 256;

export class Session implements Disposable {
  readonly config: Config;
  readonly #voice: Voice;
  readonly #warned = new Set<string>();
  /**
   * So that two functions with the same graph share its code. One that is dropped here stays whole for whoever holds it,
   * and its memory goes when nobody does.
   */
  readonly #executables: LRUCache<string, Executable>;
  #folders: DebugFolders | undefined;
  /** Graphs for CUDA devices. */
  readonly cuda: CudaCompiler = new CudaCompiler({
    build: (config, job) => this.artifacts(config).buildCudaNow(this.#clients.of(config), withLimit(job, config)),
    buildAsync: (config, job) => this.artifacts(config).buildCuda(this.#clients.of(config), withLimit(job, config)),
    show: (generated) => {
      this.#showCuda(generated);
    },
  });
  readonly #artifacts = new Map<string, Artifacts>();
  readonly #limits = new Map<string, MachineLimits>();
  readonly #clients = new CompileClients();
  readonly #machines = new Machines(this.#clients);
  #uncached = 0;

  constructor(config: Config, voice: Voice, kept: number = keptExecutables) {
    this.config = config;
    this.#executables = new LRUCache({ max: kept });
    this.#voice = voice;
  }

  /** Makes an executable of a traced graph, blocking until it is built. */
  prepare(traced: TracedProgram, request: PrepareRequest): Executable {
    return this.#mark(this.#prepare(traced, request), request);
  }

  /** The same without blocking while the compiler runs. */
  async prepareAsync(traced: TracedProgram, request: PrepareRequest): Promise<Executable> {
    return this.#mark(await this.#prepareAsync(traced, request), request);
  }

  #prepare(traced: TracedProgram, request: PrepareRequest): Executable {
    if ('parts' in traced) {
      return hostedExecutable(traced, graphParts(traced, request, this.config).map((part) => this.prepare(part.traced, part.request))); // prettier-ignore
    }
    const cuda = this.#cudaJob(traced, request);
    if (cuda !== undefined) {
      try {
        return this.cuda.prepare(cuda);
      } catch (error) {
        return this.#interpretInstead(traced, error, cuda);
      }
    }
    const choice = this.#choose(traced, request);
    if (choice.kind === 'done') return choice.executable;
    try {
      const client = this.#clients.of(choice.config); // starts, while this thread generates
      const build = this.#generate(traced, request, choice);
      const built = this.artifacts(choice.config).build(client, build);
      return this.#load(traced, built, { ...choice, name: request.name, origin: 'built' });
    } catch (error) {
      return this.#interpretInstead(traced, error, choice);
    }
  }

  async #prepareAsync(traced: TracedProgram, request: PrepareRequest): Promise<Executable> {
    if ('parts' in traced) {
      const parts = graphParts(traced, request, this.config).map((part) =>
        this.prepareAsync(part.traced, part.request),
      );
      return hostedExecutable(traced, await Promise.all(parts));
    }
    const cuda = this.#cudaJob(traced, request);
    if (cuda !== undefined)
      return this.cuda.prepareAsync(cuda).catch((error: unknown) => this.#interpretInstead(traced, error, cuda));
    const choice = this.#choose(traced, request);
    if (choice.kind === 'done') return choice.executable;
    try {
      const client = this.#clients.of(choice.config);
      const build = this.#generate(traced, request, choice);
      const built = await this.artifacts(choice.config).buildAsync(client, build);
      return this.#load(traced, built, { ...choice, name: request.name, origin: 'built' });
    } catch (error) {
      return this.#interpretInstead(traced, error, choice);
    }
  }

  /** The machine under these settings: which compiler, how wide the vectors, how many threads. */
  machine(config: Config = this.config): Machine {
    return this.#machines.of(config, () => this.artifacts(config).directory);
  }

  /** Where these settings keep what is built. */
  artifacts(config: Config = this.config): Artifacts {
    const { cacheDir, fxGraphCache, forceDisableCaches } = config;
    const place = fxGraphCache && !forceDisableCaches ? cacheDir : null;
    return remembered(this.#artifacts, place, () => {
      return new Artifacts(config, (code, message) => {
        this.warnOnce(code, message);
      });
    });
  }

  /** The machine, where it has a compiler; throws a ToolchainError that says what is missing. */
  requireNative(): NativeMachine {
    const machine = this.machine();
    if (machine.kind === 'interpreter') throw new ToolchainError(machine.code, machine.reason);
    return machine;
  }

  /** Builds a library that is no single graph's; gives its path. */
  async buildBatch(request: Omit<BatchRequest, 'seconds' | 'concurrency'>): Promise<string> {
    const limits = limitsOf(this.config);
    return this.artifacts().buildLibrary(this.#clients.of(this.config), {
      ...request,
      ...limits,
    });
  }

  /** Compiles CUDA source, or finds it in the cache. Throws ToolchainError CUDA_COMPILER_FAILED and its kin. */
  async buildCuda(request: Omit<CudaRequest, 'seconds'>): Promise<CudaArtifact> {
    const { seconds } = limitsOf(this.config);
    return this.artifacts().buildCuda(this.#clients.of(this.config), { ...request, seconds });
  }

  /** The same, blocking this thread. */
  buildCudaNow(request: Omit<CudaRequest, 'seconds'>): CudaArtifact {
    const { seconds } = limitsOf(this.config);
    return this.artifacts().buildCudaNow(this.#clients.of(this.config), {
      ...request,
      seconds,
    });
  }

  /** A library of a hand-written kernel, built while this thread waits. */
  buildKernel(request: Omit<BatchRequest, 'seconds' | 'concurrency'>): string {
    const limits = limitsOf(this.config);
    return this.artifacts().buildLibraryNow(this.#clients.of(this.config), {
      ...request,
      ...limits,
    });
  }

  /** Temporaries of the graphs that are loaded, added up. */
  plannedTemporaries(): TemporaryStats {
    return sumTemporaries([...this.#executables.values()].map(({ report }) => report));
  }

  /** Says something once per `topic` in this session. */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.#voice.warn(topic.split(' ')[0] ?? topic, message);
  }

  log(topic: string, message: string, config: Config = this.config): void {
    if (config.torchLogs.some((name) => name.replace(/^[+]/, '') === topic)) this.#voice.log(topic, message);
  }

  [Symbol.dispose](): void {
    this.#clients[Symbol.dispose]();
    this.#executables.clear();
  }

  #configOf({ patch }: PrepareRequest): Config {
    return patch === undefined ? this.config : withConfig(this.config, patch, 'options');
  }

  #mark(executable: Executable, request: PrepareRequest): Executable {
    return this.#configOf(request).profilerMarkWrapperCall ? marked(executable, request.name) : executable;
  }

  /** A graph for a CUDA device; undefined where it runs on the CPU, or on something else than our code. */
  #cudaJob(traced: TracedGraph, request: PrepareRequest): CudaJobRequest | undefined {
    const { name, backend, placement, examples } = request;
    const { device } = placement;
    if (device === 'cpu' || backend !== 'inductor') return undefined;
    return { name, traced, examples, placement: { ...placement, device }, config: this.#configOf(request) };
  }

  /** What logs and debug folders show, before a toolkit is needed. */
  #showCuda({ name, stages, program, config }: GeneratedCuda): void {
    if (config.debug) for (const text of describeStages(stages)) this.#voice.log('debug', `${name}: ${text}`);
    this.log('output_code', program.source, config);
    if (config.trace.enabled) this.#keepFolder(name, { ...stages, cuda: program.source }, config);
  }

  /** Everything that needs no build: custom backends, the interpreter, and graphs that were built before. */
  #choose(traced: TracedGraph, request: PrepareRequest): Choice {
    const { backend } = request;
    const config = this.#configOf(request);
    if (typeof backend === 'function')
      return { kind: 'done', executable: customExecutable(traced.graph, backend, request) };
    if (backend !== 'inductor') {
      return {
        kind: 'done',
        executable: interpretedExecutable(traced, `the interpreter, as backend '${backend}' asks`, request.placement),
      };
    }
    const native = this.machine(config);
    if (native.kind === 'interpreter') {
      if (config.trace.enabled) this.#keepFolder(request.name, planStages(traced, config), config);
      return { kind: 'done', executable: this.#interpretHere(traced, native) };
    }
    const key = graphKey(traced.graph, { native, config });
    const slot = config.forceDisableCaches ? stableHash([key, this.#uncached++]) : key;
    const choice = { native, key, slot, config, placement: request.placement, started: performance.now() };
    const executable = this.#executables.get(memoryKey(choice));
    if (executable !== undefined) return { kind: 'done', executable };
    const found = this.artifacts(config).find(slot);
    if (found === undefined) return { kind: 'build', ...choice };
    if (config.trace.enabled)
      this.#keepFolder(request.name, compileStages(traced, config, makingOf(this, native, config)), config);
    try {
      return { kind: 'done', executable: this.#load(traced, found, { ...choice, name: request.name, origin: 'disk' }) };
    } catch (error) {
      return { kind: 'done', executable: this.#interpretInstead(traced, error, choice) };
    }
  }

  #generate(traced: TracedGraph, { name, examples }: PrepareRequest, { native, slot, config }: Build): BuildRequest {
    const stages = compileStages(traced, config, makingOf(this, native, config));
    const { scheduled } = stages;
    const { program } = stages.native;
    if (config.debug) for (const text of describeStages(stages)) this.#voice.log('debug', `${name}: ${text}`);
    this.log('output_code', sourceText(program.units), config);
    if (config.trace.enabled) this.#keepFolder(name, stages, config);
    const { units } = program;
    const plan = makePlan(traced.graph, scheduled, program);
    // Where no call is at hand, the first one asks.
    if (examples.length > 0) checkIndexLimits(plan.indexLimits, sizesOfCall(plan.sizes, examples));
    return { key: slot, name, units, plan, toolchain: native.toolchain, ...limitsOf(config) };
  }

  /** Keeps the stages for reading. A folder that cannot be written costs the reader something, and the program nothing. */
  #keepFolder(name: string, stages: Compilation, config: Config): void {
    try {
      if (this.#folders === undefined) {
        this.#folders = new DebugFolders(config.trace.debugDir);
        this.#voice.log('trace', `what compiling makes is kept in ${this.#folders.root}`);
      }
      this.#folders.keep(name, stages);
    } catch (error) {
      this.warnOnce('TRACE_DIRECTORY', `what compiling makes cannot be kept: ${messageOf(error)}`);
    }
  }

  /** On a machine where native code does not run. */
  #interpretHere(traced: TracedGraph, { code, reason }: InterpretingMachine): Executable {
    this.warnOnce(code, `compiled functions run on the interpreter: ${reason}`);
    return interpretedExecutable(traced, `the interpreter: ${reason}`);
  }

  /** What happens where building fails: the error, or the interpreter with a report; also where nothing native can be called. */
  #interpretInstead(traced: TracedGraph, error: unknown, { config, placement }: InterpretedInstead): Executable {
    const machine = this.machine(config);
    if (placement.device === 'cpu' && machine.kind === 'interpreter') return this.#interpretHere(traced, machine);
    if (isFutile(error)) return interpretedExecutable(traced, `the interpreter: ${error.message}`, placement);
    if (!config.suppressErrors) throw error;
    const message = messageOf(error);
    this.warnOnce(`SUPPRESSED ${message}`, `a graph runs on the interpreter, as suppressErrors asks: ${message}`);
    return interpretedExecutable(traced, `the interpreter: ${message}`, placement);
  }

  #load(traced: TracedGraph, artifact: Artifact, how: LoadRequest): Executable {
    const executable = loadNative(traced, artifact, {
      ...how,
      print: (table) => {
        this.#voice.log('profile', table);
      },
      warn: (message) => {
        this.warnOnce('PROFILE_OUTPUT', message);
      },
      limits: () => remembered(this.#limits, how.native.threads, () => openMachineLimits(this, how.native)),
    });
    this.#executables.set(memoryKey(how), executable);
    return executable;
  }
}

const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);

/** What decides whether, and where, the interpreter stands in. */
interface InterpretedInstead {
  readonly config: Config;
  readonly placement: Placement;
}

/** What a build is of. */
interface Build {
  readonly native: NativeMachine;
  readonly key: string;
  /** Under what it is kept: the key, or a name that nothing else will ever have where caches are off. */
  readonly slot: string;
  readonly config: Config;
  readonly placement: Placement;
  readonly started: number;
}

type LoadRequest = Build & Pick<Loading, 'name' | 'origin'>;

type Choice = { readonly kind: 'done'; readonly executable: Executable } | ({ readonly kind: 'build' } & Build);

const withLimit = (job: Omit<CudaRequest, 'seconds'>, { compileTimeout }: Config): CudaRequest => ({
  ...job,
  seconds: compileTimeout,
});

const limitsOf = ({ compileTimeout, compileThreads }: Config): { seconds: number; concurrency: number } => ({
  seconds: compileTimeout,
  concurrency: compileThreads,
});

/** What was made for `key` before, or is made now. */
function remembered<T>(known: Map<string, T>, key: unknown, make: () => T): T {
  const text = JSON.stringify(key);
  const value = known.get(text) ?? make();
  known.set(text, value);
  return value;
}

/** The code, and what of the settings decides where it is kept and how it is called. */
const memoryKey = ({ slot, config, native }: Pick<Build, 'slot' | 'config' | 'native'>): string => {
  const { sizeAsserts, cacheDir, fxGraphCache, forceDisableCaches } = config;
  const { profileBandwidthRegex, profileBandwidthOutput } = config;
  const told = [profileBandwidthRegex, profileBandwidthOutput];
  return JSON.stringify([slot, native.threads, sizeAsserts, cacheDir, fxGraphCache, forceDisableCaches, ...told]);
};
