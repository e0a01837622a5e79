// The lines of the user's program that a kernel came from, with what stands there. In: origins. Out: each line once, in the order of
// the origins.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Origin } from '@tsinductor/ir';
import type { TracedLine } from './trace-event.ts';

/** Reads lines of files, each file once. */
export class LineReader {
  readonly #files = new Map<string, readonly string[]>();

  linesOf(origins: readonly Origin[]): readonly TracedLine[] {
    const found = new Map<string, TracedLine>();
    for (const { op, location } of origins) {
      if (location === undefined) continue;
      const { file, line } = location;
      const key = `${file}:${String(line)} ${op}`;
      const text = this.#linesOf(file)[line - 1]?.trim();
      if (!found.has(key)) found.set(key, { op, file, line, ...(text === undefined ? {} : { text }) });
    }
    return [...found.values()];
  }

  #linesOf(file: string): readonly string[] {
    const lines = this.#files.get(file) ?? readLines(file);
    this.#files.set(file, lines);
    return lines;
  }
}

/** A file that is not there any more, or is inside an archive, has no lines. */
function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file.startsWith('file:') ? fileURLToPath(file) : file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
