// Build results on disk, under the digest of what went into them. In: a root, a namespace, keys. Out: verified artifacts.
//
// An entry appears by one rename of a finished directory and never changes afterwards. A reader verifies every byte
// before it is given a path; what does not match is a miss, and is moved away. `get` is synchronous and never throws,
// because the first call of a compiled function waits for it; a second `get` only checks that the files are the same.
//
// Every operation of files that fails is tried once more. A root that cannot be written is read, and what is missing there is
// built in a temporary one.
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isTsInductorError, processTag } from '@tsinductor/base';
import { withLock, withLockNow } from './build-lock.ts';
import type { LockOptions } from './build-lock.ts';
import { isUnchanged, readEntry, sealEntry } from './entry.ts';
import type { Artifact, EntryInfo, EntryReading, VerifiedArtifact } from './entry.ts';
import { writeFailed } from './errors.ts';
import { errorCode } from './events.ts';
import type { Report } from './events.ts';
import { nodeFileSystem, removeQuietly, syncPath, twice } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { damagedName, locksName, namesIn, removeLeftovers, stagePrefix, trimDamaged } from './leftovers.ts';
import { markUse, useOf, usedName } from './use-marks.ts';
import { checkFileName, checkKey, checkNamespace, isKey } from './key.ts';
import { openRoot } from './root.ts';
import type { OpenedRoot } from './root.ts';

export interface StoreOptions {
  /** The cache directory, shared by all namespaces. */
  readonly root: string;
  readonly namespace: string;
  /** Where a private directory is made if the root is unusable. */
  readonly temporaryDirectory: string;
  readonly report: Report;
  /** How much of what was verified is remembered. */
  readonly memoryEntries?: number;
  readonly memoryBytes?: number;
  /** How long to wait for another process's build; 120 s by default. */
  readonly waitMilliseconds?: number;
  /** When the lock of a dead process may be taken over; 5 s by default. */
  readonly staleMilliseconds?: number;
  readonly fs?: FileSystem;
}

/** What a build leaves: the names of its files in the directory it was given, and what to say about them. */
export interface EntryDraft {
  readonly files: readonly string[];
  readonly info: EntryInfo;
}

export interface EntrySummary {
  readonly key: string;
  /** Bytes of all its files. */
  readonly bytes: number;
  /** When it was built, in milliseconds since 1970. */
  readonly modified: number;
  /** When it was found last; when it was built, where nobody has looked for it since. */
  readonly used: number;
  /** Whether a process that lives has found it. */
  readonly isInUse: boolean;
}

interface StoreStats {
  readonly hits: number;
  /** Those of the hits that needed no reading. */
  readonly memoryHits: number;
  readonly misses: number;
  readonly builds: number;
  readonly damaged: number;
}

export interface ArtifactStore {
  /** The root in use: the configured one, or the fallback. Other threads open this one. */
  readonly root: string;
  /** The configured root, where it is only read. */
  readonly readable: string | undefined;
  /** Whether the root is a private one that goes with the process. */
  readonly isTemporary: boolean;
  /** The verified entry, or undefined. Never throws for what is on disk. */
  get(key: string): Artifact | undefined;
  /** Stores files under a key; if there is an intact entry, that one stays and is returned. */
  put(key: string, files: Readonly<Record<string, string | Uint8Array>>, info: EntryInfo): Artifact;
  /** The entry; where there is none, `build` makes it in the directory it is given, in one process at a time. */
  withBuildLock(key: string, build: (directory: string) => Promise<EntryDraft>): Promise<Artifact>;
  /** The same while the caller waits. */
  buildNow(key: string, build: (directory: string) => EntryDraft): Artifact;
  /** Puts an entry away that turned out not to work, which is reported: the next `get` misses. */
  discard(key: string, reason: string): void;
  /** All entries, with those of a root that is only read. */
  list(): readonly EntrySummary[];
  /** Removes one entry, where there is one. */
  remove(key: string): void;
  /** Removes all entries; returns how many. */
  clear(): number;
  /** Removes what killed processes and damage left behind, if it is older than an hour; returns how many. */
  prune(olderThanMilliseconds?: number): number;
  stats(): StoreStats;
  /** Forgets what is in memory; removes the root if it is a temporary one. */
  [Symbol.dispose](): void;
}

const keptDamaged = 8;
const hour = 3_600_000;

/** Opens a store. Reports a fallback; throws only where no directory at all can be had. */
export function openStore(options: StoreOptions): ArtifactStore {
  const { namespace } = options;
  checkNamespace(namespace);
  const fs = options.fs ?? nodeFileSystem();
  const below = [namespace, ...[locksName, damagedName, usedName].map((name) => join(namespace, name))];
  return new DiskStore(options, openRoot({ ...options, below, fs }), fs);
}

class DiskStore implements ArtifactStore {
  readonly root: string;
  readonly readable: string | undefined;
  readonly #options: StoreOptions;
  readonly isTemporary: boolean;
  readonly #fs: FileSystem;
  readonly #home: string;
  readonly #memory: LRUCache<string, VerifiedArtifact>;
  readonly #building = new Map<string, Promise<Artifact>>();
  readonly #stats = { hits: 0, memoryHits: 0, misses: 0, builds: 0, damaged: 0 };
  /** What this process has found, and how it says so. */
  readonly #marked = new Set<string>();
  readonly #tag = processTag();
  #moved = 0;
  #pruned = false;

  constructor(options: StoreOptions, opened: OpenedRoot, fs: FileSystem) {
    this.root = opened.root;
    this.readable = opened.readable;
    this.isTemporary = opened.temporary;
    this.#options = options;
    this.#fs = fs;
    this.#home = join(opened.root, options.namespace);
    this.#memory = new LRUCache<string, VerifiedArtifact>({
      max: options.memoryEntries ?? 1000,
      maxSize: options.memoryBytes ?? 64 * 1024 * 1024,
      sizeCalculation: ({ artifact }) => artifact.bytes + 1,
    });
  }

  get(key: string): Artifact | undefined {
    checkKey(key);
    const remembered = this.#memory.get(key);
    if (remembered !== undefined && isUnchanged(this.#fs, remembered)) {
      this.#stats.hits += 1;
      this.#stats.memoryHits += 1;
      return remembered.artifact;
    }
    // Before it is read, so that whoever makes room sees that it is used.
    this.#mark(key);
    const artifact = this.#accept(key, readEntry(this.#fs, this.#place(key))) ?? this.#readOnly(key);
    if (artifact === undefined) this.#stats.misses += 1;
    else this.#stats.hits += 1;
    return artifact;
  }

  put(key: string, files: Readonly<Record<string, string | Uint8Array>>, info: EntryInfo): Artifact {
    checkKey(key);
    const names = Object.keys(files);
    names.forEach(checkFileName);
    return this.#staged(key, (stage) => {
      for (const [name, content] of Object.entries(files)) {
        twice(() => {
          this.#fs.writeFileSync(join(stage, name), content, { mode: 0o600 });
        });
      }
      return this.#seal(key, stage, { files: names, info });
    });
  }

  withBuildLock(key: string, build: (directory: string) => Promise<EntryDraft>): Promise<Artifact> {
    checkKey(key);
    const running = this.#building.get(key);
    if (running !== undefined) return running;
    const started = this.#buildLocked(key, build).finally(() => this.#building.delete(key));
    this.#building.set(key, started);
    return started;
  }

  buildNow(key: string, build: (directory: string) => EntryDraft): Artifact {
    checkKey(key);
    const known = this.get(key);
    if (known !== undefined) return known;
    return withLockNow(this.#lockOf(key), () =>
      this.#staged(key, (stage) => {
        this.#stats.builds += 1;
        return this.#seal(key, stage, build(stage));
      }),
    );
  }

  discard(key: string, reason: string): void {
    checkKey(key);
    this.#accept(key, { kind: 'damaged', reason });
  }

  list(): readonly EntrySummary[] {
    const { namespace } = this.#options;
    const homes = [this.#home, ...(this.readable === undefined ? [] : [join(this.readable, namespace)])];
    const summaries = new Map<string, EntrySummary>();
    for (const home of homes)
      for (const key of namesIn(this.#fs, home).filter(isKey))
        if (!summaries.has(key)) for (const summary of this.#summary(home, key)) summaries.set(key, summary);
    return [...summaries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** An entry, if it is one and is there still. */
  #summary(home: string, key: string): readonly EntrySummary[] {
    const directory = join(home, key);
    try {
      const files = this.#fs.readdirSync(directory).map((name) => this.#fs.lstatSync(join(directory, name)));
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      const modified = this.#fs.lstatSync(directory).mtimeMs;
      const use = useOf(this.#fs, home, key);
      return [{ key, bytes, modified, used: Math.max(modified, use?.time ?? 0), isInUse: use?.isNow === true }];
    } catch {
      return [];
    }
  }

  remove(key: string): void {
    checkKey(key);
    this.#memory.delete(key);
    if (this.#moveAside(key)) trimDamaged(this.#fs, this.#home, 0);
  }

  clear(): number {
    this.#memory.clear();
    const removed = this.#names().filter((key) => this.#moveAside(key));
    trimDamaged(this.#fs, this.#home, 0);
    return removed.length;
  }

  prune(olderThanMilliseconds: number = hour): number {
    return removeLeftovers(this.#fs, this.#home, olderThanMilliseconds);
  }

  stats(): StoreStats {
    return { ...this.#stats };
  }

  [Symbol.dispose](): void {
    this.#memory.clear();
    if (this.isTemporary) removeQuietly(this.#fs, this.root);
  }

  #place(key: string): { directory: string; namespace: string; key: string } {
    return { directory: join(this.#home, key), namespace: this.#options.namespace, key };
  }

  #names(): string[] {
    return namesIn(this.#fs, this.#home).filter(isKey);
  }

  /** The entry in the root that cannot be written: whatever is wrong with it, it stays there. */
  #readOnly(key: string): Artifact | undefined {
    if (this.readable === undefined) return undefined;
    const { namespace } = this.#options;
    const reading = readEntry(this.#fs, { directory: join(this.readable, namespace, key), namespace, key });
    if (reading.kind === 'absent') return undefined;
    if (reading.kind !== 'found') return this.#accept(key, { kind: 'unreadable', reason: reading.reason });
    return this.#accept(key, reading);
  }

  /** Remembers what was found; reports what was not as it should be, and moves damage out of the way. */
  #accept(key: string, reading: EntryReading): Artifact | undefined {
    this.#memory.delete(key);
    switch (reading.kind) {
      case 'found':
        this.#mark(key);
        this.#memory.set(key, reading.verified);
        return reading.verified.artifact;
      case 'absent':
        this.#marked.delete(key); // it is marked again when it is there
        return undefined;
      case 'unreadable':
        this.#options.report({ kind: 'unreadable', key, message: `cache entry ${key} not read: ${reading.reason}` });
        return undefined;
      case 'damaged':
        this.#stats.damaged += 1;
        this.#moveAside(key);
        trimDamaged(this.#fs, this.#home, keptDamaged);
        this.#options.report({ kind: 'damaged', key, message: `cache entry ${key} is damaged: ${reading.reason}` });
        return undefined;
    }
  }

  /** Says that this process uses an entry, once. */
  #mark(key: string): void {
    if (this.isTemporary || this.#marked.has(key)) return;
    this.#marked.add(key);
    markUse(this.#fs, { home: this.#home, key }, this.#tag);
  }

  /** Moves an entry where no reader looks, in one step. */
  #moveAside(key: string): boolean {
    this.#moved += 1;
    const name = `${key}-${String(process.pid)}-${String(process.hrtime.bigint())}-${String(this.#moved)}`;
    try {
      this.#fs.renameSync(join(this.#home, key), join(this.#home, damagedName, name));
      return true;
    } catch {
      return false; // moved by someone else, or it stays, and is a miss each time
    }
  }

  async #buildLocked(key: string, build: (directory: string) => Promise<EntryDraft>): Promise<Artifact> {
    const known = this.get(key);
    if (known !== undefined) return known;
    return withLock(this.#lockOf(key), () => this.#build(key, build));
  }

  #lockOf(key: string): LockOptions<Artifact> {
    if (!this.#pruned) this.prune();
    this.#pruned = true;
    return {
      key,
      path: join(this.#home, locksName, key),
      fs: this.#fs,
      report: this.#options.report,
      staleMilliseconds: this.#options.staleMilliseconds ?? 5000,
      waitMilliseconds: this.#options.waitMilliseconds ?? 120_000,
      ready: () => this.#accept(key, readEntry(this.#fs, this.#place(key))),
    };
  }

  async #build(key: string, build: (directory: string) => Promise<EntryDraft>): Promise<Artifact> {
    const stage = this.#makeStage(key);
    try {
      this.#stats.builds += 1;
      const draft = await build(stage);
      return this.#typed(key, () => this.#seal(key, stage, draft));
    } finally {
      removeQuietly(this.#fs, stage);
    }
  }

  #staged(key: string, fill: (stage: string) => Artifact): Artifact {
    const stage = this.#makeStage(key);
    try {
      return this.#typed(key, () => fill(stage));
    } finally {
      removeQuietly(this.#fs, stage);
    }
  }

  #makeStage(key: string): string {
    return this.#typed(key, () => twice(() => this.#fs.mkdtempSync(join(this.#home, stagePrefix + this.#tag))));
  }

  /** Failures of the system become ours; ours stay as they are. */
  #typed<T>(key: string, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw isTsInductorError(error) ? error : writeFailed(key, error);
    }
  }

  /** Finishes a stage and makes it the entry, unless an intact one is there already. */
  #seal(key: string, stage: string, draft: EntryDraft): Artifact {
    const place = this.#place(key);
    sealEntry(this.#fs, { ...place, directory: stage }, draft);
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#fs.renameSync(stage, place.directory);
        break;
      } catch (error) {
        if (attempt === 3) throw error;
        if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error))) continue;
        const other = this.#accept(key, readEntry(this.#fs, place)); // moves a damaged one away
        if (other !== undefined) return other;
        this.#moveAside(key); // and so one that cannot be read
      }
    }
    try {
      syncPath(this.#fs, this.#home);
    } catch {
      // It lasts for as long as the system runs.
    }
    const published = this.#accept(key, readEntry(this.#fs, place));
    if (published === undefined) throw writeFailed(key, 'the entry could not be read back');
    return published;
  }
}
