// Measurements on disk, for autotuning: for each problem (a key) one small record per configuration that was tried. In:
// problem, configuration, any plain JSON. Out: all valid records of a problem.
//
// Each record is a file of its own that appears by one rename, so processes that measure at the same time merge by merely
// writing, without a lock; of two measurements of one configuration the later stays. A damaged record is removed.
import { join } from 'node:path';
import { isTsInductorError, processTag } from '@tsinductor/base';
import { decodeDocument, encodeDocument } from './document.ts';
import { writeFailed } from './errors.ts';
import { errorCode } from './events.ts';
import type { Report } from './events.ts';
import { nodeFileSystem, readOwnFile, removeQuietly, syncPath, twice } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { cacheFormat, checkKey, checkNamespace, isKey, recordNamespace } from './key.ts';
import { namesIn } from './leftovers.ts';
import { openRoot } from './root.ts';
import type { OpenedRoot } from './root.ts';

interface RecordStoreOptions {
  readonly root: string;
  /** 'autotune' by default. */
  readonly namespace?: string;
  readonly temporaryDirectory: string;
  readonly report: Report;
  readonly fs?: FileSystem;
}

export interface RecordStore {
  readonly root: string;
  /** All valid records of a problem, by configuration, in the order of the configurations' keys. */
  read(problem: string): ReadonlyMap<string, unknown>;
  /** Writes the record of one configuration, in place of an earlier one. */
  write(problem: string, configuration: string, record: unknown): void;
  /** The problems for which there are records. */
  list(): readonly string[];
  /** Removes the records of one problem, or all; returns of how many problems. */
  clear(problem?: string): number;
  [Symbol.dispose](): void;
}

const suffix = '.json';
const mostRecordBytes = 1 << 20;
const stagePrefix = '.stage-';

/** Opens the records. Reports a fallback; throws only where no directory at all can be had. */
export function openRecords(options: RecordStoreOptions): RecordStore {
  const namespace = options.namespace ?? recordNamespace;
  checkNamespace(namespace);
  const fs = options.fs ?? nodeFileSystem();
  return new DiskRecords({ ...options, namespace }, openRoot({ ...options, below: [namespace], fs }), fs);
}

/** The valid records of a problem in a directory that is only read: what is not valid there stays, and counts as absent. */
export function readRecords(root: string, problem: string): ReadonlyMap<string, unknown> {
  checkKey(problem);
  const fs = nodeFileSystem();
  const directory = join(root, recordNamespace, problem);
  const records = new Map<string, unknown>();
  for (const configuration of configurationsOf(namesIn(fs, directory))) {
    try {
      const { bytes } = readOwnFile(fs, join(directory, configuration + suffix), mostRecordBytes);
      const value = decodeDocument(bytes);
      if (isRecordOf(value, problem, configuration)) records.set(configuration, value.record);
    } catch {
      // Somebody else's business.
    }
  }
  return records;
}

/** The configurations whose records are among these files, in their order. */
const configurationsOf = (names: readonly string[]): readonly string[] =>
  names
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .filter(isKey)
    .sort();

class DiskRecords implements RecordStore {
  readonly root: string;
  readonly #home: string;
  readonly #temporary: boolean;
  readonly #report: Report;
  readonly #fs: FileSystem;

  constructor(options: { namespace: string; report: Report }, opened: OpenedRoot, fs: FileSystem) {
    this.root = opened.root;
    this.#temporary = opened.temporary;
    this.#home = join(opened.root, options.namespace);
    this.#report = options.report;
    this.#fs = fs;
  }

  read(problem: string): ReadonlyMap<string, unknown> {
    checkKey(problem);
    const records = new Map<string, unknown>();
    this.#touch(problem);
    for (const configuration of configurationsOf(this.#names(join(this.#home, problem)))) {
      const record = this.#readOne(problem, configuration);
      if (record !== undefined) records.set(configuration, record);
    }
    return records;
  }

  write(problem: string, configuration: string, record: unknown): void {
    checkKey(problem);
    checkKey(configuration);
    try {
      twice(() => {
        this.#write(problem, configuration, record);
      });
    } catch (cause) {
      throw writeFailed(`${problem}/${configuration}`, cause);
    }
  }

  #write(problem: string, configuration: string, record: unknown): void {
    const directory = join(this.#home, problem);
    let stage: string | undefined;
    try {
      this.#fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
      stage = this.#fs.mkdtempSync(join(this.#home, stagePrefix + processTag()));
      const staged = join(stage, 'record');
      const document = encodeDocument({ format: cacheFormat, problem, configuration, record });
      this.#fs.writeFileSync(staged, document, { mode: 0o600, flag: 'wx' });
      syncPath(this.#fs, staged);
      this.#fs.renameSync(staged, join(directory, configuration + suffix));
    } finally {
      if (stage !== undefined) removeQuietly(this.#fs, stage);
    }
  }

  list(): readonly string[] {
    return this.#names(this.#home).filter(isKey).sort();
  }

  clear(problem?: string): number {
    if (problem !== undefined) checkKey(problem);
    const problems = this.list().filter((key) => problem === undefined || key === problem);
    for (const key of problems) removeQuietly(this.#fs, join(this.#home, key));
    return problems.length;
  }

  [Symbol.dispose](): void {
    if (this.#temporary) removeQuietly(this.#fs, this.root);
  }

  /** They are used: what nobody reads goes after a time. */
  #touch(problem: string): void {
    try {
      const now = new Date();
      this.#fs.utimesSync(join(this.#home, problem), now, now);
    } catch {
      // There are none, or they are only read.
    }
  }

  #names(directory: string): string[] {
    return namesIn(this.#fs, directory);
  }

  #readOne(problem: string, configuration: string): unknown {
    const path = join(this.#home, problem, configuration + suffix);
    try {
      const value = decodeDocument(twice(() => readOwnFile(this.#fs, path, mostRecordBytes).bytes));
      if (isRecordOf(value, problem, configuration)) return value.record;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      if (isTsInductorError(error)) removeQuietly(this.#fs, path); // what is no record is in the way of the next one
      const message = `record ${path} not read: ${String(error)}`;
      this.#report({ kind: 'unreadable', key: problem, message });
      return undefined;
    }
    removeQuietly(this.#fs, path);
    this.#report({ kind: 'damaged', key: problem, message: `record ${path} is not what was written` });
    return undefined;
  }
}

function isRecordOf(value: unknown, problem: string, configuration: string): value is { readonly record: unknown } {
  if (typeof value !== 'object' || value === null) return false;
  const found = value as { format?: unknown; problem?: unknown; configuration?: unknown };
  return found.format === cacheFormat && found.problem === problem && found.configuration === configuration;
}
