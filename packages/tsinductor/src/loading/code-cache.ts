// What V8 makes of the texts, kept in the cache folder of the user's machine from one process to the next: parsing and compiling
// is most of what importing costs. In: a text's file. Out: code that V8 takes instead of compiling the text, if there is some.
//
// A file is named by all that its code depends on: the text and where it lies (V8 keeps the script's name in the code, and stack
// frames show it), version and flags of V8. Its bytes are compared with the digest before them, and its directory has to be the
// user's own, as all of the cache. V8 compiles a text whose code it refuses: what runs is the same, and only the time differs.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cachedDataVersionTag } from 'node:v8';
import type { Script } from 'node:vm';
import { checkedDirectory, readCached } from '@tsinductor/cache';

/** A text as it was compiled, whose code is to be kept. */
export interface CompiledText {
  readonly script: Script;
  /** Where its code is kept. */
  readonly file: string;
}

/** How many files stay: those of some versions of Node and of this package. */
const mostFiles = 24;
const digestBytes = 32;
/** More is no code of ours, and not read. */
const mostBytes = 64 << 20;

/** Where the code of a text is kept in `directory`. `digest` is the text's own, by the build; its times tell later changes. */
export function codeFile(directory: string, filename: string, digest: string): string {
  const { size, mtimeMs } = statSync(filename);
  const parts = [filename, digest, size, mtimeMs, process.version, process.arch, cachedDataVersionTag()];
  const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return join(directory, `${basename(filename, '.cjs')}-${key.slice(0, 24)}.bin`);
}

/** The code in a file that nobody else can have written and that is whole. */
export function readCode(file: string): Buffer | undefined {
  try {
    if (!existsSync(file) || checkedDirectory(dirname(file)) !== undefined) return undefined;
    const bytes = readCached(file, mostBytes);
    const code = bytes.subarray(digestBytes);
    return bytes.length > digestBytes && digestOf(code).equals(bytes.subarray(0, digestBytes)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the code of what has run of these texts. Nothing depends on it, so what cannot be written is left. */
export function keepCode(texts: readonly CompiledText[]): void {
  for (const { script, file } of texts) {
    const staged = `${file}.${String(process.pid)}`;
    try {
      if (checkedDirectory(dirname(file)) !== undefined) return;
      const code = script.createCachedData();
      writeFileSync(staged, Buffer.concat([digestOf(code), code]), { mode: 0o600, flag: 'wx' });
      renameSync(staged, file);
      removeOldest(dirname(file));
    } catch {
      removeQuietly(staged);
    }
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It stays: this is the end of a process that has answered.
  }
}

const digestOf = (code: Buffer): Buffer => createHash('sha256').update(code).digest();

function removeOldest(directory: string): void {
  const files = readdirSync(directory).map((name) => join(directory, name));
  if (files.length <= mostFiles) return;
  const byAge = files.map((file) => ({ file, time: statSync(file).mtimeMs })).sort((a, b) => b.time - a.time);
  for (const { file } of byAge.slice(mostFiles)) removeQuietly(file);
}
