// Small JSON records that spare a warm start its probes. In: a directory, a name, the key under which the record is
// valid. Out: the record, or undefined where it is absent, damaged or was made under another key. Writing may fail
// silently: a record is never more than a saving of time. Only what worked is ever recorded: see docs/notes/trust.md.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processTag, sha256, stableStringify } from '@tsinductor/base';
import { readSmallFile } from './small-file.ts';
import { removeQuietly } from './staging.ts';

/** Where a record is: in the directory, or in the one that is only read; nowhere without either. */
export interface RecordPlace {
  readonly directory: string | undefined;
  readonly readable?: string | undefined;
  readonly name: string;
}

const mostBytes = 1 << 20;

/** Reads the record, whose shape `isValid` checks. */
export function readRecord<T>(
  { directory, readable, name }: RecordPlace,
  key: string,
  isValid: (value: unknown) => value is T,
): T | undefined {
  for (const place of [directory, readable]) {
    const found = place === undefined ? undefined : readFrom(join(place, name), key, isValid);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readFrom<T>(path: string, key: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    const record = JSON.parse(readSmallFile(path, mostBytes).toString('utf8')) as {
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
export function writeRecord(place: RecordPlace, key: string, value: unknown): void {
  if (place.directory === undefined) return;
  const path = join(place.directory, place.name);
  const staged = join(place.directory, `.record-${processTag()}${String(process.hrtime.bigint())}`);
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
