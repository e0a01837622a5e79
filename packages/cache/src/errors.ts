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

export const badSigningKey = (path: string, reason: string, cause?: unknown): UserError =>
  new UserError('REMOTE_KEY', `${path} cannot be used as a key of the remote cache: ${reason}`, {
    hint: 'make a pair with `tsinductor cache key FILE`, and name the files in remoteCacheKey and remoteCacheTrust',
    cause,
  });

export const remoteAway = (place: string, reason: string, cause?: unknown): ToolchainError =>
  new ToolchainError('REMOTE_CACHE_AWAY', `the remote cache at ${place} is not used: ${reason}`, {
    hint: 'see whether a Redis server answers there, and has memory left; without it everything is built here',
    cause,
  });

export const remoteUntrusted = (name: string, reason: string): ToolchainError =>
  new ToolchainError('REMOTE_CACHE_UNTRUSTED', `${name} of the remote cache is not used: ${reason}`, {
    hint: 'see who can write to the server; the public keys of those who may are listed in remoteCacheTrust',
  });

export const remotePackageMissing = (cause: unknown): ToolchainError =>
  new ToolchainError('REMOTE_CACHE_PACKAGE', 'the remote cache needs the package ioredis, which is not installed', {
    hint: 'run `npm install ioredis` in the project',
    cause,
  });

export const farmPackageMissing = (cause: unknown): ToolchainError =>
  new ToolchainError('FARM_PACKAGE', 'a queue of builds needs the package bullmq, which is not installed', {
    hint: 'run `npm install bullmq ioredis` in the project',
    cause,
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
