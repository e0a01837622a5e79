// Compiled graphs on disk. In: keys, or what there is to build. Out: verified shared objects with their plans.
//
// Without caching (`forceDisableCaches`, `fxGraphCache: false`) the same store lies in a private temporary directory
// that goes with the process.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get, invariant, stableHash } from '@tsinductor/base';
import { cudaFlags } from '@tsinductor/runtime';
import { graphNamespace, openStore } from '@tsinductor/cache';
import type { Artifact as StoredArtifact, ArtifactStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { CompileUnit, CudaSource, CudaToolkit, KernelFacts, Toolchain } from '@tsinductor/runtime';
import { cubinName, factsName, libraryName, planName, ptxName, sourceName } from './artifact-names.ts';
import { isPlan } from './plan.ts';
import type { Plan } from './plan.ts';
import type { CompileClient } from './compile-client.ts';
import type { BuildJob, CudaJob } from './workers/protocol.ts';

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

/** The compiler may take this long for one unit, in milliseconds. */
const compilerPatience = 120_000;

export class Artifacts implements Disposable {
  readonly #store: ArtifactStore;
  readonly #warn: (code: string, message: string) => void;
  readonly #private: string | undefined;

  constructor(config: Config, warn: (code: string, message: string) => void) {
    this.#warn = warn;
    const cached = config.fxGraphCache && !config.forceDisableCaches;
    this.#private = cached ? undefined : mkdtempSync(join(tmpdir(), 'tsinductor-'));
    this.#store = openStore({
      root: this.#private ?? config.cacheDir,
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
    const stored = this.#store.get(key);
    return stored === undefined ? undefined : readArtifact(stored);
  }

  build(client: CompileClient, request: BuildRequest): Artifact {
    this.#tell(client.run(this.#job(request)));
    return this.#built(request.key);
  }

  async buildAsync(client: CompileClient, request: BuildRequest): Promise<Artifact> {
    this.#tell(await client.submit(this.#job(request)));
    return this.#built(request.key);
  }

  /** Builds a library, or finds it; gives the path of the verified shared object. */
  async buildLibrary(client: CompileClient, request: BatchRequest): Promise<string> {
    const known = this.#store.get(request.key);
    if (known === undefined) this.#tell(await client.submit(this.#job(request)));
    const stored = known ?? this.#store.get(request.key);
    invariant(stored !== undefined, `the library ${request.key} was built and is not in the cache`);
    return get(new Map(Object.entries(stored.paths)), libraryName);
  }

  /** The same, blocking this thread. */
  buildLibraryNow(client: CompileClient, request: BatchRequest): string {
    const known = this.#store.get(request.key);
    if (known === undefined) this.#tell(client.run(this.#job(request)));
    const stored = known ?? this.#store.get(request.key);
    invariant(stored !== undefined, `the library ${request.key} was built and is not in the cache`);
    return get(new Map(Object.entries(stored.paths)), libraryName);
  }

  /** Compiles CUDA, or finds it; `ptx` and `cubin` are the paths of verified files. */
  async buildCuda(client: CompileClient, { name, source, toolkit, seconds }: CudaRequest): Promise<CudaArtifact> {
    const inputs = { compiler: toolkit.fingerprint, architecture: source.architecture };
    const key = stableHash({ kind: 'cuda', ...inputs, source: source.source, flags: cudaFlags });
    const deadlineMs = seconds * 1000;
    const job: CudaJob = {
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
    if (this.#store.get(key) === undefined) this.#tell(await client.submit(job));
    const stored = this.#store.get(key);
    invariant(stored !== undefined, `the kernels ${key} were compiled and are not in the cache`);
    const paths = new Map(Object.entries(stored.paths));
    const facts = JSON.parse(readFileSync(get(paths, factsName), 'utf8')) as KernelFacts[];
    return { ptx: get(paths, ptxName), cubin: get(paths, cubinName), facts };
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
    for (const message of events) this.#warn(`CACHE_EVENT ${message}`, message);
  }
}

/** undefined for an entry that another version wrote: it will be built anew under this version's key. */
function readArtifact({ paths }: StoredArtifact): Artifact | undefined {
  const files = new Map(Object.entries(paths));
  if (![libraryName, planName, sourceName].every((name) => files.has(name))) return undefined;
  const plan: unknown = JSON.parse(readFileSync(get(files, planName), 'utf8'));
  if (!isPlan(plan)) return undefined;
  return { library: get(files, libraryName), plan, source: () => readFileSync(get(files, sourceName), 'utf8') };
}
