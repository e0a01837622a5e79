// The public API of @tsinductor/testing: re-exports only. What reads sources is apart (`render-errors`,
// `module-state`), because it loads the TypeScript compiler.
export { parseIndex } from './parse-index.ts';
export type { Extents } from './parse-index.ts';
