// The public API of @tsinductor/lowering: re-exports only.
export { lowerGraph } from './lower.ts';
