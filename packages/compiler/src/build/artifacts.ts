// Compiled graphs on disk. In: keys, or what there is to build. Out: verified shared objects with their plans.
//
// Without caching (`forceDisableCaches`, `fxGraphCache: false`) the same store lies in a private temporary directory
// that goes with the process. Such a one is used as well where the cache turns out not to keep what is built: the disk is full, or
// somebody clears it again and again.
import { tmpdir } from 'node:os';
import { invariant, isTsInductorError, sha256, stableHash } from '@tsinductor/base';
import { cudaFlags, packMachine, unpackMachine } from '@tsinductor/runtime';
import { graphNamespace, keepWithin, openStore, packBundle, unpackBundle } from '@tsinductor/cache';
import type { ArtifactStore, KeyFields, Artifact as StoredArtifact } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import type { CompileUnit, CudaSource, CudaToolkit, Toolchain } from '@tsinductor/runtime';
import { notKept } from '../errors.ts';
import type { Plan } from '../run/plan.ts';
import { compileHere } from './compile-here.ts';
import type { CompileClient, Compiling } from './compile-client.ts';
import type { MachinePlace, NativeMachine } from './machine.ts';
import { done, then } from './pending.ts';
import type { Pending } from './pending.ts';
import { libraryOf, readArtifact, readCuda } from './read-artifact.ts';
import type { Artifact, CudaArtifact } from './read-artifact.ts';
import { describeEntry, machineData, machineEntry } from './saved-entries.ts';
import type { SavedArtifact } from './saved-entries.ts';
import type { BuildJob, CudaJob, EntryJob, GraphJob, Response } from './workers/protocol.ts';

export interface BuildRequest {
  readonly key: string;
  readonly name: string;
  readonly units: readonly CompileUnit[];
  readonly plan: Plan;
  readonly toolchain: Toolchain;
  /** What the key was made of, beside the compiler. */
  readonly fields?: KeyFields;
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

export interface SavedArtifacts {
  readonly bytes: Uint8Array;
  readonly entries: readonly SavedArtifact[];
}

/** The compiler may take this long for one unit, in milliseconds. */
const compilerPatience = 120_000;

/** What of the settings decides where artifacts are kept, how they are found, and how building them is told of. */
export function placeOfArtifacts(config: Config): readonly unknown[] {
  const { cacheDir, compiledFunctionsDir, fxGraphCache, forceDisableCaches, forceRecompile } = config;
  const { fileLockTimeout, workerLogPath, workerSuppressLogging, cacheMaxBytes, cacheMaxDays } = config;
  const directory = fxGraphCache && !forceDisableCaches ? (compiledFunctionsDir ?? cacheDir) : null;
  const bounds = [cacheMaxBytes, cacheMaxDays];
  return [directory, forceRecompile, fileLockTimeout, workerLogPath, workerSuppressLogging, bounds];
}

const day = 86_400_000;

/** How often what was built may be gone before it was found, until it is built where nobody else looks. */
const mostBuilds = 3;

/** A root that no store can use, so that it makes a private one. */
const noRoot = '';

export class Artifacts implements Disposable {
  readonly #store: ArtifactStore;
  /** Where things go that the store does not keep. */
  #refuge: ArtifactStore | undefined;
  readonly #warn: (code: string, message: string) => void;
  readonly #config: Config;
  /** Keys of everything that was found or built. */
  readonly #used = new Set<string>();

  /** `root`: where they lie, if that is not as the settings say. */
  constructor(config: Config, warn: (code: string, message: string) => void, root?: string) {
    this.#warn = warn;
    this.#config = config;
    const isCached = root !== undefined || (config.fxGraphCache && !config.forceDisableCaches);
    this.#store = isCached
      ? this.#open(root ?? config.compiledFunctionsDir ?? config.cacheDir, warn)
      : this.#open(noRoot);
    process.once('exit', this.#dispose);
  }

  #open(root: string, warn: (code: string, message: string) => void = () => undefined): ArtifactStore {
    return openStore({
      root,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      report: ({ kind, message }) => {
        if (root !== noRoot || kind !== 'fallback') warn(`CACHE_${kind.toUpperCase()} ${message}`, message);
      },
    });
  }

  readonly #dispose = (): void => {
    this.#store[Symbol.dispose]();
    this.#refuge?.[Symbol.dispose]();
  };

  /** The cache has one entry more: it is kept within its bounds. */
  #grown(stored: StoredArtifact): StoredArtifact {
    const { cacheMaxBytes, cacheMaxDays } = this.#config;
    if (!this.isTemporary)
      keepWithin(
        {
          root: this.#store.root,
          temporaryDirectory: tmpdir(),
          limits: { bytes: cacheMaxBytes, milliseconds: cacheMaxDays === null ? null : cacheMaxDays * day },
        },
        stored.bytes,
      );
    return stored;
  }

  /** Whether what is built goes with this process. */
  get isTemporary(): boolean {
    return this.#refuge !== undefined || this.#store.isTemporary;
  }

  /** The cache root in use, which belongs to the user alone, and the one that is only read. */
  get place(): MachinePlace {
    return { directory: this.#store.root, readable: this.#store.readable };
  }

  find(key: string): Artifact | undefined {
    const stored = this.#get(key);
    return stored === undefined ? undefined : readArtifact(stored);
  }

  /** Puts away what turned out not to work: the next one who asks builds it. */
  discard(key: string, reason: string): void {
    for (const store of [this.#store, this.#refuge]) if (store?.get(key) !== undefined) store.discard(key, reason);
  }

  build(client: Compiling, request: BuildRequest): Artifact {
    return this.#readBuilt(this.#madeNow(client, this.#job(request)));
  }

  async buildAsync(client: Compiling, request: BuildRequest): Promise<Artifact> {
    return this.#readBuilt(await this.#made(client, this.#job(request)));
  }

  /** The same beside this thread, which looks whether it is done. */
  begin(client: CompileClient, request: BuildRequest): Pending<Artifact> {
    return then(this.#begun(client, this.#job(request)), (stored) => this.#readBuilt(stored));
  }

  /** Generates as well as builds a graph beside this thread. */
  beginWhole(client: CompileClient, request: WholeRequest): Pending<Response> {
    const { seconds, ...job } = request;
    const limits = { timeoutMs: seconds * 1000, deadlineMs: seconds * 1000 };
    const begun = client.begin({ ...job, ...limits, cacheRoot: (this.#refuge ?? this.#store).root });
    return then(
      begun,
      (response) => {
        this.#tell(response.events);
        // Under `forceRecompile` too, what was built just now is used.
        if (response.built?.kind === 'native') {
          this.#used.add(response.built.slot);
          const stored = response.built.isStored === true ? undefined : this.#get(response.built.slot);
          if (stored !== undefined) this.#grown(stored);
        }
        return response;
      },
      (error) => {
        this.#takeRefuge(error);
        throw error;
      },
    );
  }

  /** Builds a library, or finds it; gives the path of the verified shared object. */
  async buildLibrary(client: Compiling, request: BatchRequest): Promise<string> {
    return libraryOf(this.#get(request.key) ?? (await this.#made(client, this.#job(request))));
  }

  /** The same, blocking this thread. */
  buildLibraryNow(client: Compiling, request: BatchRequest): string {
    return libraryOf(this.#get(request.key) ?? this.#madeNow(client, this.#job(request)));
  }

  /** Compiles CUDA, or finds it; `ptx` and `cubin` are the paths of verified files. */
  async buildCuda(client: Compiling, request: CudaRequest): Promise<CudaArtifact> {
    const job = this.#cudaJob(request);
    const known = this.#get(job.key);
    return known === undefined ? readCuda(await this.#made(client, job), 'built') : readCuda(known, 'disk');
  }

  /** The same, blocking this thread. */
  buildCudaNow(client: Compiling, request: CudaRequest): CudaArtifact {
    const job = this.#cudaJob(request);
    const known = this.#get(job.key);
    return known === undefined ? readCuda(this.#madeNow(client, job), 'built') : readCuda(known, 'disk');
  }

  /** The entry of a job that was built now. */
  async #made(client: Compiling, job: EntryJob): Promise<StoredArtifact> {
    for (let builds = 0; builds <= mostBuilds; builds += 1) {
      try {
        this.#tell(await client.submit(this.#placed(job, builds)));
      } catch (error) {
        this.#takeRefuge(error);
      }
      const stored = this.#get(job.key);
      if (stored !== undefined) return this.#grown(stored);
    }
    throw notKept(job.key);
  }

  /** The same, blocking this thread. */
  #madeNow(client: Compiling, job: EntryJob): StoredArtifact {
    for (let builds = 0; builds <= mostBuilds; builds += 1) {
      try {
        this.#tell(client.run(this.#placed(job, builds)));
      } catch (error) {
        this.#takeRefuge(error);
      }
      const stored = this.#get(job.key);
      if (stored !== undefined) return this.#grown(stored);
    }
    throw notKept(job.key);
  }

  /** The job, for where its result is to be kept, after so many builds. */
  #placed<J extends EntryJob>(job: J, builds: number): J {
    if (builds === mostBuilds) this.#refuge ??= this.#open(noRoot);
    return { ...job, cacheRoot: (this.#refuge ?? this.#store).root };
  }

  /** Where the cache could not be written, the rest of this process goes to a private place; any other error is thrown on. */
  #takeRefuge(error: unknown): void {
    if (!isTsInductorError(error) || error.code !== 'CACHE_WRITE_FAILED' || this.#refuge !== undefined) throw error;
    this.#refuge = this.#open(noRoot);
    this.#warn('CACHE_WRITE_FAILED', `${error.message}; using ${this.#refuge.root} for this process`);
  }

  /** The entry of a job that is built beside this thread; where it cannot be kept there, it is built here, which waits for it. */
  #begun(client: CompileClient, job: EntryJob): Pending<StoredArtifact> {
    return then(
      client.begin(this.#placed(job, 0)),
      ({ events }) => {
        this.#tell(events);
        const stored = this.#get(job.key);
        return stored === undefined ? this.#madeNow(compileHere, job) : this.#grown(stored);
      },
      (error) => {
        this.#takeRefuge(error);
        return this.#madeNow(compileHere, job);
      },
    );
  }

  /** Compiles CUDA beside this thread, or finds it. */
  beginCuda(client: CompileClient, request: CudaRequest): Pending<CudaArtifact> {
    const job = this.#cudaJob(request);
    const known = this.#get(job.key);
    if (known !== undefined) return done(readCuda(known, 'disk'));
    return then(this.#begun(client, job), (stored) => readCuda(stored, 'built'));
  }

  #cudaJob({ name, source, toolkit, seconds }: CudaRequest): CudaJob {
    const { fingerprint: compiler } = toolkit;
    const { architecture } = source;
    const key = stableHash({ kind: 'cuda', compiler, architecture, source: source.source, flags: cudaFlags });
    const code = sha256(source.source).slice(0, 16);
    const inputs = { kind: 'cuda', compiler: compiler.slice(0, 16), architecture, source: code };
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
      ...this.#manners(deadlineMs),
    };
  }

  /** How a worker is to wait, and what it is to say. */
  #manners(deadlineMs: number): Pick<CudaJob, 'lockMs' | 'logging'> {
    const { fileLockTimeout, workerLogPath, workerSuppressLogging } = this.#config;
    return {
      lockMs: Math.min(fileLockTimeout * 1000, deadlineMs),
      logging: { path: workerLogPath, isSilent: workerSuppressLogging },
    };
  }

  /**
   * What was found or built here so far, or what is kept under `keys`, as bytes, with what running it needs of `machine`; undefined where
   * there is nothing that another process could find.
   */
  save(machine?: NativeMachine, keys: Iterable<string> = this.#used): SavedArtifacts | undefined {
    const stored = this.#config.forceDisableCaches ? [] : [...keys].flatMap((key) => this.#store.get(key) ?? []);
    if (stored.length === 0) return undefined;
    const files = machine === undefined ? undefined : packMachine(machine, this.place);
    const others = files === undefined ? [] : [machineEntry(files)];
    return { bytes: packBundle(stored, others), entries: stored.map(describeEntry) };
  }

  /** Puts saved artifacts into the cache. Throws UserError CACHE_BUNDLE, having put none. */
  load(bytes: Uint8Array): readonly SavedArtifact[] {
    return unpackBundle(bytes).flatMap(({ key, files, info }) => {
      if (info.data !== machineData) return [describeEntry(this.#store.put(key, files, info))];
      unpackMachine(files, this.place.directory);
      return [];
    });
  }

  #get(key: string): StoredArtifact | undefined {
    if (this.#config.forceRecompile && !this.#used.has(key)) {
      this.#used.add(key);
      this.#store.remove(key);
    }
    const stored = this.#store.get(key) ?? this.#refuge?.get(key);
    if (stored !== undefined) this.#used.add(key);
    return stored;
  }

  [Symbol.dispose](): void {
    process.removeListener('exit', this.#dispose);
    this.#dispose();
  }

  #readBuilt(stored: StoredArtifact): Artifact {
    const artifact = readArtifact(stored);
    invariant(artifact !== undefined, `the artifact ${stored.key} was built and is not what was built`);
    return artifact;
  }

  #job({ key, name, units, plan, toolchain, seconds, concurrency, fields = {} }: BatchRequest): BuildJob {
    const deadlineMs = seconds * 1000;
    return {
      key,
      name,
      units,
      toolchain,
      plan: JSON.stringify(plan),
      functions: functionsOf(plan),
      inputs: { compiler: toolchain.fingerprint.slice(0, 16), ...fields },
      cacheRoot: this.#store.root,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      concurrency,
      timeoutMs: Math.min(compilerPatience, deadlineMs),
      deadlineMs,
      ...this.#manners(deadlineMs),
    };
  }

  #tell(events: readonly string[]): void {
    for (const message of events) this.#warn(`BUILD_EVENT ${message}`, message);
  }
}

/** The functions that a plan names, however many graphs it is of. */
function functionsOf(plan: unknown): readonly string[] {
  const {
    entry,
    entries = {},
    plans = [],
  } = plan as {
    readonly entry?: string;
    readonly entries?: Readonly<Record<string, string>>;
    readonly plans?: readonly unknown[];
  };
  return [...(entry === undefined ? [] : [entry]), ...Object.values(entries), ...plans.flatMap(functionsOf)];
}
