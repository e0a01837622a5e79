// The public API of @tsinductor/lowering: re-exports only.
export { lowerGraph } from './lower.ts';
export type { LoweringOptions } from './lowering.ts';
