// Reads a small file of ours that anybody may have replaced. In: a path and how large the file may be. Out: its bytes; an error for
// what is no regular file, which might never end (a FIFO, a device), or is larger. It never waits.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { notSmallFile } from './errors.ts';

export function readSmallFile(path: string, mostBytes: number): Buffer {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile() || status.size > mostBytes) throw notSmallFile(path, mostBytes);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
