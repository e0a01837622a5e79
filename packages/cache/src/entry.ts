// One entry on disk: a directory with a manifest and the files that it lists. In: a directory. Out: the verified entry, or
// why it is none. Nothing is trusted that is not in the manifest, and the manifest carries its own digest and its key,
// so damaged, truncated, swapped and moved files all show.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { decodeDocument, encodeDocument } from './document.ts';
import { draftIncomplete } from './errors.ts';
import { errorCode } from './events.ts';
import type { FileSystem } from './file-system.ts';
import { identityOf, readOwnFile, removeQuietly, syncPath, twice } from './file-system.ts';
import { cacheFormat, checkFileName, isFileName, manifestName } from './key.ts';

export interface FileRecord {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What a builder says about its files. All of it is plain JSON. */
export interface EntryInfo {
  /** What went into the key, for people and for `cache verify`. */
  readonly inputs: unknown;
  /** Versions of compiler, package, ABI. */
  readonly versions: Readonly<Record<string, string>>;
  /** What the reader needs beside the files. */
  readonly data: unknown;
}

interface Manifest extends EntryInfo {
  readonly format: number;
  readonly namespace: string;
  readonly key: string;
  /** In the order of their names. */
  readonly files: readonly FileRecord[];
}

/** A verified entry. */
export interface Artifact {
  readonly key: string;
  readonly directory: string;
  readonly manifest: Manifest;
  /** The absolute path of each file. */
  readonly paths: Readonly<Record<string, string>>;
  readonly bytes: number;
}

/** An artifact with what shows, without reading it again, that it is still the one that was verified. */
export interface VerifiedArtifact {
  readonly artifact: Artifact;
  readonly identities: readonly (readonly [path: string, identity: string])[];
}

export type EntryReading =
  | { readonly kind: 'found'; readonly verified: VerifiedArtifact }
  | { readonly kind: 'absent' }
  | { readonly kind: 'damaged'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

interface EntryPlace {
  readonly directory: string;
  readonly namespace: string;
  readonly key: string;
}

/** Errors that speak of the entry; all others speak of the system. */
const damageCodes: ReadonlySet<string> = new Set([
  'ENOENT',
  'ELOOP',
  'EISDIR',
  'ENOTDIR',
  'ENXIO',
  'CACHE_FILE_REFUSED',
]);

/** A manifest is some hundred bytes; what a build leaves is some megabytes. */
const mostManifestBytes = 1 << 24;
const mostDraftBytes = 1 << 30;

/** Reads and verifies an entry; once more if it was not found whole, for the system may have failed. Never throws. */
export function readEntry(fs: FileSystem, place: EntryPlace): EntryReading {
  const reading = readOnce(fs, place);
  return reading.kind === 'found' ? reading : readOnce(fs, place);
}

function readOnce(fs: FileSystem, place: EntryPlace): EntryReading {
  try {
    if (!fs.lstatSync(place.directory).isDirectory()) return { kind: 'damaged', reason: 'it is not a directory' };
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? { kind: 'absent' } : { kind: 'unreadable', reason: String(error) };
  }
  try {
    return verify(fs, place);
  } catch (error) {
    const kind = damageCodes.has(errorCode(error)) ? 'damaged' : 'unreadable';
    return { kind, reason: String(error) };
  }
}

function verify(fs: FileSystem, place: EntryPlace): EntryReading {
  const damaged = (reason: string): EntryReading => ({ kind: 'damaged', reason });
  const manifestPath = join(place.directory, manifestName);
  const read = readOwnFile(fs, manifestPath, mostManifestBytes);
  const manifest = decodeDocument(read.bytes);
  if (!isManifest(manifest)) return damaged('its manifest is not what was written');
  if (manifest.format !== cacheFormat) return damaged(`it has format ${String(manifest.format)}`);
  if (manifest.key !== place.key || manifest.namespace !== place.namespace) return damaged('it is of another key');
  const paths: Record<string, string> = {};
  const identities: [string, string][] = [[manifestPath, read.identity]];
  let total = read.bytes.length;
  for (const { name, bytes, sha256 } of manifest.files) {
    const path = join(place.directory, name);
    const file = readOwnFile(fs, path, bytes);
    if (file.bytes.length !== bytes)
      return damaged(`${name} has ${String(file.bytes.length)} bytes, not ${String(bytes)}`);
    if (digest(file.bytes) !== sha256) return damaged(`${name} is not what was written`);
    paths[name] = path;
    identities.push([path, file.identity]);
    total += bytes;
  }
  const artifact: Artifact = { key: place.key, directory: place.directory, manifest, paths, bytes: total };
  return { kind: 'found', verified: { artifact, identities } };
}

/** The manifest in a directory, whose files are not looked at; undefined where it is not what was written. Throws what reading throws. */
export function manifestOf(fs: FileSystem, directory: string): Manifest | undefined {
  const manifest = decodeDocument(readOwnFile(fs, join(directory, manifestName), mostManifestBytes).bytes);
  return isManifest(manifest) ? manifest : undefined;
}

/** Whether no file of the artifact was replaced or written to since it was verified. */
export function isUnchanged(fs: FileSystem, { identities }: VerifiedArtifact): boolean {
  try {
    return identities.every(([path, identity]) => identityOf(fs.lstatSync(path, { bigint: true })) === identity);
  } catch {
    return false;
  }
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Makes a staged directory an entry: drops what is not listed, writes the manifest, makes everything durable. */
export function sealEntry(
  fs: FileSystem,
  place: EntryPlace,
  draft: { readonly files: readonly string[]; readonly info: EntryInfo },
): void {
  const files = [...draft.files].sort().map((name): FileRecord => {
    checkFileName(name);
    const path = join(place.directory, name);
    const bytes = readDraft(fs, path, name);
    twice(() => {
      syncPath(fs, path);
    });
    return { name, bytes: bytes.length, sha256: digest(bytes) };
  });
  const { inputs, versions, data } = draft.info;
  const { namespace, key } = place;
  const manifest: Manifest = { format: cacheFormat, namespace, key, files, inputs, versions, data };
  for (const name of twice(() => fs.readdirSync(place.directory))) {
    if (!draft.files.includes(name)) removeQuietly(fs, join(place.directory, name));
  }
  const path = join(place.directory, manifestName);
  // What stands there after a failure is half a manifest.
  twice(() => {
    removeQuietly(fs, path);
    fs.writeFileSync(path, encodeDocument(manifest), { mode: 0o600, flag: 'wx' });
    syncPath(fs, path);
    syncPath(fs, place.directory);
  });
}

function readDraft(fs: FileSystem, path: string, name: string): Buffer {
  try {
    return twice(() => readOwnFile(fs, path, mostDraftBytes).bytes);
  } catch (cause) {
    if (damageCodes.has(errorCode(cause))) throw draftIncomplete(name, cause);
    throw cause;
  }
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null) return false;
  const { format, namespace, key, files } = value as Partial<Record<keyof Manifest, unknown>>;
  return (
    typeof format === 'number' &&
    typeof namespace === 'string' &&
    typeof key === 'string' &&
    Array.isArray(files) &&
    files.every(isFileRecord)
  );
}

export function isFileRecord(value: unknown): value is FileRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { name, bytes, sha256 } = value as Partial<Record<keyof FileRecord, unknown>>;
  return isFileName(name) && typeof bytes === 'number' && typeof sha256 === 'string';
}
