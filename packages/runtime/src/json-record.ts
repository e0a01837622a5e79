// Small JSON records that spare a warm start its probes. In: a directory, a name, the key under which the record is
// valid. Out: the record, or undefined where it is absent, damaged or was made under another key. Writing may fail
// silently: a record is never more than a saving of time.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256, stableStringify } from '@tsinductor/base';
import { removeQuietly } from './staging.ts';

/** Reads the record, whose shape `isValid` checks. */
export function readRecord<T>(
  place: { readonly directory: string | undefined; readonly name: string },
  key: string,
  isValid: (value: unknown) => value is T,
): T | undefined {
  if (place.directory === undefined) return undefined;
  try {
    const record = JSON.parse(readFileSync(join(place.directory, place.name), 'utf8')) as {
      key?: unknown;
      digest?: unknown;
      value?: unknown;
    };
    if (record.key !== key || record.digest !== sha256(stableStringify(record.value))) return undefined;
    return isValid(record.value) ? record.value : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the record by renaming a finished file into place. */
export function writeRecord(
  place: { readonly directory: string | undefined; readonly name: string },
  key: string,
  value: unknown,
): void {
  if (place.directory === undefined) return;
  const path = join(place.directory, place.name);
  const staged = `${path}.${String(process.pid)}.${String(process.hrtime.bigint())}`;
  try {
    mkdirSync(place.directory, { recursive: true, mode: 0o700 });
    writeFileSync(staged, `${JSON.stringify({ key, digest: sha256(stableStringify(value)), value })}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    renameSync(staged, path);
  } catch {
    removeQuietly(staged);
  }
}
