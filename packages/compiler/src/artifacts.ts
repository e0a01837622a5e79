// Compiled graphs on disk. In: keys, or what there is to build. Out: verified shared objects with their plans.
//
// Without caching (`forceDisableCaches`, `fxGraphCache: false`) the same store lies in a private temporary directory
// that goes with the process.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get, invariant } from '@tsinductor/base';
import { openStore } from '@tsinductor/cache';
import type { Artifact as StoredArtifact, ArtifactStore } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { CompileUnit, Toolchain } from '@tsinductor/runtime';
import { libraryName, planName, sourceName } from './artifact-names.ts';
import { isPlan } from './plan.ts';
import type { Plan } from './plan.ts';
import type { CompileClient } from './compile-client.ts';
import type { BuildJob } from './workers/protocol.ts';

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
}

/** Several graphs in one library; their plans stay with the caller. */
export interface BatchRequest extends Omit<BuildRequest, 'plan'> {
  readonly plan: unknown;
}

/** The compiler may take this long for one unit, in milliseconds. */
const compilerPatience = 120_000;
const namespace = 'fx';

export class Artifacts implements Disposable {
  readonly #store: ArtifactStore;
  readonly #config: Config;
  readonly #warn: (code: string, message: string) => void;
  readonly #private: string | undefined;

  constructor(config: Config, warn: (code: string, message: string) => void) {
    this.#config = config;
    this.#warn = warn;
    const cached = config.fxGraphCache && !config.forceDisableCaches;
    this.#private = cached ? undefined : mkdtempSync(join(tmpdir(), 'tsinductor-'));
    this.#store = openStore({
      root: this.#private ?? config.cacheDir,
      namespace,
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

  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
    if (this.#private !== undefined) rmSync(this.#private, { recursive: true, force: true });
  }

  #built(key: string): Artifact {
    const artifact = this.find(key);
    invariant(artifact !== undefined, `the artifact ${key} was built and is not in the cache`);
    return artifact;
  }

  #job({ key, name, units, plan, toolchain }: BatchRequest): BuildJob {
    return {
      key,
      name,
      units,
      toolchain,
      plan: JSON.stringify(plan),
      inputs: { compiler: toolchain.fingerprint },
      cacheRoot: this.#store.root,
      namespace,
      temporaryDirectory: tmpdir(),
      concurrency: this.#config.compileThreads,
      timeoutMs: compilerPatience,
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
