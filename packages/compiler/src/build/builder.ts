// What builds, for code of every target: the machines that the settings name, the cache, the worker threads, the CUDA toolkits.
// In: source text and who compiles it. Out: paths of verified files. What a compiler of a target, a clock or a hand-written
// kernel needs of a session is this.
import { delimiter } from 'node:path';
import { invariant, ToolchainError } from '@tsinductor/base';
import type { RecordStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { buildBridge, findCudaToolkit, requireCudaToolkit, requireToolchain, withCudaFlags } from '@tsinductor/runtime';
import type { Bridge, CudaToolkit, CudaToolkitReport } from '@tsinductor/runtime';
import type { Announcer } from './announcer.ts';
import { Artifacts, placeOfArtifacts } from './artifacts.ts';
import type { SavedArtifacts } from './artifacts.ts';
import type { BatchRequest, BuildRequest, CudaRequest } from './entry-jobs.ts';
import type { CompileClient, Compiling } from './compile-client.ts';
import { CompileClients } from './compile-clients.ts';
import { cudaFlagsOf, factsText } from './cuda-flags.ts';
import type { Machine, NativeMachine } from './machine.ts';
import { Machines } from './machines.ts';
import { then } from './pending.ts';
import type { Pending } from './pending.ts';
import { Progress } from './progress.ts';
import type { Artifact, CudaArtifact } from './read-artifact.ts';
import { RemoteCache } from './remote/remote-cache.ts';
import { hasKeys, redisOptions, sharesGraphs } from './remote/remote-options.ts';
import type { MeasuredKernels } from './remote/remote-options.ts';
import type { SavedArtifact } from './saved-entries.ts';
import { TuningRecords } from './tuning-records.ts';
import type { GraphBuilt, GraphJob } from './workers/protocol.ts';

/** Limits are those of the settings. */
type GraphRequest = Omit<BuildRequest, 'seconds' | 'concurrency'>;
export type LibraryRequest = Omit<BatchRequest, 'seconds' | 'concurrency'>;
export type CudaCodeRequest = Omit<CudaRequest, 'seconds'>;

export class Builder implements Disposable {
  readonly config: Config;
  readonly announcer: Announcer;
  readonly #artifacts = new Map<string, Artifacts>();
  readonly #clients: CompileClients;
  readonly #machines: Machines;
  readonly #root: string | undefined;
  readonly #tuning: TuningRecords;
  readonly #progress: Progress;
  readonly #remotes = new Map<string, RemoteCache>();
  readonly #toolkits = new Map<string, CudaToolkitReport>();

  /** With a `root`, for a worker: the cache of whoever asked it, for which it builds in its own thread. */
  constructor(config: Config, announcer: Announcer, root?: string) {
    this.config = config;
    this.announcer = announcer;
    this.#root = root;
    this.#clients = new CompileClients(root === undefined ? 'workers' : 'here');
    this.#machines = new Machines(this.#clients);
    this.#tuning = new TuningRecords(config, announcer, () => this.#remote(config));
    this.#progress = new Progress(announcer);
  }

  /** The machine under these settings: which compiler, how wide the vectors, how many threads. */
  machine(config: Config = this.config): Machine {
    return this.#machines.of(config, () => this.artifacts(config).place);
  }

  /** What was compiled, or what the cache has under these keys, as bytes, with what running it needs of this machine. */
  saveArtifacts(keys?: readonly string[]): SavedArtifacts | undefined {
    const machine = this.machine();
    return this.artifacts().save(machine.kind === 'native' ? machine : undefined, keys);
  }

  /** Puts such bytes into the cache; a machine without a compiler may run what is in them. */
  loadArtifacts(bytes: Uint8Array): readonly SavedArtifact[] {
    const loaded = this.artifacts().load(bytes);
    this.#machines.forgetFailures();
    return loaded;
  }

  /** The bridge, if a machine of these has opened it. */
  get bridge(): Bridge | undefined {
    return this.#machines.bridge;
  }

  /** The bridge that lies in the cache, for the compiler that was found before: nothing is started, and nothing built. */
  builtBridge(config: Config = this.config): Bridge | undefined {
    return this.#machines.built(config, this.artifacts(config).place);
  }

  /** Where the bridge of a machine lies, for another process; built if need be. */
  bridgePath({ report }: NativeMachine): string {
    return buildBridge({ toolchain: requireToolchain(report), ...this.artifacts().place });
  }

  /** Whether all is known of the machine, and its bridge is built: then asking for it waits for nothing. */
  isMachineKnown(config: Config = this.config): boolean {
    return this.#machines.areKnown(config, () => this.artifacts(config).place);
  }

  /** Whether that was found out before; nothing is looked at. */
  wasMachineKnown(): boolean {
    return this.#machines.wereKnown(this.config);
  }

  /** The machine, where it has a compiler; throws a ToolchainError that says what is missing. */
  requireNative(): NativeMachine {
    const machine = this.machine();
    if (machine.kind === 'interpreter') throw new ToolchainError(machine.code, machine.reason);
    return machine;
  }

  /** Where these settings keep what is built. */
  artifacts(config: Config = this.config): Artifacts {
    return remembered(this.#artifacts, placeOfArtifacts(config), () => {
      const warn = (code: string, message: string): void => {
        this.announcer.warnOnce(code, message);
      };
      // A worker asks the server itself, which waits for nothing (`graph-task.ts`).
      const remote = this.#root === undefined && sharesGraphs(config) ? this.#remote(config) : undefined;
      return new Artifacts(config, warn, { root: this.#root, remote });
    });
  }

  /** What machines share under these settings; undefined where their keys cannot be used. */
  #remote(config: Config): RemoteCache | undefined {
    const options = redisOptions(config);
    const writesBehind = config.nonBlockingRemoteCacheWrite;
    const warn = (code: string, message: string): void => {
      this.announcer.warnOnce(code, message);
    };
    const text = JSON.stringify([options, writesBehind]);
    if (!this.#remotes.has(text) && hasKeys(options, warn))
      this.#remotes.set(text, new RemoteCache({ ...options, writesBehind, warn }));
    return this.#remotes.get(text);
  }

  /** Starts what compiles several units beside each other, so that it comes up while code is generated. */
  startWorkers(config: Config): void {
    this.#clients.of(config, Infinity);
  }

  /** What compiles beside this thread, also where `compileThreads` is 1. */
  beside(config: Config): CompileClient {
    return this.#clients.beside(config);
  }

  /** Whether compile workers are up. */
  get hasWorkers(): boolean {
    return this.#clients.hasWorkers;
  }

  /** A graph's library with its plan, built while this thread waits. */
  graphNow(request: GraphRequest, config: Config): Artifact {
    const client = this.#clients.of(config, request.units.length);
    return this.#watched(request, config, () =>
      this.artifacts(config).build(client, { ...request, ...limitsOf(config) }),
    );
  }

  graph(request: GraphRequest, config: Config): Promise<Artifact> {
    return this.#watchedLater(request, config, () =>
      this.artifacts(config).buildAsync(this.#beside(config), { ...request, ...limitsOf(config) }),
    );
  }

  /** The same beside this thread, which looks whether it is done. */
  beginGraph(request: GraphRequest, config: Config): Pending<Artifact> {
    const tell = this.#progress.begin(request, config);
    return then(this.artifacts(config).begin(this.beside(config), { ...request, ...limitsOf(config) }), (artifact) => {
      tell();
      return artifact;
    });
  }

  /** A graph that is generated there too. */
  beginWholeGraph(graph: GraphJob['graph'], config: Config, naming: GraphJob['naming']): Pending<GraphBuilt> {
    const { seconds } = limitsOf(config);
    const request = { graph, config, naming, name: graph.name, seconds };
    return then(this.artifacts(config).beginWhole(this.beside(config), request), ({ built, logs = [] }) => {
      for (const [topic, message] of logs) this.announcer.tell(topic, message, config);
      invariant(built !== undefined, `a worker that compiled ${graph.name} did not say to what`);
      return built;
    });
  }

  /** A library that is no single graph's, built or found while this thread waits, for `most` seconds; gives its path. */
  libraryNow(request: LibraryRequest, most: number = Infinity): string {
    const client = this.#clients.of(this.config, request.units.length);
    const { seconds, concurrency } = limitsOf(this.config);
    return this.#watched(request, this.config, () =>
      this.artifacts().buildLibraryNow(client, { ...request, concurrency, seconds: Math.min(seconds, most) }),
    );
  }

  library(request: LibraryRequest): Promise<string> {
    return this.#watchedLater(request, this.config, () =>
      this.artifacts().buildLibrary(this.#beside(this.config), { ...request, ...limitsOf(this.config) }),
    );
  }

  /** Built while this thread waits, which is told where the settings ask for it. */
  #watched<T>(request: Pick<LibraryRequest, 'name' | 'units'>, config: Config, build: () => T): T {
    const tell = this.#progress.begin(request, config);
    const built = build();
    tell();
    return built;
  }

  /** The same without waiting. */
  async #watchedLater<T>(
    request: Pick<LibraryRequest, 'name' | 'units'>,
    config: Config,
    build: () => Promise<T>,
  ): Promise<T> {
    const tell = this.#progress.begin(request, config);
    const built = await build();
    tell();
    return built;
  }

  /** CUDA source, compiled or found while this thread waits. Throws ToolchainError CUDA_COMPILER_FAILED and its kin. */
  cudaNow(request: CudaCodeRequest, config: Config = this.config): CudaArtifact {
    const { seconds } = limitsOf(config);
    return this.#told(this.artifacts(config).buildCudaNow(this.#beside(config), { ...request, seconds }), config);
  }

  async cuda(request: CudaCodeRequest, config: Config = this.config): Promise<CudaArtifact> {
    const { seconds } = limitsOf(config);
    return this.#told(await this.artifacts(config).buildCuda(this.#beside(config), { ...request, seconds }), config);
  }

  /** What was measured, on disk and elsewhere as the settings say; `bundle` names all problems of a kernel. */
  tuningRecords(bundle: string, of: MeasuredKernels = 'graphs'): RecordStore {
    return this.#tuning.open(bundle, of);
  }

  /** The toolkit that these settings find. Throws ToolchainError CUDA_TOOLKIT_NOT_FOUND, which lists every place. */
  requireToolkit(config: Config = this.config): CudaToolkit {
    return requireCudaToolkit(this.toolkitReport(config));
  }

  /** CUDA source, compiled or found beside this thread, which looks whether it is done. */
  beginCuda(request: CudaCodeRequest, config: Config): Pending<CudaArtifact> {
    const { seconds } = limitsOf(config);
    const begun = this.artifacts(config).beginCuda(this.beside(config), { ...request, seconds });
    return then(begun, (artifact) => this.#told(artifact, config));
  }

  /** The same with what was searched, looked for once. */
  toolkitReport(config: Config = this.config): CudaToolkitReport {
    const { cudaCxx, home, path, installed, dryRun } = config.cuda;
    if (dryRun) return { searched: [{ origin: 'cuda.dryRun', place: 'nowhere, as cuda.dryRun says', ...notSearched }] };
    const { searchPath } = config.cpp;
    const report = remembered(this.#toolkits, [cudaCxx, home, path, installed, searchPath], () =>
      findCudaToolkit({
        configured: cudaCxx ?? undefined,
        cudaHome: home ?? undefined,
        cudaPath: path ?? undefined,
        path: searchPath,
        installed: installed.split(delimiter),
      }),
    );
    const { toolkit, searched } = report;
    if (toolkit === undefined) return report;
    this.#adviseOn(toolkit, config);
    return { toolkit: withCudaFlags(toolkit, cudaFlagsOf(config)), searched };
  }

  #adviseOn({ version, nvcc }: CudaToolkit, { cuda }: Config): void {
    if (cuda.version !== null && cuda.version !== version)
      this.announcer.warnOnce('CUDA_VERSION', `cuda.version is ${cuda.version}, and ${nvcc} is of CUDA ${version}`);
    if (cuda.debugLevel === '2')
      this.announcer.warnOnce('CUDA_DEBUG', 'cuda.debugLevel is 2, so that CUDA code is not optimised');
  }

  /** Says what kernels take, where the settings ask for it. */
  #told(artifact: CudaArtifact, { cuda }: Config): CudaArtifact {
    if (!cuda.enablePtxasInfo) return artifact;
    for (const facts of artifact.facts) {
      this.announcer.tell('ptxas', factsText(facts));
      if (facts.spillStoreBytes > 0)
        this.announcer.warnOnce(`CUDA_SPILL ${facts.kernel}`, `registers are spilled: ${factsText(facts)}`);
    }
    this.announcer.tell('ptxas', `PTX: ${artifact.ptx}`);
    return artifact;
  }

  /** What does not block this thread, but for one that is all there is. */
  #beside(config: Config): Compiling {
    return this.#clients.of(config, Infinity);
  }

  [Symbol.dispose](): void {
    this.#clients[Symbol.dispose]();
    for (const remote of this.#remotes.values()) remote[Symbol.dispose]();
    this.#remotes.clear();
  }
}

const notSearched = { outcome: 'absent', detail: 'no toolkit is looked for' } as const;

const limitsOf = ({ compileTimeout, compileThreads }: Config): { seconds: number; concurrency: number } => ({
  seconds: compileTimeout,
  concurrency: compileThreads,
});

/** What was made for `key` before, or is made now. */
export function remembered<T>(known: Map<string, T>, key: unknown, make: () => T): T {
  const text = JSON.stringify(key);
  const value = known.get(text) ?? make();
  known.set(text, value);
  return value;
}
