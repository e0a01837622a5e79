// Builds again whenever a file of a project changes. In: what builds once, and says which files the project has. Out: it ends with the
// process, or when nothing is left to watch.
import { statSync, watch } from 'node:fs';
import { dirname, extname } from 'node:path';
import { messageOf } from '../errors.ts';
import type { BuildResult } from './build-project.ts';

/** Editors write a file in several steps: what comes within this time is one change, in milliseconds. */
const pause = 100;
/** Clocks of file systems tick this coarsely, in milliseconds. */
const tick = 20;

type Watched = Pick<BuildResult, 'tsconfig' | 'files'>;

export async function watchProject(once: () => Promise<Watched>, say: (message: string) => void): Promise<void> {
  let watched: readonly string[] = [];
  for (;;) {
    const began = Date.now();
    try {
      const { tsconfig, files } = await once();
      watched = [tsconfig, ...files];
    } catch (error) {
      if (watched.length === 0) throw error;
      say(messageOf(error));
    }
    const change = changeOf(watched, began);
    say('waiting for changes');
    await change;
  }
}

/**
 * One of these files was written since a time, also before this call; or a file of a program, or of its settings, is written, made or
 * removed beside them. They are watched as soon as this returns.
 */
function changeOf(files: readonly string[], began: number): Promise<void> {
  return new Promise((done) => {
    let timer: NodeJS.Timeout | undefined;
    const changed = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        for (const watcher of watchers) watcher.close();
        done();
      }, pause);
    };
    const watchers = [...new Set(files.map((file) => dirname(file)))].map((directory) =>
      watch(directory, (_event, name) => {
        if (name === null || isOfProgram(name)) changed();
      }),
    );
    if (files.some((file) => wasWritten(file, began))) changed();
  });
}

const isOfProgram = (name: string): boolean =>
  /^\.([cm]?[jt]sx?|json)$/.test(extname(name)) && !name.endsWith('.bundle.json');

/** A file that is gone was written too. */
function wasWritten(file: string, began: number): boolean {
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined || written > began - tick;
}
