// The file operations of this package, as one value: so that a test can make each of them fail in turn. The members are
// those of node:fs.
import * as nodeFs from 'node:fs';
import { isTsInductorError } from '@tsinductor/base';
import { refusedFile } from './errors.ts';

export type FileSystem = Pick<
  typeof nodeFs,
  | 'accessSync'
  | 'appendFileSync'
  | 'chmodSync'
  | 'closeSync'
  | 'fstatSync'
  | 'fsyncSync'
  | 'lstatSync'
  | 'mkdirSync'
  | 'mkdtempSync'
  | 'openSync'
  | 'readdirSync'
  | 'readFileSync'
  | 'realpathSync'
  | 'renameSync'
  | 'rmSync'
  | 'writeFileSync'
  // The ones that the lock needs.
  | 'mkdir'
  | 'realpath'
  | 'rmdir'
  | 'rmdirSync'
  | 'stat'
  | 'statSync'
  | 'utimes'
  | 'utimesSync'
>;

/** The real one. A fresh object each time, because the locking library keeps notes on it. */
export const nodeFileSystem = (): FileSystem => ({ ...nodeFs });

/** Removes a file or directory as far as that is possible: nothing depends on its being gone. */
export function removeQuietly(fs: FileSystem, path: string): void {
  try {
    fs.rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays, and `prune` comes back to it.
  }
}

/** Makes a file's or directory's content durable. */
export function syncPath(fs: FileSystem, path: string): void {
  const descriptor = fs.openSync(path, nodeFs.constants.O_RDONLY | nodeFs.constants.O_NOFOLLOW);
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * Reads a regular file of at most so many bytes; never through a symbolic link. It never waits: what might have no end, or is larger,
 * is refused unread, with the code of an operation that a file of this kind does not have.
 */
export function readOwnFile(fs: FileSystem, path: string, mostBytes: number): { bytes: Buffer; identity: string } {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = nodeFs.constants;
  const descriptor = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fs.fstatSync(descriptor, { bigint: true });
    if (!status.isFile()) throw refusedFile(path, 'it is no regular file');
    if (status.size > mostBytes)
      throw refusedFile(path, `it has ${String(status.size)} bytes, and may have ${String(mostBytes)}`);
    return { bytes: fs.readFileSync(descriptor), identity: identityOf(status) };
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Does something with files; where that fails, once more: much of what fails is gone a moment later. */
export function twice<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (isTsInductorError(error)) throw error;
    return action();
  }
}

/** Changes whenever the file is replaced, written to, or handed to someone else. */
export const identityOf = (status: nodeFs.BigIntStats): string =>
  [status.dev, status.ino, status.size, status.ctimeNs, status.mtimeNs, status.mode, status.uid].join(' ');
