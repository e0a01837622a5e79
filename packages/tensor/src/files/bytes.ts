// Bytes of files: copies that are aligned for typed arrays, byte order, and reading and writing whole files.
import { readFile, writeFile } from 'node:fs/promises';
import { types } from 'node:util';
import { badArgument, describe, fileAccess } from '../errors.ts';

/** Throws for what a caller gave that is no file's bytes. */
export function checkBytes(where: string, file: unknown): void {
  if (types.isUint8Array(file)) return;
  throw badArgument(where, `the file is ${describe(file)}`, 'give it the bytes of the file, as a Uint8Array');
}

/** Bytes from `start` on in a buffer of their own. */
export const copyOfBytes = (bytes: Uint8Array, start: number, length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(bytes.subarray(start, start + length));

/** Reverses the bytes of every element of `size` bytes. */
export function swapBytes(bytes: Uint8Array, size: number): void {
  for (let start = 0; size > 1 && start < bytes.length; start += size) bytes.subarray(start, start + size).reverse();
}

export async function readBytes(path: string | URL): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw fileAccess(String(path), cause);
  }
}

export async function writeBytes(path: string | URL, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, bytes);
  } catch (cause) {
    throw fileAccess(String(path), cause);
  }
}
