// Folders of what compiling made, for people to read and to compare: one per compiled graph, numbered in the order of
// compilation, with a file per stage. In: the stages. Out: the folder's path. Names and contents depend on the program
// alone; a folder that is there already is left alone, and the next number is taken.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Compilation } from './compilation.ts';
import { stageFiles } from './compilation.ts';

export class DebugFolders {
  readonly root: string;
  #next = 0;

  /** Makes `directory`, or a new one among the temporary ones. Throws the file system's error where it cannot be made. */
  constructor(directory: string | null) {
    if (directory !== null) mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.root = directory ?? mkdtempSync(join(tmpdir(), 'tsinductor-debug-'));
  }

  keep(name: string, stages: Compilation): string {
    const folder = this.#make(name.replace(/\W+/g, '_').slice(0, 60));
    for (const [file, text] of stageFiles(stages)) writeFileSync(join(folder, file), text, { mode: 0o600, flag: 'wx' });
    return folder;
  }

  #make(name: string): string {
    for (;;) {
      const path = join(this.root, `${String(this.#next++).padStart(3, '0')}-${name}`);
      try {
        mkdirSync(path, { mode: 0o700 });
        return path;
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
      }
    }
  }
}
