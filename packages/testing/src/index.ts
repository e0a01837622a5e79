// The public API of @tsinductor/testing: re-exports only.
export { parseIndex } from './parse-index.ts';
export type { Extents } from './parse-index.ts';
