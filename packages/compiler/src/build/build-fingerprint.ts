// Which build of the compiler this is. Bundling writes in a digest of what the compiler and the packages below it were
// built to (`tools/bundle.mjs`), so that a graph which another build compiled, and may have compiled to other code, is not
// taken from the cache. Sources that run as they are have no digest: who changes them keeps no cache.
declare const TSINDUCTOR_BUILD: string | undefined;

export const buildFingerprint: string = typeof TSINDUCTOR_BUILD === 'string' ? TSINDUCTOR_BUILD : 'sources';
