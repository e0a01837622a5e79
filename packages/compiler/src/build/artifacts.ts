// Compiled graphs on disk. In: keys, or what there is to build. Out: verified shared objects with their plans.
//
// Without caching (`forceDisableCaches`, `fxGraphCache: false`) the same store lies in a private temporary directory
// that goes with the process. Such a one is used as well where the cache turns out not to keep what is built: the disk is full, or
// somebody clears it again and again.
import { tmpdir } from 'node:os';
import { isTsInductorError } from '@tsinductor/base';
import { packMachine, unpackMachine } from '@tsinductor/runtime';
import { badBundle, graphNamespace, keepWithin, openStore, packBundle, unpackBundle } from '@tsinductor/cache';
import type { ArtifactStore, BundledEntry, Artifact as StoredArtifact } from '@tsinductor/cache';
import type { Config } from '@tsinductor/config';
import { notKept } from '../errors.ts';
import { compileHere } from './compile-here.ts';
import type { CompileClient, Compiling } from './compile-client.ts';
import type { MachinePlace, NativeMachine } from './machine.ts';
import { done, then } from './pending.ts';
import type { Pending } from './pending.ts';
import { libraryOf, readArtifact, readCuda } from './read-artifact.ts';
import type { Artifact, CudaArtifact } from './read-artifact.ts';
import { encodeJob } from './remote/farm-job.ts';
import { bytesOf, entryOrWarning, remoteName } from './remote/remote-artifacts.ts';
import type { RemoteCache } from './remote/remote-cache.ts';
import { redisOptions, sharesGraphs } from './remote/remote-options.ts';
import { buildJob, cudaJob } from './entry-jobs.ts';
import type { BatchRequest, BuildRequest, CudaRequest } from './entry-jobs.ts';
import { describeEntry, machineData, machineEntry } from './saved-entries.ts';
import type { SavedArtifact } from './saved-entries.ts';
import type { EntryJob, GraphJob, Response } from './workers/protocol.ts';

/** A graph that is to be generated, too. */
type WholeRequest = Omit<GraphJob, 'cacheRoot' | 'timeoutMs' | 'deadlineMs'> & Pick<BuildRequest, 'seconds'>;

export interface SavedArtifacts {
  readonly bytes: Uint8Array;
  readonly entries: readonly SavedArtifact[];
}

/** What of the settings decides where artifacts are kept, how they are found, and how building them is told of. */
export function placeOfArtifacts(config: Config): readonly unknown[] {
  const { cacheDir, compiledFunctionsDir, fxGraphCache, forceDisableCaches, forceRecompile } = config;
  const { fileLockTimeout, workerLogPath, workerSuppressLogging, cacheMaxBytes, cacheMaxDays } = config;
  const directory = fxGraphCache && !forceDisableCaches ? (compiledFunctionsDir ?? cacheDir) : null;
  const bounds = [cacheMaxBytes, cacheMaxDays, sharesGraphs(config) ? redisOptions(config) : null];
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
  readonly #remote: RemoteCache | undefined;
  /** Keys of what another machine has built. */
  readonly #fetched = new Set<string>();
  /** Keys of everything that was found or built. */
  readonly #used = new Set<string>();

  /** `root`: where they lie, if that is not as the settings say; `remote`: what machines share, if they do. */
  constructor(
    config: Config,
    warn: (code: string, message: string) => void,
    { root, remote }: { readonly root?: string | undefined; readonly remote?: RemoteCache | undefined } = {},
  ) {
    this.#warn = warn;
    this.#config = config;
    this.#remote = remote;
    const isCached = root !== undefined || (config.fxGraphCache && !config.forceDisableCaches);
    this.#store = isCached
      ? this.#open(root ?? config.compiledFunctionsDir ?? config.cacheDir, warn)
      : this.#open(noRoot);
  }

  #open(root: string, warn: (code: string, message: string) => void = () => undefined): ArtifactStore {
    const store = openStore({
      root,
      namespace: graphNamespace,
      temporaryDirectory: tmpdir(),
      report: ({ kind, message }) => {
        if (root !== noRoot || kind !== 'fallback') warn(`CACHE_${kind.toUpperCase()} ${message}`, message);
      },
    });
    // What is on disk for good needs nothing at the end: a listener for each `reset()` would keep all that is in memory.
    if (store.isTemporary && !process.listeners('exit').includes(this.#dispose)) process.once('exit', this.#dispose);
    return store;
  }

  readonly #dispose = (): void => {
    this.#store[Symbol.dispose]();
    this.#refuge?.[Symbol.dispose]();
  };

  /** The cache has an entry more that was built here: others may have it. */
  #grown(stored: StoredArtifact): StoredArtifact {
    this.#publish(stored);
    return this.#bounded(stored);
  }

  /** The cache has an entry more: it is kept within its bounds. */
  #bounded(stored: StoredArtifact): StoredArtifact {
    const { cacheMaxBytes, cacheMaxDays, cacheDir, autotuneCacheDir } = this.#config;
    if (!this.isTemporary)
      keepWithin(
        {
          root: this.#store.root,
          temporaryDirectory: tmpdir(),
          limits: { bytes: cacheMaxBytes, milliseconds: cacheMaxDays === null ? null : cacheMaxDays * day },
          recordRoots: [autotuneCacheDir ?? cacheDir],
        },
        stored.bytes,
      );
    return stored;
  }

  /** An entry that was built elsewhere is kept here too. */
  #taken({ key, files, info }: BundledEntry): StoredArtifact {
    return this.#bounded((this.#refuge ?? this.#store).put(key, files, info));
  }

  /** Whether what is built goes with this process. */
  get isTemporary(): boolean {
    return this.#refuge !== undefined || this.#store.isTemporary;
  }

  /** The cache root in use, which belongs to the user alone, and the one that is only read. */
  get place(): MachinePlace {
    return { directory: this.#store.root, readable: this.#store.readable };
  }

  /** With `isPatient`, other machines are asked too, which waits for the server. */
  find(key: string, { isPatient = true }: { readonly isPatient?: boolean } = {}): Artifact | undefined {
    const stored = this.#get(key, isPatient);
    return stored === undefined ? undefined : readArtifact(stored, this.#originOf(key));
  }

  #originOf(key: string): 'disk' | 'remote' {
    return this.#fetched.has(key) ? 'remote' : 'disk';
  }

  /** What another machine has built is kept here too. */
  accept(entry: BundledEntry): StoredArtifact {
    this.#fetched.add(entry.key);
    return this.#taken(entry);
  }

  #fetch(key: string): StoredArtifact | undefined {
    const bytes = this.#config.forceRecompile ? undefined : this.#remote?.get(remoteName(key));
    return bytes === undefined ? undefined : this.#accepted(bytes, key);
  }

  /** What a worker, or another machine, has built of a job; undefined where this one is to. */
  #builtElsewhere(job: EntryJob): StoredArtifact | undefined {
    const { compileFarm, forceRecompile } = this.#config;
    if (!compileFarm || forceRecompile || this.#remote === undefined || !('units' in job)) return undefined;
    const { key, deadlineMs: milliseconds } = job;
    const bytes = this.#remote.build(remoteName(key), { key, job: encodeJob(job), milliseconds });
    return bytes === undefined ? undefined : this.#accepted(bytes, key);
  }

  /** An entry that another machine has built, if it is one. */
  #accepted(bytes: Uint8Array, key: string): StoredArtifact | undefined {
    const entry = entryOrWarning(bytes, key, this.#warn);
    try {
      return entry === undefined ? undefined : this.accept(entry);
    } catch (error) {
      if (!isTsInductorError(error)) throw error;
      return undefined; // it cannot be kept, so it is built, which finds a place
    }
  }

  /** What a job of another machine asks for, built here if it is not there. */
  async buildFor(client: Compiling, job: EntryJob): Promise<Uint8Array> {
    return bytesOf(this.#get(job.key, false) ?? (await this.#made(client, job)));
  }

  /** Gives what was built to other machines. */
  #publish(stored: StoredArtifact): void {
    if (this.#remote === undefined) return;
    try {
      this.#remote.set(remoteName(stored.key), bytesOf(stored));
    } catch {
      // It is gone already, or was changed: nobody needs it then.
    }
  }

  /** Puts away what turned out not to work: the next one who asks builds it. */
  discard(key: string, reason: string): void {
    for (const store of [this.#store, this.#refuge]) if (store?.get(key) !== undefined) store.discard(key, reason);
  }

  build(client: Compiling, request: BuildRequest): Artifact {
    return this.#readBuilt(this.#madeNow(client, buildJob(request, this.#store.root, this.#config)));
  }

  async buildAsync(client: Compiling, request: BuildRequest): Promise<Artifact> {
    return this.#readBuilt(await this.#made(client, buildJob(request, this.#store.root, this.#config)));
  }

  /** The same beside this thread, which looks whether it is done. */
  begin(client: CompileClient, request: BuildRequest): Pending<Artifact> {
    return then(this.#begun(client, buildJob(request, this.#store.root, this.#config)), (stored) =>
      this.#readBuilt(stored),
    );
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
          const stored = response.built.found !== undefined ? undefined : this.#get(response.built.slot);
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
    return libraryOf(
      this.#get(request.key) ?? (await this.#made(client, buildJob(request, this.#store.root, this.#config))),
    );
  }

  /** The same, blocking this thread. */
  buildLibraryNow(client: Compiling, request: BatchRequest): string {
    return libraryOf(
      this.#get(request.key) ?? this.#madeNow(client, buildJob(request, this.#store.root, this.#config)),
    );
  }

  /** Compiles CUDA, or finds it; `ptx` and `cubin` are the paths of verified files. */
  async buildCuda(client: Compiling, request: CudaRequest): Promise<CudaArtifact> {
    const job = cudaJob(request, this.#store.root, this.#config);
    const known = this.#get(job.key);
    return known === undefined
      ? readCuda(await this.#made(client, job), 'built')
      : readCuda(known, this.#originOf(job.key));
  }

  /** The same, blocking this thread. */
  buildCudaNow(client: Compiling, request: CudaRequest): CudaArtifact {
    const job = cudaJob(request, this.#store.root, this.#config);
    const known = this.#get(job.key);
    return known === undefined
      ? readCuda(this.#madeNow(client, job), 'built')
      : readCuda(known, this.#originOf(job.key));
  }

  /** The entry of a job that was built now. */
  async #made(client: Compiling, job: EntryJob): Promise<StoredArtifact> {
    const elsewhere = this.#builtElsewhere(job);
    if (elsewhere !== undefined) return elsewhere;
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
    const elsewhere = this.#builtElsewhere(job);
    if (elsewhere !== undefined) return elsewhere;
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
    const job = cudaJob(request, this.#store.root, this.#config);
    const known = this.#get(job.key);
    if (known !== undefined) return done(readCuda(known, this.#originOf(job.key)));
    return then(this.#begun(client, job), (stored) => readCuda(stored, 'built'));
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
    const all = unpackBundle(bytes);
    const isMachine = ({ info }: BundledEntry): boolean => info.data === machineData;
    for (const { files } of all.filter(isMachine))
      if (!unpackMachine(files, this.place.directory))
        throw badBundle('what it says of a machine is not what was written');
    return all.filter((entry) => !isMachine(entry)).map((entry) => describeEntry(this.#taken(entry)));
  }

  #get(key: string, isPatient = true): StoredArtifact | undefined {
    if (this.#config.forceRecompile && !this.#used.has(key)) {
      this.#used.add(key);
      this.#store.remove(key);
    }
    const stored = this.#store.get(key) ?? this.#refuge?.get(key) ?? (isPatient ? this.#fetch(key) : undefined);
    if (stored !== undefined) this.#used.add(key);
    return stored;
  }

  [Symbol.dispose](): void {
    process.removeListener('exit', this.#dispose);
    this.#dispose();
  }

  #readBuilt(stored: StoredArtifact): Artifact {
    const origin = this.#fetched.has(stored.key) ? 'remote' : 'built';
    // Once more, should the system fail to read what is there.
    const artifact = readArtifact(stored, origin) ?? readArtifact(stored, origin);
    if (artifact === undefined) throw notKept(stored.key);
    return artifact;
  }

  #tell(events: readonly string[]): void {
    for (const message of events) this.#warn(`BUILD_EVENT ${message}`, message);
  }
}
