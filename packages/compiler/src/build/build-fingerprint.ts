// Which build of the compiler this is. Bundling writes in a digest of what the compiler and the packages below it were
// built to (`tools/bundle.mjs`), so that a graph which another build compiled, and may have compiled to other code, is not
// taken from the cache. Sources that run as they are have no digest: who changes them keeps no cache.
declare const TSINDUCTOR_BUILD: string | undefined;

/** Whether this is a text that users run, and not a module of a workspace. */
export const isBundled: boolean = typeof TSINDUCTOR_BUILD === 'string';

export const buildFingerprint: string = typeof TSINDUCTOR_BUILD === 'string' ? TSINDUCTOR_BUILD : 'sources';
