// A directory that only this user can have written to. What is cached is code that will run in this process, so whoever
// can write to the cache can run code as us: the permissions are the real boundary, digests only detect damage.
//
// In: the wanted root. Out: that root, made and checked; or a private temporary directory and the reason. The rules: the
// root is a directory and no symbolic link, ours, and closed to others; everything above it belongs to us or to the
// system's root, and is writable to nobody else, unless sticky (as /tmp is). A root that cannot be written, but that only we or the
// system's root can have written, is read beside the temporary one: an image that was warmed up, a mount that is read-only.
import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isAbandoned, processTag } from '@tsinductor/base';
import { noPlaceForCache } from './errors.ts';
import { errorCode } from './events.ts';
import type { Report } from './events.ts';
import { nodeFileSystem, readOwnFile, removeQuietly } from './file-system.ts';
import type { FileSystem } from './file-system.ts';
import { namesIn } from './leftovers.ts';

interface RootOptions {
  readonly root: string;
  /** Directories below the root, outer ones first, that must be ours as well. */
  readonly below: readonly string[];
  /** Where a private directory is made if the root is unusable. */
  readonly temporaryDirectory: string;
  readonly fs: FileSystem;
  readonly report: Report;
}

export interface OpenedRoot {
  readonly root: string;
  /** Whether it is a private directory that should be removed in the end. */
  readonly temporary: boolean;
  /** The configured root, where it cannot be written and what is in it can be trusted. */
  readonly readable?: string;
}

const writableToOthers = 0o022;
const openToOthers = 0o077;
const sticky = 0o1000;

const temporaryPrefix = 'tsinductor-';

/** The root to use. Throws only where no private directory can be made either. */
export function openRoot(options: RootOptions): OpenedRoot {
  const { root, report } = options;
  // Twice, for what the system could not do a moment ago.
  const first = attempt(() => prepare(options, root));
  const reason = first === undefined ? undefined : attempt(() => prepare(options, root));
  if (reason === undefined) return { root: resolve(root), temporary: false };
  const readable = attempt(() => whyNotReadable(options, root)) === undefined ? resolve(root) : undefined;
  const fallback = openTemporary(options, reason);
  const use = readable === undefined ? 'is not used' : 'is only read';
  report({
    kind: 'fallback',
    root: fallback,
    message: `the cache directory ${root} ${use}: ${reason}; using ${fallback} for this process; to keep what is compiled, name a directory of your own that can be written in TORCHINDUCTOR_CACHE_DIR`,
  });
  return { root: fallback, temporary: true, ...(readable === undefined ? {} : { readable }) };
}

function openTemporary(options: RootOptions, reason: string): string {
  const { fs, temporaryDirectory } = options;
  removeAbandoned(fs, temporaryDirectory);
  const failures: unknown[] = [];
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      const fallback = fs.mkdtempSync(join(temporaryDirectory, temporaryPrefix + processTag()));
      const unfit = attempt(() => prepare(options, fallback));
      if (unfit === undefined) return fallback;
      failures.push(unfit);
    } catch (cause) {
      failures.push(cause);
    }
  }
  throw noPlaceForCache(`${reason}; and no temporary one: ${failures.map(String).join('; ')}`, failures.at(-1));
}

/** Removes temporary roots of processes that were killed. */
function removeAbandoned(fs: FileSystem, directory: string): void {
  const left = namesIn(fs, directory).filter((name) => name.startsWith(temporaryPrefix) && isAbandoned(name));
  for (const name of left) removeQuietly(fs, join(directory, name));
}

/** Why what is in a root that cannot be written is not to be trusted. */
function whyNotReadable({ fs, below }: RootOptions, root: string): string | undefined {
  if (!isAbsolute(root) || root.includes('\0')) return 'it is not an absolute path';
  const above = checkAncestors(fs, dirname(resolve(root)));
  if (above !== undefined) return above;
  for (const path of [root, ...below.slice(0, 1).map((name) => join(root, name))]) {
    const status = fs.lstatSync(path);
    if (!status.isDirectory()) return `${path} is no directory`;
    if (!isOurs(status) && status.uid !== 0) return `${path} belongs to another user`;
    if ((status.mode & writableToOthers) !== 0) return `${path} is writable to others`;
    fs.accessSync(path, constants.R_OK | constants.X_OK);
  }
  return undefined;
}

/** Makes a directory in the cache's root and checks both; says why they cannot be trusted, if so. */
export const checkedDirectory = (directory: string): string | undefined =>
  prepare({ fs: nodeFileSystem(), below: [basename(directory)] }, dirname(directory));

/** The bytes of a file in such a directory: without waiting, and an error where it is no regular file, or a larger one. */
export const readCached = (path: string, mostBytes: number): Buffer =>
  readOwnFile(nodeFileSystem(), path, mostBytes).bytes;

function attempt(action: () => string | undefined): string | undefined {
  try {
    return action();
  } catch (error) {
    return String(error);
  }
}

/** Makes the root and what is wanted below it, or says why they cannot be trusted. */
function prepare({ fs, below }: Pick<RootOptions, 'fs' | 'below'>, root: string): string | undefined {
  if (!isAbsolute(root) || root.includes('\0')) return `${JSON.stringify(root)} is not an absolute path`;
  const above = checkAncestors(fs, dirname(resolve(root)));
  if (above !== undefined) return above;
  for (const path of [root, ...below.map((name) => join(root, name))]) {
    const reason = prepareOwnDirectory(fs, path);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Makes one directory of our own, or says why the one that is there cannot be trusted. */
function prepareOwnDirectory(fs: FileSystem, path: string): string | undefined {
  makeDirectories(fs, path);
  const status = fs.lstatSync(path);
  if (!status.isDirectory()) return `${path} is a symbolic link`;
  if (!isOurs(status)) return `${path} belongs to another user`;
  if ((status.mode & writableToOthers) !== 0) return `${path} is writable to others`;
  if ((status.mode & openToOthers) !== 0) fs.chmodSync(path, 0o700);
  fs.accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  return undefined;
}

/**
 * Makes a directory and those above it, one by one: Node's own recursive form never ends where a file system says ENOENT
 * although the parent is there, as /proc does.
 */
function makeDirectories(fs: FileSystem, path: string): void {
  if (exists(fs, path)) return;
  if (dirname(path) !== path) makeDirectories(fs, dirname(path));
  try {
    fs.mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error; // another process made it meanwhile
  }
}

function exists(fs: FileSystem, path: string): boolean {
  try {
    fs.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

const isOurs = (status: Stats): boolean => process.geteuid === undefined || status.uid === process.geteuid();

/** Checks what exists of a path, from its nearest existing directory up. */
function checkAncestors(fs: FileSystem, path: string): string | undefined {
  const existing = nearestExisting(fs, path);
  for (let current = fs.realpathSync(existing); ; current = dirname(current)) {
    const status = fs.lstatSync(current);
    if (!status.isDirectory()) return `${current} is not a directory`;
    if (!isOurs(status) && status.uid !== 0) return `${current} belongs to another user`;
    const shared = (status.mode & writableToOthers) !== 0 && (status.mode & sticky) === 0;
    if (shared) return `${current} is writable to others`;
    if (current === dirname(current)) return undefined;
  }
}

function nearestExisting(fs: FileSystem, path: string): string {
  for (let current = path; ; current = dirname(current)) {
    try {
      fs.lstatSync(current);
      return current;
    } catch (error) {
      if (current === dirname(current)) throw error;
    }
  }
}
