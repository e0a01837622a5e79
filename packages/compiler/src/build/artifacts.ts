// Compiled graphs on disk. In: keys, or what there is to build. Out: verified shared objects with their plans.
//
// Without caching (`forceDisableCaches`, `fxGraphCache: false`) the same store lies in a private temporary directory
// that goes with the process.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get, invariant, stableHash } from '@tsinductor/base';
import { cudaFlags } from '@tsinductor/runtime';
import { graphNamespace, openStore, packBundle, unpackBundle } from '@tsinductor/cache';
import type { Artifact as StoredArtifact, ArtifactStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { CompileUnit, CudaSource, CudaToolkit, KernelFacts, Toolchain } from '@tsinductor/runtime';
import { cubinName, factsName, libraryName, planName, ptxName, sourceName } from './artifact-names.ts';
import { isPlan } from '../run/plan.ts';
import type { Plan } from '../run/plan.ts';
import type { CompileClient, Compiling } from './compile-client.ts';
import { done, then } from './pending.ts';
import type { Pending } from './pending.ts';
import type { BuildJob, CudaJob, GraphJob, Response } from './workers/protocol.ts';

export interface Artifact {
  /** The path of the shared object, whose bytes were just verified. */
  readonly library: string;
  readonly plan: Plan;
  /** The generated C++, read when asked for. */
  readonly source: () => string;
}

export interface BuildRequest {
  readonly key: string;
  readonly name: string;
  readonly units: readonly CompileUnit[];
  readonly plan: Plan;
  readonly toolchain: Toolchain;
  /** How long building it may take, and how many compilers it may run at once. */
  readonly seconds: number;
  readonly concurrency: number;
}

/** A graph that is to be generated, too. */
type WholeRequest = Omit<GraphJob, 'cacheRoot' | 'timeoutMs' | 'deadlineMs'> & Pick<BuildRequest, 'seconds'>;

/** Several graphs in one library; their plans stay with the caller. */
export interface BatchRequest extends Omit<BuildRequest, 'plan'> {
  readonly plan: unknown;
}

/** CUDA source to compile. */
export interface CudaRequest {
  readonly name: string;
  readonly source: CudaSource;
  readonly toolkit: CudaToolkit;
  readonly seconds: number;
}

/** Compiled CUDA in the cache. */
export interface CudaArtifact {
  readonly ptx: string;
  readonly cubin: string;
  readonly facts: readonly KernelFacts[];
}

/** An entry among saved artifacts. */
export interface SavedArtifact {
  readonly key: string;
  /** The name of what was compiled: a function's or a kernel's. */
  readonly name: string;
  readonly bytes: number;
}

export interface SavedArtifacts {
  readonly bytes: Uint8Array;
  readonly entries: readonly SavedArtifact[];
}

/** The compiler may take this long for one unit, in milliseconds. */
const compilerPatience = 120_000;

export class Artifacts implements Disposable {
  readonly #store: ArtifactStore;
  readonly #warn: (code: string, message: string) => void;
  readonly #private: string | undefined;
  readonly #config: Config;
  /** Keys of everything that was found or built. */
  readonly #used = new Set<string>();

  /** `root`: where they lie, if that is not as the settings say. */
  constructor(config: Config, warn: (code: string, message: string) => void, root?: string) {
    this.#warn = warn;
    this.#config = config;
    const cached = root !== undefined || (config.fxGraphCache && !config.forceDisableCaches);
    this.#private = cached ? undefined : mkdtempSync(join(tmpdir(), 'tsinductor-'));
    this.#store = openStore({
      root: root ?? this.#private ?? config.cacheDir,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      report: ({ kind, message }) => {
        warn(`CACHE_${kind.toUpperCase()} ${message}`, message);
      },
    });
    if (this.#private !== undefined) {
      process.once('exit', () => {
        this[Symbol.dispose]();
      });
    }
  }

  /** The cache root in use, which belongs to the user alone. */
  get directory(): string {
    return this.#store.root;
  }

  find(key: string): Artifact | undefined {
    const stored = this.#get(key);
    return stored === undefined ? undefined : readArtifact(stored);
  }

  build(client: Compiling, request: BuildRequest): Artifact {
    this.#tell(client.run(this.#job(request)));
    return this.#built(request.key);
  }

  async buildAsync(client: Compiling, request: BuildRequest): Promise<Artifact> {
    this.#tell(await client.submit(this.#job(request)));
    return this.#built(request.key);
  }

  /** The same beside this thread, which looks whether it is done. */
  begin(client: CompileClient, request: BuildRequest): Pending<Artifact> {
    return then(client.begin(this.#job(request)), ({ events }) => {
      this.#tell(events);
      return this.#built(request.key);
    });
  }

  /** Generates as well as builds a graph beside this thread. */
  beginWhole(client: CompileClient, request: WholeRequest): Pending<Response> {
    const { seconds, ...job } = request;
    const limits = { timeoutMs: seconds * 1000, deadlineMs: seconds * 1000 };
    return then(client.begin({ ...job, ...limits, cacheRoot: this.#store.root }), (response) => {
      this.#tell(response.events);
      return response;
    });
  }

  /** Builds a library, or finds it; gives the path of the verified shared object. */
  async buildLibrary(client: Compiling, request: BatchRequest): Promise<string> {
    const known = this.#get(request.key);
    if (known === undefined) this.#tell(await client.submit(this.#job(request)));
    const stored = known ?? this.#get(request.key);
    invariant(stored !== undefined, `the library ${request.key} was built and is not in the cache`);
    return get(new Map(Object.entries(stored.paths)), libraryName);
  }

  /** The same, blocking this thread. */
  buildLibraryNow(client: Compiling, request: BatchRequest): string {
    const known = this.#get(request.key);
    if (known === undefined) this.#tell(client.run(this.#job(request)));
    const stored = known ?? this.#get(request.key);
    invariant(stored !== undefined, `the library ${request.key} was built and is not in the cache`);
    return get(new Map(Object.entries(stored.paths)), libraryName);
  }

  /** Compiles CUDA, or finds it; `ptx` and `cubin` are the paths of verified files. */
  async buildCuda(client: Compiling, request: CudaRequest): Promise<CudaArtifact> {
    const job = this.#cudaJob(request);
    if (this.#get(job.key) === undefined) this.#tell(await client.submit(job));
    return this.#builtCuda(job.key);
  }

  /** The same, blocking this thread. */
  buildCudaNow(client: Compiling, request: CudaRequest): CudaArtifact {
    const job = this.#cudaJob(request);
    if (this.#get(job.key) === undefined) this.#tell(client.run(job));
    return this.#builtCuda(job.key);
  }

  beginCuda(client: CompileClient, request: CudaRequest): Pending<CudaArtifact> {
    const job = this.#cudaJob(request);
    const built = (): CudaArtifact => this.#builtCuda(job.key);
    if (this.#get(job.key) !== undefined) return done(built());
    return then(client.begin(job), ({ events }) => {
      this.#tell(events);
      return built();
    });
  }

  #cudaJob({ name, source, toolkit, seconds }: CudaRequest): CudaJob {
    const inputs = { compiler: toolkit.fingerprint, architecture: source.architecture };
    const key = stableHash({ kind: 'cuda', ...inputs, source: source.source, flags: cudaFlags });
    const deadlineMs = seconds * 1000;
    return {
      key,
      name,
      inputs,
      toolkit,
      source,
      cacheRoot: this.#store.root,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      timeoutMs: Math.min(compilerPatience, deadlineMs),
      deadlineMs,
    };
  }

  #builtCuda(key: string): CudaArtifact {
    const stored = this.#get(key);
    invariant(stored !== undefined, `the kernels ${key} were compiled and are not in the cache`);
    const paths = new Map(Object.entries(stored.paths));
    const facts = JSON.parse(readFileSync(get(paths, factsName), 'utf8')) as KernelFacts[];
    return { ptx: get(paths, ptxName), cubin: get(paths, cubinName), facts };
  }

  /** What was found or built here so far, as bytes; undefined where there is nothing that another process could find. */
  save(): SavedArtifacts | undefined {
    const stored = this.#config.forceDisableCaches ? [] : [...this.#used].flatMap((key) => this.#store.get(key) ?? []);
    return stored.length === 0 ? undefined : { bytes: packBundle(stored), entries: stored.map(describeEntry) };
  }

  /** Puts saved artifacts into the cache. Throws UserError CACHE_BUNDLE, having put none. */
  load(bytes: Uint8Array): readonly SavedArtifact[] {
    return unpackBundle(bytes).map(({ key, files, info }) => describeEntry(this.#store.put(key, files, info)));
  }

  #get(key: string): StoredArtifact | undefined {
    const stored = this.#store.get(key);
    if (stored !== undefined) this.#used.add(key);
    return stored;
  }

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
    if (this.#private !== undefined) rmSync(this.#private, { recursive: true, force: true });
  }

  #built(key: string): Artifact {
    const artifact = this.find(key);
    invariant(artifact !== undefined, `the artifact ${key} was built and is not in the cache`);
    return artifact;
  }

  #job({ key, name, units, plan, toolchain, seconds, concurrency }: BatchRequest): BuildJob {
    const deadlineMs = seconds * 1000;
    return {
      key,
      name,
      units,
      toolchain,
      plan: JSON.stringify(plan),
      inputs: { compiler: toolchain.fingerprint },
      cacheRoot: this.#store.root,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      concurrency,
      timeoutMs: Math.min(compilerPatience, deadlineMs),
      deadlineMs,
    };
  }

  #tell(events: readonly string[]): void {
    for (const message of events) this.#warn(`BUILD_EVENT ${message}`, message);
  }
}

function describeEntry({ key, manifest, bytes }: StoredArtifact): SavedArtifact {
  const { name } = (manifest.inputs ?? {}) as { readonly name?: unknown };
  return { key, name: typeof name === 'string' ? name : '', bytes };
}

/** undefined for an entry that another version wrote: it will be built anew under this version's key. */
function readArtifact({ paths }: StoredArtifact): Artifact | undefined {
  const files = new Map(Object.entries(paths));
  if (![libraryName, planName, sourceName].every((name) => files.has(name))) return undefined;
  const plan: unknown = JSON.parse(readFileSync(get(files, planName), 'utf8'));
  if (!isPlan(plan)) return undefined;
  return { library: get(files, libraryName), plan, source: () => readFileSync(get(files, sourceName), 'utf8') };
}
