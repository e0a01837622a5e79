// The bounds of a cache, and the removal of all that is beyond them. In: a root, how much it may hold and for how long. Out: what was
// removed, and what stays.
//
// Entries go by age of their last use, then by size, the least recently used first. One that a living process has found is never taken
// (`use-marks.ts`): it is moved out of sight first, looked at once more, and put back if somebody came meanwhile. Everything else that
// was ever made goes with it: stages and damage, bridges and what was found out of compilers, measurements, temporary directories.
import { basename, dirname, join } from 'node:path';
import { isAbandoned, processTag } from '@tsinductor/base';
import { tryAlone } from './build-lock.ts';
import { errorCode } from './events.ts';
import { nodeFileSystem, removeQuietly } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { bridgePattern, machinePattern } from './inspect.ts';
import { graphNamespace, isKey, recordNamespace } from './key.ts';
import { namesIn, removeLeftovers, stagePrefix } from './leftovers.ts';
import { useOf, usedName } from './use-marks.ts';

/** How much a cache may hold, and how long what nobody uses stays; null for no bound. */
export interface CacheLimits {
  readonly bytes: number | null;
  readonly milliseconds: number | null;
}

export interface CollectOptions {
  /** The cache directory, shared by all namespaces. */
  readonly root: string;
  readonly temporaryDirectory: string;
  readonly limits: CacheLimits;
  /** Roots of measurements, where they are kept elsewhere. */
  readonly recordRoots?: readonly string[];
  readonly fs?: FileSystem;
}

/** How many were removed of each kind, and what is left. */
export interface Collected {
  readonly entries: number;
  /** Bytes of the entries that were removed. */
  readonly bytes: number;
  /** Stages, damaged entries, locks of the dead, and temporary directories of processes that are no more. */
  readonly leftovers: number;
  /** Native bridges, and records of what was found out of compilers and processors. */
  readonly machine: number;
  /** Problems whose measurements were removed. */
  readonly records: number;
  readonly kept: { readonly entries: number; readonly bytes: number; readonly inUse: number };
}

const hour = 3_600_000;
const week = 168 * hour;

const carriedName = 'toolchain-carried.json';

/** What is made in the directory for temporary files. */
const failedPattern = /^tsinductor-failed-[0-9a-f]{16}$/;
const debugPattern = /^tsinductor-debug-[A-Za-z0-9]{6}$/;

/** A text of ours half written into the cache of V8's code. */
const halfCodePattern = /\.bin\.\d+$/;

/** Where an entry is and what it weighs. */
interface Candidate {
  readonly key: string;
  readonly bytes: number;
  /** When it was used last, or built. */
  readonly time: number;
  readonly isInUse: boolean;
}

/** Removes what is beyond the limits; undefined where another process is at it. Never throws for what is on disk. */
export function collectGarbage(options: CollectOptions): Collected | undefined {
  const fs = options.fs ?? nodeFileSystem();
  return tryAlone({ fs, path: join(options.root, '.lock-collect'), staleMilliseconds: 10 * 60_000 }, () =>
    collect(options, fs),
  );
}

function collect({ root, temporaryDirectory, limits, recordRoots = [] }: CollectOptions, fs: FileSystem): Collected {
  const home = join(root, graphNamespace);
  const isOlder = olderThan(fs, limits.milliseconds);
  const records = [...new Set([root, ...recordRoots])].map((place) => join(place, recordNamespace));
  const leftovers =
    removeLeftovers(fs, home, hour) +
    removeAll(fs, join(root, 'code'), (name, path) => halfCodePattern.test(name) && olderThan(fs, hour)(path)) +
    records.reduce((sum, place) => sum + removeAll(fs, place, isLeftStage(fs)), 0) +
    removeAll(fs, temporaryDirectory, isLeftTemporary(fs, limits.milliseconds));
  const entries = collectEntries(fs, home, limits);
  // What came with saved artifacts cannot be found out again where there is no compiler.
  const isCarried = namesIn(fs, root).includes(carriedName);
  const isOldMachine = (name: string, path: string): boolean =>
    !isCarried && (bridgePattern.test(name) || machinePattern.test(name)) && isOlder(path);
  return {
    ...entries,
    leftovers,
    machine: removeAll(fs, root, isOldMachine),
    records: records.reduce(
      (sum, place) => sum + removeAll(fs, place, (name, path) => isKey(name) && isOlder(path)),
      0,
    ),
  };
}

function collectEntries(
  fs: FileSystem,
  home: string,
  { bytes, milliseconds }: CacheLimits,
): Pick<Collected, 'entries' | 'bytes' | 'kept'> {
  const candidates = candidatesIn(fs, home);
  const oldest = milliseconds === null ? -Infinity : Date.now() - milliseconds;
  let held = candidates.reduce((sum, candidate) => sum + candidate.bytes, 0);
  // Under the bound by a tenth, so that the next entries do not collect again.
  const wanted = bytes === null || held <= bytes ? Infinity : bytes * 0.9;
  const gone = { entries: 0, bytes: 0 };
  for (const candidate of candidates) {
    if (candidate.time >= oldest && held <= wanted) continue;
    if (candidate.isInUse || !evict(fs, home, candidate.key)) continue;
    held -= candidate.bytes;
    gone.entries += 1;
    gone.bytes += candidate.bytes;
  }
  const names = new Set(namesIn(fs, home));
  const isMarkOfNone = (name: string, path: string): boolean =>
    !names.has(name) && olderThan(fs, hour)(path) && useOf(fs, home, name)?.isNow !== true;
  removeAll(fs, join(home, usedName), isMarkOfNone);
  const inUse = candidates.filter(({ isInUse }) => isInUse).length;
  return { ...gone, kept: { entries: candidates.length - gone.entries, bytes: held, inUse } };
}

/** All entries, the least recently used first. */
function candidatesIn(fs: FileSystem, home: string): readonly Candidate[] {
  return namesIn(fs, home)
    .filter(isKey)
    .flatMap((key) => {
      const directory = join(home, key);
      try {
        const sizes = fs.readdirSync(directory).map((name) => fs.lstatSync(join(directory, name)).size);
        const use = useOf(fs, home, key);
        const time = Math.max(use?.time ?? 0, fs.lstatSync(directory).mtimeMs);
        return [{ key, bytes: sizes.reduce((sum, size) => sum + size, 0), time, isInUse: use?.isNow === true }];
      } catch {
        return []; // removed meanwhile, or no entry
      }
    })
    .sort((a, b) => a.time - b.time);
}

/** Removes an entry, unless somebody has come to use it; whether it is gone. */
function evict(fs: FileSystem, home: string, key: string): boolean {
  if (useOf(fs, home, key)?.isNow === true) return false;
  const directory = join(home, key);
  const aside = join(home, `${stagePrefix}${processTag()}${String(process.hrtime.bigint())}`);
  try {
    fs.renameSync(directory, aside);
  } catch (error) {
    return errorCode(error) === 'ENOENT'; // taken by someone else; otherwise it stays
  }
  try {
    if (useOf(fs, home, key)?.isNow === true) {
      fs.renameSync(aside, directory);
      return false;
    }
    fs.rmSync(join(home, usedName, key), { force: true });
  } catch {
    // It cannot be put back, and is built again.
  }
  removeQuietly(fs, aside);
  return true;
}

const olderThan =
  (fs: FileSystem, milliseconds: number | null) =>
  (path: string): boolean => {
    try {
      return milliseconds !== null && fs.lstatSync(path).mtimeMs <= Date.now() - milliseconds;
    } catch {
      return false;
    }
  };

const isLeftStage =
  (fs: FileSystem) =>
  (name: string, path: string): boolean =>
    name.startsWith(stagePrefix) && (isAbandoned(name) || olderThan(fs, hour)(path));

/** What processes of this user left among temporary files: of those that are no more, and sources and traces of old. */
const isLeftTemporary =
  (fs: FileSystem, milliseconds: number | null) =>
  (name: string, path: string): boolean => {
    if (!name.startsWith('tsinductor-') || !isOurs(fs, path)) return false;
    if (isAbandoned(name)) return true;
    if (failedPattern.test(name)) return olderThan(fs, week)(path);
    return debugPattern.test(name) && olderThan(fs, milliseconds)(path);
  };

function isOurs(fs: FileSystem, path: string): boolean {
  try {
    return process.geteuid === undefined || fs.lstatSync(path).uid === process.geteuid();
  } catch {
    return false;
  }
}

/** Removes what a test says of a directory; out of sight first, since others may be looking at it. Returns how many. */
function removeAll(fs: FileSystem, directory: string, test: (name: string, path: string) => boolean): number {
  const chosen = namesIn(fs, directory).filter((name) => test(name, join(directory, name)));
  for (const name of chosen) removeQuietly(fs, movedAside(fs, join(directory, name)));
  return chosen.length;
}

/** The path to which something was renamed, so that nobody finds half of it; its own where that fails, or nobody looks for it. */
function movedAside(fs: FileSystem, path: string): string {
  if (basename(path).startsWith('tsinductor-')) return path;
  const aside = join(dirname(path), `.record-${processTag()}${String(process.hrtime.bigint())}`);
  try {
    fs.renameSync(path, aside);
    return aside;
  } catch {
    return path;
  }
}
