// A compiler at work: a configuration, the machine it found, the cache, the worker pool, and what it has built so far.
// One session serves all compiled functions of a process, unless a test makes its own.
import type { Config, ConfigPatch } from '@tsinductor/config';
import { fingerprint, withConfig } from '@tsinductor/config';
import { generateCpp } from '@tsinductor/codegen-cpp';
import type { Graph } from '@tsinductor/graph';
import { optimize, printGraph } from '@tsinductor/graph';
import type { CheckSite } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import { stableHash, ToolchainError } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { Artifacts } from './artifacts.ts';
import type { Artifact, BatchRequest, BuildRequest } from './artifacts.ts';
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

export class Session implements Disposable {
  readonly config: Config;
  readonly #voice: Voice;
  readonly #warned = new Set<string>();
  readonly #executables = new Map<string, Executable>();
  #artifacts: Artifacts | undefined;
  #machine: Machine | undefined;
  #client: CompileClient | undefined;

  constructor(config: Config, voice: Voice) {
    this.config = config;
    this.#voice = voice;
  }

  /** Makes an executable of a traced graph, blocking until it is built. */
  prepare(traced: TracedGraph, request: PrepareRequest): Executable {
    const config = request.patch === undefined ? this.config : withConfig(this.config, request.patch, 'options');
    const machine = this.#choose(traced, request, config);
    if (machine.kind === 'done') return machine.executable;
    const { native, key } = machine;
    const started = performance.now();
    const found = this.artifacts().find(key);
    if (found !== undefined) return this.#load(traced, found, { native, key, origin: 'disk', started });
    const client = this.#compileClient(config);
    const built = this.#attempt(traced, config, () =>
      this.artifacts().build(client, this.#generate(traced, native, { config, key, name: request.name })),
    );
    return built.kind === 'failed'
      ? built.executable
      : this.#load(traced, built.artifact, { native, key, origin: 'built', started });
  }

  /** The same without blocking while the compiler runs. */
  async prepareAsync(traced: TracedGraph, request: PrepareRequest): Promise<Executable> {
    const config = request.patch === undefined ? this.config : withConfig(this.config, request.patch, 'options');
    const machine = this.#choose(traced, request, config);
    if (machine.kind === 'done') return machine.executable;
    const { native, key } = machine;
    const started = performance.now();
    const found = this.artifacts().find(key);
    if (found !== undefined) return this.#load(traced, found, { native, key, origin: 'disk', started });
    const client = this.#compileClient(config);
    const artifact = await this.artifacts().buildAsync(
      client,
      this.#generate(traced, native, { config, key, name: request.name }),
    );
    return this.#load(traced, artifact, { native, key, origin: 'built', started });
  }

  machine(): Machine {
    return (this.#machine ??= openMachine(this.config, this.artifacts().directory));
  }

  artifacts(): Artifacts {
    return (this.#artifacts ??= new Artifacts(this.config, (code, message) => {
      this.warnOnce(code, message);
    }));
  }

  /** The machine, where it has a compiler; throws a ToolchainError that says what is missing. */
  requireNative(): NativeMachine {
    const machine = this.machine();
    if (machine.kind === 'interpreter') throw new ToolchainError(machine.code, machine.reason);
    return machine;
  }

  /** Builds a library that is no single graph's; gives its path. */
  async buildBatch(request: BatchRequest): Promise<string> {
    return this.artifacts().buildLibrary(this.#compileClient(this.config), request);
  }

  /** Says something once per `topic` in this session. */
  warnOnce(topic: string, message: string): void {
    if (this.#warned.has(topic)) return;
    this.#warned.add(topic);
    this.#voice.warn(topic.split(' ')[0] ?? topic, message);
  }

  log(topic: string, message: string): void {
    if (this.config.torchLogs.some((name) => name.replace(/^[+]/, '') === topic)) this.#voice.log(topic, message);
  }

  [Symbol.dispose](): void {
    this.#client?.[Symbol.dispose]();
    this.#client = undefined;
  }

  /** Everything that needs no build: custom backends, the interpreter, and graphs that were built before. */
  #choose(traced: TracedGraph, request: PrepareRequest, config: Config): Choice {
    const { backend } = request;
    if (typeof backend === 'function')
      return { kind: 'done', executable: customExecutable(traced.graph, backend, request) };
    if (backend !== 'inductor') {
      return {
        kind: 'done',
        executable: interpretedExecutable(traced, `the interpreter, as backend '${backend}' asks`),
      };
    }
    const native = this.machine();
    if (native.kind === 'interpreter') {
      this.warnOnce(native.code, `compiled functions run on the interpreter: ${native.reason}`);
      return { kind: 'done', executable: interpretedExecutable(traced, `the interpreter: ${native.reason}`) };
    }
    const key = graphKey(traced.graph, native, config);
    const executable = this.#executables.get(key);
    return executable === undefined ? { kind: 'build', native, key } : { kind: 'done', executable };
  }

  #generate(
    { graph, primitives }: TracedGraph,
    native: NativeMachine,
    { config, key, name }: { config: Config; key: string; name: string },
  ): BuildRequest {
    const scheduled = schedule(lowerGraph(optimize(primitives)), { config });
    const target = { isa: native.isa, threads: native.threads, units: config.compileThreads };
    const program = generateCpp(scheduled, target);
    for (const { name, source } of program.units) this.log('output_code', `// ${name}\n${source}`);
    return { key, name, units: program.units, plan: makePlan(graph, scheduled, program), toolchain: native.toolchain };
  }

  #attempt(traced: TracedGraph, config: Config, build: () => Artifact): Attempt {
    try {
      return { kind: 'built', artifact: build() };
    } catch (error) {
      if (!config.suppressErrors) throw error;
      const message = messageOf(error);
      this.warnOnce(`SUPPRESSED ${message}`, `a graph runs on the interpreter, as suppressErrors asks: ${message}`);
      return { kind: 'failed', executable: interpretedExecutable(traced, `the interpreter: ${message}`) };
    }
  }

  #load({ graph, primitives }: TracedGraph, artifact: Artifact, how: LoadRequest): Executable {
    const { plan } = artifact;
    const entry = how.native.bridge.load(artifact.library, plan.entry);
    // A cached plan may be older than the user's lines: where a check failed is asked of this graph.
    const siteOf = (site: number): CheckSite | undefined => lowerGraph(optimize(primitives)).sites[site];
    const executable = new NativeExecutable(plan, { bridge: how.native.bridge, entry, siteOf }, {
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
    this.#executables.set(how.key, executable);
    return executable;
  }

  #compileClient(config: Config): CompileClient {
    return (this.#client ??= new CompileClient(config.compileThreads));
  }
}

const messageOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error);

type Choice =
  | { readonly kind: 'done'; readonly executable: Executable }
  | { readonly kind: 'build'; readonly native: NativeMachine; readonly key: string };

type Attempt =
  | { readonly kind: 'built'; readonly artifact: Artifact }
  | { readonly kind: 'failed'; readonly executable: Executable };

interface LoadRequest {
  readonly native: NativeMachine;
  readonly key: string;
  readonly origin: 'built' | 'disk';
  readonly started: number;
}

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
