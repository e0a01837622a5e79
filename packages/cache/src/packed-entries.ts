// Entries of a cache as one piece of bytes, to be carried to another machine or kept in an image. In: verified artifacts.
// Out: bytes; and back, the entries in them, with every byte compared with its digest before any is given out.
//
// Layout: the eight bytes of `magic`; the length of the header, 32 bits, little-endian; the header, a document with its own
// digest that lists entries and their files; the files' bytes, one after another. What is in it is code: who loads a bundle
// trusts who saved it.
import { readFileSync } from 'node:fs';
import { sha256 } from '@tsinductor/base';
import { decodeDocument, encodeDocument } from './document.ts';
import { isFileRecord } from './entry.ts';
import type { Artifact, EntryInfo, FileRecord } from './entry.ts';
import { badBundle } from './errors.ts';
import { cacheFormat, isKey } from './key.ts';

/** An entry in a bundle: what `ArtifactStore.put` takes. */
export interface BundledEntry {
  readonly key: string;
  readonly info: EntryInfo;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

interface Header {
  readonly format: number;
  readonly entries: readonly {
    readonly key: string;
    readonly info: EntryInfo;
    readonly files: readonly FileRecord[];
  }[];
}

const magic = Buffer.from('TSIBUNDL');
const prefixBytes = magic.length + 4;

/**
 * `others` are in no cache. Throws what reading a file throws, if an entry goes meanwhile, and InternalError CACHE_BUNDLE if it was
 * changed.
 */
export function packBundle(artifacts: readonly Artifact[], others: readonly BundledEntry[] = []): Uint8Array {
  const blobs: Uint8Array[] = [];
  const stored = artifacts.map(({ key, paths, manifest: { files, inputs, versions, data } }) => {
    for (const { name, sha256: expected } of files) {
      const bytes = readFileSync(paths[name] ?? name);
      if (sha256(bytes) !== expected) throw badBundle(`${name} of entry ${key} was changed while it was saved`);
      blobs.push(bytes);
    }
    return { key, info: { inputs, versions, data }, files };
  });
  const added = others.map(({ key, info, files }) => {
    blobs.push(...Object.values(files));
    const records = Object.entries(files).map(([name, bytes]) => ({
      name,
      bytes: bytes.length,
      sha256: sha256(bytes),
    }));
    return { key, info, files: records };
  });
  const entries = [...stored, ...added];
  const header = encodeDocument({ format: cacheFormat, entries } satisfies Header);
  const prefix = Buffer.alloc(prefixBytes);
  magic.copy(prefix);
  prefix.writeUInt32LE(header.length, magic.length);
  return new Uint8Array(Buffer.concat([prefix, header, ...blobs]));
}

/** The entries in a bundle. Throws UserError CACHE_BUNDLE for bytes that are not exactly what `packBundle` gave. */
export function unpackBundle(bundle: Uint8Array): readonly BundledEntry[] {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength);
  if (bytes.length < prefixBytes || !bytes.subarray(0, magic.length).equals(magic))
    throw badBundle('these bytes are no saved artifacts');
  const start = prefixBytes + bytes.readUInt32LE(magic.length);
  const header = decodeDocument(bytes.subarray(prefixBytes, start));
  if (!isHeader(header)) throw badBundle('its list of entries is not what was written');
  if (header.format !== cacheFormat)
    throw badBundle(`it has format ${String(header.format)}, and this version reads ${String(cacheFormat)}`);
  let position = start;
  const entries = header.entries.map(({ key, info, files }) => {
    const contents = files.map((file) => {
      const content = bytes.subarray(position, position + file.bytes);
      if (content.length !== file.bytes || sha256(content) !== file.sha256)
        throw badBundle(`${file.name} of entry ${key} is not what was written`);
      position += file.bytes;
      return [file.name, content] as const;
    });
    return { key, info, files: Object.fromEntries(contents) };
  });
  if (position !== bytes.length) throw badBundle('there are bytes after its last entry');
  return entries;
}

function isHeader(value: unknown): value is Header {
  if (typeof value !== 'object' || value === null) return false;
  const { format, entries } = value as Partial<Record<keyof Header, unknown>>;
  return typeof format === 'number' && Array.isArray(entries) && entries.every(isEntry);
}

function isEntry(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { key, info, files } = value as Partial<Record<keyof Header['entries'][number], unknown>>;
  const isKnown = typeof key === 'string' && isKey(key) && typeof info === 'object' && info !== null;
  return isKnown && Array.isArray(files) && files.every(isFileRecord);
}
