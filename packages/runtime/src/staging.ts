// Temporary directories in which results are prepared. In: where. Out: a fresh directory that only the user can enter,
// and its removal, which never fails: what cannot be removed stays, but the result of the work counts. What a killed process could
// not remove is removed when the next directory of that kind is made.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAbandoned, processTag } from '@tsinductor/base';
import { outputNotWritten } from './errors.ts';

/** A fresh directory within `parent`, which is made if need be. */
export function makeStage(parent: string, prefix: string): string {
  removeAbandoned(parent, prefix);
  const make = (): string => {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    return mkdtempSync(join(parent, prefix + processTag()));
  };
  try {
    return make();
  } catch {
    // Once more: the parent may have been removed just then, or the system short of something for a moment.
  }
  try {
    return make();
  } catch (cause) {
    throw outputNotWritten(parent, cause);
  }
}

function removeAbandoned(parent: string, prefix: string): void {
  try {
    const left = readdirSync(parent).filter((name) => name.startsWith(prefix) && isAbandoned(name));
    for (const name of left) removeQuietly(join(parent, name));
  } catch {
    // There is no parent yet.
  }
}

/** Removes a file or a directory with all that is in it, as far as that is possible. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Nothing depends on its being gone.
  }
}
