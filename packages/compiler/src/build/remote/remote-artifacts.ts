// Compiled graphs and kernels in the remote cache. In: entries of the cache on disk. Out: entries that another machine has built, as the
// store takes them. Each is a bundle of one entry, whose every byte is compared with its digest, under its own key.
import { isTsInductorError } from '@tsinductor/base';
import { packBundle, unpackBundle } from '@tsinductor/cache';
import type { Artifact, BundledEntry } from '@tsinductor/cache';

export const remoteName = (key: string): string => `fx:${key}`;

/** The entry in a value that was kept under `key`; throws UserError CACHE_BUNDLE for what is none. */
function entryIn(bytes: Uint8Array, key: string): BundledEntry | undefined {
  const [entry, ...others] = unpackBundle(bytes);
  return entry?.key === key && others.length === 0 ? entry : undefined;
}

export const bytesOf = (artifact: Artifact): Uint8Array => packBundle([artifact]);

/** The same, or undefined with a word on why: somebody signed what is no entry. */
export function entryOrWarning(
  bytes: Uint8Array,
  key: string,
  warn: (code: string, message: string) => void,
): BundledEntry | undefined {
  let reason = 'it is of another key';
  try {
    const entry = entryIn(bytes, key);
    if (entry !== undefined) return entry;
  } catch (error) {
    if (!isTsInductorError(error)) throw error;
    reason = error.message;
  }
  warn('REMOTE_CACHE_UNTRUSTED', `${remoteName(key)} of the remote cache is not used: ${reason}`);
  return undefined;
}
