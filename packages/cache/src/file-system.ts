// The file operations of this package, as one value: so that a test can make each of them fail in turn. The members are
// those of node:fs.
import * as nodeFs from 'node:fs';

export type FileSystem = Pick<
  typeof nodeFs,
  | 'accessSync'
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

/** Reads a regular file of the caller's own; never through a symbolic link. */
export function readOwnFile(fs: FileSystem, path: string): { bytes: Buffer; identity: string } {
  const descriptor = fs.openSync(path, nodeFs.constants.O_RDONLY | nodeFs.constants.O_NOFOLLOW);
  try {
    const status = fs.fstatSync(descriptor, { bigint: true });
    return { bytes: fs.readFileSync(descriptor), identity: identityOf(status) };
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Changes whenever the file is replaced, written to, or handed to someone else. */
export const identityOf = (status: nodeFs.BigIntStats): string =>
  [status.dev, status.ino, status.size, status.ctimeNs, status.mtimeNs, status.mode, status.uid].join(' ');
