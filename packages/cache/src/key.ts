// Names on disk. In: what a result depends on, or a name from a caller. Out: digests, and checked names: nothing else ever
// becomes part of a path.
import { stableHash } from '@tsinductor/base';
import { badFileName, badKey, badNamespace } from './errors.ts';

/** Where compiled graphs are kept: the compiler writes there, and the command line lists it. */
export const graphNamespace: string = 'fx';

/** Where measurements are kept. */
export const recordNamespace = 'autotune';

/** Counts up when the layout of entries changes, so that old ones are misses. */
export const cacheFormat = 1;

/** The key of a result: a digest of everything it depends on, by name, whatever the order of the names. */
export const cacheKey = (parts: Readonly<Record<string, unknown>>): string =>
  stableHash({ format: cacheFormat, parts });

const keyPattern = /^[0-9a-f]{16,128}$/;
const fileNamePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const namespacePattern = /^[a-z][a-z0-9-]{0,31}$/;

export const manifestName = 'manifest.json';

export const isKey = (name: string): boolean => keyPattern.test(name);

export function checkKey(key: string): void {
  if (!isKey(key)) throw badKey(key);
}

export const isFileName = (name: unknown): name is string =>
  typeof name === 'string' && fileNamePattern.test(name) && name !== manifestName;

export function checkFileName(name: string): void {
  if (!isFileName(name)) throw badFileName(name);
}

export function checkNamespace(name: string): void {
  if (!namespacePattern.test(name)) throw badNamespace(name);
}
