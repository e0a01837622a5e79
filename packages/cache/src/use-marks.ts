// Which entries are used, and by whom. In: a store's directory and a key. Out: when the entry was found last, and whether a process that
// lives has found it.
//
// Each entry has a file beside it, `.used/<key>`. A process that finds the entry adds a line with its tag, once: so the file's time is
// that of the last use, and its lines are the users. A line costs one write, no lock, and no work at the end of the process: tags of
// processes that are no more do not count. Those of other machines, or containers, cannot be asked: they count for a day.
import { join } from 'node:path';
import { isAbandoned, isOfThisPlace } from '@tsinductor/base';
import { readOwnFile } from './file-system.ts';
import type { FileSystem } from './file-system.ts';

export const usedName = '.used';

/** How long what another machine uses is left alone. */
const foreignMilliseconds = 86_400_000;

/** A file of more is written anew, with the lines of whoever may still live. */
const mostBytes = 1 << 16;
const keptLines = 200;

/** When an entry was found last, in milliseconds since 1970, and whether somebody uses it now. */
interface Use {
  readonly time: number;
  readonly isNow: boolean;
}

/** Notes that this process has found an entry. Nothing depends on it, so what cannot be written is left. */
export function markUse(fs: FileSystem, path: { readonly home: string; readonly key: string }, tag: string): void {
  const file = join(path.home, usedName, path.key);
  try {
    const size = fs.lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > mostBytes) fs.writeFileSync(file, living(fs, file).join(''), { mode: 0o600 });
    fs.appendFileSync(file, `${tag}\n`, { mode: 0o600 });
  } catch {
    // A cache that is full, or only read.
  }
}

/** The use of an entry; undefined where none was noted. */
export function useOf(fs: FileSystem, home: string, key: string): Use | undefined {
  const file = join(home, usedName, key);
  try {
    const { mtimeMs: time } = fs.lstatSync(file);
    const isRecent = Date.now() - time < foreignMilliseconds;
    return {
      time,
      isNow: [...new Set(linesOf(fs, file))].some((line) => (isOfThisPlace(line) ? !isAbandoned(line) : isRecent)),
    };
  } catch {
    return undefined;
  }
}

const linesOf = (fs: FileSystem, file: string): readonly string[] =>
  readOwnFile(fs, file, 16 * mostBytes)
    .bytes.toString('latin1')
    .split('\n')
    .filter((line) => line !== '');

const living = (fs: FileSystem, file: string): readonly string[] =>
  [...new Set(linesOf(fs, file))]
    .filter((line) => !isAbandoned(line))
    .slice(-keptLines)
    .map((line) => `${line}\n`);
