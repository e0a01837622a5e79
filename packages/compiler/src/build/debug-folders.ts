// Folders of what compiling made, for people to read and to compare: one per compiled graph, numbered in the order of
// compilation, with a file per stage, numbered in the order of the pipeline. In: texts. Out: the folder's path. But for times,
// names and contents depend on the program alone; a folder that is there already is left alone, and the next number is taken.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StageText, StageTime } from '@tsinductor/base';
import { timesText } from './stage-times.ts';

/** What is kept of a graph. */
interface Kept {
  /** The graph as it was traced. */
  readonly traced: string;
  readonly stages: readonly StageText[];
  readonly decisions: string;
  readonly times: readonly StageTime[] | undefined;
}

/** What a stage prints, where that is no text of ours. */
const endings: Readonly<Partial<Record<string, string>>> = { 'print-cpp': 'cc', 'print-cuda': 'cu' };

export class DebugFolders {
  readonly root: string;
  #next = 0;

  /** Makes `directory`, or a new one among the temporary ones. Throws the file system's error where it cannot be made. */
  constructor(directory: string | null) {
    if (directory !== null) mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.root = directory ?? mkdtempSync(join(tmpdir(), 'tsinductor-debug-'));
  }

  keep(name: string, kept: Kept): string {
    const folder = this.#make(name.replace(/\W+/g, '_').slice(0, 60));
    for (const [file, text] of filesOf(kept)) writeFileSync(join(folder, file), text, { mode: 0o600, flag: 'wx' });
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

function filesOf({ traced, stages, decisions, times }: Kept): readonly (readonly [string, string])[] {
  const numbered = stages.map(({ name, text, isSame }, position): readonly [string, string] => [
    `${String(position + 1).padStart(2, '0')}-${name}.${endings[name] ?? 'txt'}`,
    isSame ? `The stage ${name} changed nothing.\n` : text,
  ]);
  return [
    ['00-traced.txt', traced],
    ...numbered,
    ['decisions.txt', decisions],
    ...(times === undefined ? [] : [['times.txt', `${timesText(times)}\n`] as const]),
  ];
}
