// What killed processes and damage leave behind in a store, and its removal. In: the store's directory. Out: how much was removed.
//
// A stage has the tag of its process: it goes with the next build after the process has died, or after an hour where nobody here can
// tell (it may be another machine's). So do the stages of the bridge and of records, which lie beside the stores. Damaged entries are
// kept for whoever wants to look into them, a few of them.
import { dirname, join } from 'node:path';
import { isAbandoned } from '@tsinductor/base';
import { removeQuietly } from './file-system.ts';
import type { FileSystem } from './file-system.ts';

export const locksName = '.locks';
export const damagedName = '.damaged';
export const stagePrefix = '.stage-';

/** What is made beside the stores, while it is made. */
const besidePattern = /^\.(bridge|record)-/;

/** The names in a directory; none where it cannot be read. */
export function namesIn(fs: FileSystem, directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return [];
  }
}

/** Removes stages of processes that are no more, and everything that is no entry and older than that. */
export function removeLeftovers(fs: FileSystem, home: string, olderThanMilliseconds: number): number {
  const before = Date.now() - olderThanMilliseconds;
  const stages = namesIn(fs, home).filter((name) => name.startsWith(stagePrefix));
  const others = [locksName, damagedName].flatMap((parent) =>
    namesIn(fs, join(home, parent)).map((name) => join(parent, name)),
  );
  const isOld = (name: string): boolean => {
    try {
      return fs.lstatSync(join(home, name)).mtimeMs <= before;
    } catch {
      return false;
    }
  };
  const beside = namesIn(fs, dirname(home)).filter((name) => besidePattern.test(name) && isAbandoned(name));
  for (const name of beside) removeQuietly(fs, join(dirname(home), name));
  const left = [...stages, ...others].filter((name) => isAbandoned(name) || isOld(name));
  for (const name of left) removeQuietly(fs, join(home, name));
  return left.length + beside.length;
}

/** Removes all but the newest so many damaged entries. */
export function trimDamaged(fs: FileSystem, home: string, kept: number): void {
  const parent = join(home, damagedName);
  const age = (name: string): number => {
    try {
      return fs.lstatSync(join(parent, name)).ctimeMs;
    } catch {
      return 0;
    }
  };
  const names = namesIn(fs, parent);
  if (names.length <= kept) return;
  const oldest = names.map((name) => ({ name, age: age(name) })).sort((a, b) => a.age - b.age);
  for (const { name } of oldest.slice(0, names.length - kept)) removeQuietly(fs, join(parent, name));
}
