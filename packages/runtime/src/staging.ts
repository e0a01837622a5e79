// Temporary directories in which results are prepared. In: where. Out: a fresh directory that only the user can enter,
// and its removal, which never fails: what cannot be removed stays, but the result of the work counts.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { outputNotWritten } from './errors.ts';

/** A fresh directory within `parent`, which is made if need be. */
export function makeStage(parent: string, prefix: string): string {
  try {
    mkdirSync(parent, { recursive: true, mode: 0o700 });
    return mkdtempSync(join(parent, prefix));
  } catch (cause) {
    throw outputNotWritten(parent, cause);
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
