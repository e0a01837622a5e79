// Builds again whenever a file of a project changes. In: what builds once, and says which files the project has. Out: it ends with the
// process, or when nothing is left to watch.
import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { dirname, extname } from 'node:path';
import { messageOf } from '../errors.ts';
import type { BuildResult } from './build-project.ts';

/** Editors write a file in several steps: what comes within this time is one change, in milliseconds. */
const pause = 100;

export async function watchProject(once: () => Promise<BuildResult>, say: (message: string) => void): Promise<void> {
  let directories: ReadonlySet<string> = new Set();
  for (;;) {
    try {
      const { tsconfig, files } = await once();
      directories = new Set([tsconfig, ...files].map((file) => dirname(file)));
    } catch (error) {
      if (directories.size === 0) throw error;
      say(messageOf(error));
    }
    say('waiting for changes');
    await changeIn(directories);
  }
}

/** A file of a program, or of its settings, was written, made or removed in one of these directories. */
function changeIn(directories: ReadonlySet<string>): Promise<void> {
  return new Promise((done) => {
    const watchers: FSWatcher[] = [];
    let timer: NodeJS.Timeout | undefined;
    const changed = (_event: string, name: string | null): void => {
      if (name !== null && !/^\.([cm]?[jt]sx?|json)$/.test(extname(name))) return;
      if (name?.endsWith('.bundle.json') === true) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        for (const watcher of watchers) watcher.close();
        done();
      }, pause);
    };
    for (const directory of directories) watchers.push(watch(directory, changed));
  });
}
