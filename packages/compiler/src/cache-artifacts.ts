// What was compiled, taken from one machine to another: the cache entries that this process has used, as bytes, and back.
import { types } from 'node:util';
import type { SavedArtifacts } from './build/artifacts.ts';
import type { SavedArtifact } from './build/saved-entries.ts';
import { defaultSession } from './default-compiler.ts';
import { badBundleValue } from './errors.ts';

/**
 * Everything that was compiled or found in the cache since the process began (or since `reset` or `setConfig`), as bytes: native
 * code of functions and hand-written kernels, with their plans, and what running it needs beside it. Keep them in an image or an object
 * store, and give them to `loadCacheArtifacts` where they are to be used. They fit machines with the same processor and number of
 * threads, the same Node and the same compiler, or none: what is in them runs without one. Elsewhere they are of no use, but no harm.
 *
 * @returns The bytes, and which entries are in them; undefined if nothing was compiled, as without a compiler or with
 *   `forceDisableCaches`. What `options` of single functions put into caches of their own is not among them.
 * @example
 * await model.warmup(example);
 * const saved = saveCacheArtifacts();
 * if (saved !== undefined) writeFileSync('model.cache', saved.bytes);
 * @see torch.compiler.save_cache_artifacts
 */
export const saveCacheArtifacts = (): SavedArtifacts | undefined => defaultSession().builder.saveArtifacts();

/**
 * Puts what `saveCacheArtifacts` gave into the cache, so that the first calls of the functions start without compiling. Every byte
 * is compared with its digest first. The bytes are code that will run: load only what you would run.
 *
 * @returns The entries that are in the cache now.
 * @throws UserError CACHE_BUNDLE_VALUE for what is no Uint8Array; CACHE_BUNDLE for bytes that are damaged or of another version
 *   (then none is loaded); ToolchainError CACHE_WRITE_FAILED where the cache cannot be written to
 * @example loadCacheArtifacts(readFileSync('model.cache'));
 * @see torch.compiler.load_cache_artifacts
 */
export function loadCacheArtifacts(bytes: Uint8Array): readonly SavedArtifact[] {
  if (!types.isUint8Array(bytes)) throw badBundleValue(bytes);
  return defaultSession().builder.loadArtifacts(bytes);
}
