// Builds again whenever a file of a project changes. In: what builds once and says which files it read, and what lists the files that the
// project names. Out: it ends with the process, or when nothing is left to watch.
import { statSync, watch } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { messageOf } from '../errors.ts';
import type { BuildResult } from './build-project.ts';

/** Editors write a file in several steps: what comes within this time is one change, in milliseconds. */
const pause = 100;
/** Clocks of file systems tick this coarsely, in milliseconds. */
const tick = 20;

interface Watching {
  readonly once: () => Promise<Pick<BuildResult, 'files'>>;
  /** The settings and the files that they name, of the disk as it is now. It may throw, as builds do. */
  readonly list: () => readonly string[];
  readonly say: (message: string) => void;
}

export async function watchProject({ once, list, say }: Watching): Promise<void> {
  let read: readonly string[] | undefined;
  for (;;) {
    const began = Date.now();
    const named = listed(list);
    try {
      read = (await once()).files;
    } catch (error) {
      if (read === undefined) throw error;
      say(messageOf(error));
    }
    const change = changeOf({
      files: [...new Set([...named, ...read])],
      began,
      hasOthers: () => !isSame(named, listed(list)),
    });
    say('waiting for changes');
    await change;
  }
}

/** None where the settings cannot be read, which the next build says. */
function listed(list: Watching['list']): readonly string[] {
  try {
    return list();
  } catch {
    return [];
  }
}

const isSame = (before: readonly string[], now: readonly string[]): boolean =>
  before.length === now.length && before.every((file, place) => file === now[place]);

interface Known {
  readonly files: readonly string[];
  /** When the build began that read them. */
  readonly began: number;
  /** Whether the project names others by now. */
  readonly hasOthers: () => boolean;
}

/**
 * One of these files was written since a time, or others came or went, also before this call; or a file of a program, or of its settings,
 * is written, made or removed beside them, or in a folder that is made beside them. They are watched as soon as this returns.
 */
function changeOf({ files, began, hasOthers }: Known): Promise<void> {
  return new Promise((done) => {
    let timer: NodeJS.Timeout | undefined;
    const watchers = new Map<string, ReturnType<typeof watch>>();
    const changed = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        for (const watcher of watchers.values()) watcher.close();
        done();
      }, pause);
    };
    const watchNew = (folder: string): void => {
      if (watchers.has(folder) || !isFolderOfProgram(folder)) return;
      const look = (name: string | null): void => {
        if (name !== null) watchNew(join(folder, name));
        if (hasOthers()) changed();
      };
      watchers.set(
        folder,
        watch(folder, (_event, name) => {
          look(name);
        }),
      );
      // Files may have come before it was watched.
      look(null);
    };
    for (const folder of new Set(files.map((file) => dirname(file)))) {
      const watcher = watch(folder, (_event, name) => {
        if (name === null || isOfProgram(name)) changed();
        else watchNew(join(folder, name));
      });
      watchers.set(folder, watcher);
    }
    if (hasOthers() || files.some((file) => wasWritten(file, began))) changed();
  });
}

const isOfProgram = (name: string): boolean =>
  /^\.([cm]?[jt]sx?|json)$/.test(extname(name)) && !name.endsWith('.bundle.json');

const isFolderOfProgram = (path: string): boolean =>
  !/^(\..*|node_modules)$/.test(basename(path)) && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** A file that is gone was written too. */
function wasWritten(file: string, began: number): boolean {
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined || written > began - tick;
}
