// Every error of this package, as a named constructor. Reading never throws: what cannot be read is a miss, reported as
// an event. Only writing, and wrong arguments, do.
import { InternalError, ToolchainError, UserError } from '@tsinductor/base';

export const badKey = (key: string): InternalError =>
  new InternalError('CACHE_KEY', `not a cache key: ${JSON.stringify(key.slice(0, 100))}`, {
    hint: 'keys are 16 to 128 lower-case hex digits: make them with cacheKey()',
  });

export const badFileName = (name: string): InternalError =>
  new InternalError('CACHE_FILE_NAME', `not a name for a file of an entry: ${JSON.stringify(name.slice(0, 100))}`, {
    hint: 'use up to 100 letters, digits, dots, dashes and underscores, and neither a leading dot nor manifest.json',
  });

export const badNamespace = (name: string): InternalError =>
  new InternalError('CACHE_NAMESPACE', `not a cache namespace: ${JSON.stringify(name.slice(0, 100))}`, {
    hint: 'use up to 32 lower-case letters, digits and dashes, beginning with a letter',
  });

export const writeFailed = (what: string, cause: unknown): ToolchainError =>
  new ToolchainError('CACHE_WRITE_FAILED', `cannot write ${what} to the cache: ${String(cause)}`, {
    hint: 'check the free space and the permissions of the cache directory, or name another one',
    cause,
  });

export const refusedFile = (path: string, reason: string): ToolchainError =>
  new ToolchainError('CACHE_FILE_REFUSED', `${path} is not read: ${reason}`, { hint: 'remove it: it is made anew' });

export const badBundle = (what: string): UserError =>
  new UserError('CACHE_BUNDLE', `cannot use saved artifacts: ${what}`, {
    hint: 'save them again with saveCacheArtifacts(), with the version that loads them',
  });

export const draftIncomplete = (name: string, cause: unknown): InternalError =>
  new InternalError('CACHE_DRAFT', `the build did not leave a regular file ${name}: ${String(cause)}`, {
    hint: 'this is a bug: please report it',
    cause,
  });

export const noPlaceForCache = (reasons: string, cause: unknown): UserError =>
  new UserError('CACHE_NO_PLACE', `no directory can hold the cache: ${reasons}`, {
    hint: 'name a cache directory that you own and can write to',
    cause,
  });
