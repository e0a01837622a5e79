// A compiler at work: a configuration, the machine it found, the cache, the worker pool, and what it has built so far.
// One session serves all compiled functions of a process, unless a test makes its own.
import type { Config, ConfigPatch } from '@tsinductor/config';
import { fingerprint, withConfig } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import { optimize, printGraph } from '@tsinductor/graph';
import type { CheckSite } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { stableHash, ToolchainError } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { LRUCache } from 'lru-cache';
import { Artifacts } from './artifacts.ts';
import type { Artifact, BatchRequest, BuildRequest, CudaArtifact, CudaRequest } from './artifacts.ts';
import { compileStages, describeStages, planStages, sourceText, targetOf } from './compilation.ts';
import type { Compilation } from './compilation.ts';
import { DebugFolders } from './debug-folders.ts';
import type { Executable } from './executable.ts';
import { interpretedExecutable } from './interpreted-executable.ts';
import { openMachine } from './machine.ts';
import type { Machine, NativeMachine } from './machine.ts';
import { NativeExecutable } from './native-executable.ts';
import type { CustomBackend, Mode } from './options.ts';
import { makePlan, planFormat } from './plan.ts';
import { CompileClient } from './compile-client.ts';

/** A graph as traced, and the same in primitives. */
export interface TracedGraph {
  readonly graph: Graph;
  readonly primitives: Graph;
}

export interface PrepareRequest {
  readonly name: string;
  readonly backend: 'inductor' | 'eager' | 'aot_eager' | CustomBackend;
  readonly examples: readonly Tensor[];
  readonly patch?: ConfigPatch;
  readonly mode?: Mode;
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
  readonly #executables = new LRUCache<string, Executable>({ max: keptExecutables });
  #folders: DebugFolders | undefined;
  readonly #artifacts = new Map<string, Artifacts>();
  readonly #machines = new Map<string, Machine>();
  #client: CompileClient | undefined;
  #uncached = 0;

  constructor(config: Config, voice: Voice) {
    this.config = config;
    this.#voice = voice;
  }

  /** Makes an executable of a traced graph, blocking until it is built. */
  prepare(traced: TracedGraph, request: PrepareRequest): Executable {
    const choice = this.#choose(traced, request);
    if (choice.kind === 'done') return choice.executable;
    try {
      const build = this.#generate(traced, request, choice);
      const built = this.artifacts(choice.config).build(this.#compileClient(choice.config), build);
      return this.#load(traced, built, { ...choice, origin: 'built' });
    } catch (error) {
      return this.#interpretInstead(traced, error, choice);
    }
  }

  /** The same without blocking while the compiler runs. */
  async prepareAsync(traced: TracedGraph, request: PrepareRequest): Promise<Executable> {
    const choice = this.#choose(traced, request);
    if (choice.kind === 'done') return choice.executable;
    try {
      const build = this.#generate(traced, request, choice);
      const built = await this.artifacts(choice.config).buildAsync(this.#compileClient(choice.config), build);
      return this.#load(traced, built, { ...choice, origin: 'built' });
    } catch (error) {
      return this.#interpretInstead(traced, error, choice);
    }
  }

  /** The machine under these settings: which compiler, how wide the vectors, how many threads. */
  machine(config: Config = this.config): Machine {
    const { cxx, searchPath, simdlen, threads } = config.cpp;
    return remembered(this.#machines, [cxx, searchPath, simdlen, threads], () => {
      const open = [...this.#machines.values()].find((machine) => machine.kind === 'native');
      return openMachine(config, this.artifacts(config).directory, open?.bridge);
    });
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
    return this.artifacts().buildLibrary(this.#compileClient(this.config), { ...request, ...limits });
  }

  /** Compiles CUDA source, or finds it in the cache. Throws ToolchainError CUDA_COMPILER_FAILED and its kin. */
  async buildCuda(request: Omit<CudaRequest, 'seconds'>): Promise<CudaArtifact> {
    const { seconds } = limitsOf(this.config);
    return this.artifacts().buildCuda(this.#compileClient(this.config), { ...request, seconds });
  }

  /** The same for a hand-written kernel, blocking this thread. */
  buildKernel(request: Omit<BatchRequest, 'seconds' | 'concurrency'>): string {
    const limits = limitsOf(this.config);
    return this.artifacts().buildLibraryNow(this.#compileClient(this.config), { ...request, ...limits });
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
    this.#client?.[Symbol.dispose]();
    this.#client = undefined;
    this.#executables.clear();
  }

  /** Everything that needs no build: custom backends, the interpreter, and graphs that were built before. */
  #choose(traced: TracedGraph, request: PrepareRequest): Choice {
    const { backend, patch } = request;
    const config = patch === undefined ? this.config : withConfig(this.config, patch, 'options');
    if (typeof backend === 'function')
      return { kind: 'done', executable: customExecutable(traced.graph, backend, request) };
    if (backend !== 'inductor') {
      return {
        kind: 'done',
        executable: interpretedExecutable(traced, `the interpreter, as backend '${backend}' asks`),
      };
    }
    const native = this.machine(config);
    if (native.kind === 'interpreter') {
      this.warnOnce(native.code, `compiled functions run on the interpreter: ${native.reason}`);
      if (config.trace.enabled) this.#keepFolder(request.name, planStages(traced, config), config);
      return { kind: 'done', executable: interpretedExecutable(traced, `the interpreter: ${native.reason}`) };
    }
    const key = graphKey(traced.graph, native, config);
    const slot = config.forceDisableCaches ? stableHash([key, this.#uncached++]) : key;
    const choice = { native, key, slot, config, started: performance.now() };
    const executable = this.#executables.get(memoryKey(choice));
    if (executable !== undefined) return { kind: 'done', executable };
    const found = this.artifacts(config).find(slot);
    if (found === undefined) return { kind: 'build', ...choice };
    if (config.trace.enabled)
      this.#keepFolder(request.name, compileStages(traced, config, targetOf(native, config)), config);
    return { kind: 'done', executable: this.#load(traced, found, { ...choice, origin: 'disk' }) };
  }

  #generate(traced: TracedGraph, { name }: PrepareRequest, { native, slot, config }: Build): BuildRequest {
    const target = targetOf(native, config);
    const stages = compileStages(traced, config, target);
    const { scheduled } = stages;
    const { program } = stages.native;
    if (config.debug) for (const text of describeStages(stages)) this.#voice.log('debug', `${name}: ${text}`);
    this.log('output_code', sourceText(program.units), config);
    if (config.trace.enabled) this.#keepFolder(name, stages, config);
    const { units } = program;
    const plan = makePlan(traced.graph, scheduled, program);
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

  /** What happens where building fails: the error, or the interpreter with a report. */
  #interpretInstead(traced: TracedGraph, error: unknown, { config }: Build): Executable {
    if (!config.suppressErrors) throw error;
    const message = messageOf(error);
    this.warnOnce(`SUPPRESSED ${message}`, `a graph runs on the interpreter, as suppressErrors asks: ${message}`);
    return interpretedExecutable(traced, `the interpreter: ${message}`);
  }

  #load({ graph, primitives }: TracedGraph, artifact: Artifact, how: LoadRequest): Executable {
    const { plan } = artifact;
    const { bridge, threads } = how.native;
    const entry = bridge.load(artifact.library, plan.entry);
    // A cached plan may be older than the user's lines: where a check failed is asked of this graph.
    const siteOf = (site: number): CheckSite | undefined => lowerGraph(optimize(primitives)).sites[site];
    const executable = new NativeExecutable(plan, { bridge, entry, threads, siteOf, sizeAsserts: how.config.sizeAsserts }, {
      runsOn: `native code for ${how.native.isa}, ${String(how.native.threads)} threads`,
      graph: printGraph(graph),
      loopNodes: plan.loopNodes,
      kernels: plan.kernels,
      decisions: plan.decisions,
      source: artifact.source,
      cacheKey: how.key,
      origin: how.origin,
      milliseconds: performance.now() - how.started,
      ...(plan.workspaceBytes.kind === 'int' ? { workspaceBytes: plan.workspaceBytes.value } : {}),
    }); // prettier-ignore
    this.#executables.set(memoryKey(how), executable);
    return executable;
  }

  #compileClient(config: Config): CompileClient {
    if (this.#client?.ended === true) this.#client = undefined;
    return (this.#client ??= new CompileClient(config.compileThreads));
  }
}

const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);

/** What a build is of. */
interface Build {
  readonly native: NativeMachine;
  readonly key: string;
  /** Under what it is kept: the key, or a name that nothing else will ever have where caches are off. */
  readonly slot: string;
  readonly config: Config;
  readonly started: number;
}

type Choice = { readonly kind: 'done'; readonly executable: Executable } | ({ readonly kind: 'build' } & Build);

interface LoadRequest extends Build {
  readonly origin: 'built' | 'disk';
}

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
const memoryKey = ({ slot, config }: Pick<Build, 'slot' | 'config'>): string => {
  const { sizeAsserts, cacheDir, fxGraphCache, forceDisableCaches } = config;
  return JSON.stringify([slot, sizeAsserts, cacheDir, fxGraphCache, forceDisableCaches]);
};

/**
 * Covers everything that decides the code: the graph, settings, compiler, CPU, threads. Where the user wrote it does not:
 * moving a function in its file must not compile it again.
 */
function graphKey(graph: Graph, native: NativeMachine, config: Config): string {
  return stableHash({
    format: planFormat,
    graph: { ...graph, nodes: graph.nodes.map((node) => ({ ...node, origin: undefined })) },
    config: fingerprint(config),
    compiler: native.toolchain.fingerprint,
    cpu: native.isaReport.cpu,
    isa: native.isa,
    threads: native.threads,
  });
}

function customExecutable(graph: Graph, backend: CustomBackend, { name, examples }: PrepareRequest): Executable {
  const run = backend(graph, examples);
  return {
    run: (inputs) => run(inputs),
    report: {
      runsOn: `the backend given for ${name}`,
      graph: printGraph(graph),
      loopNodes: 0,
      kernels: [],
      decisions: [],
    },
  };
}
