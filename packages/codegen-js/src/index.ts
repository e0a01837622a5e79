// The public API of @tsinductor/codegen-js: re-exports only.
export { type Generated, LoopCompiler } from './loop-compiler.ts';
