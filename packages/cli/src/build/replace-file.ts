// A file that is replaced whole. In: a path and what the file is to hold. Out: who reads it finds what was there before, or all that is
// there now, also where this process ends meanwhile.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { processTag } from '@tsinductor/base';

/** Throws what writing or renaming throws, and then leaves what was there. */
export function replaceFile(path: string, content: string | Uint8Array): void {
  // A rename is one step only within a file system, which a folder is sure to be.
  const staged = join(dirname(path), `.${basename(path)}-${processTag()}`);
  try {
    const file = openSync(staged, 'w');
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(staged, path);
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  }
}
