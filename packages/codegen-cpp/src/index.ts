// The public API of @tsinductor/codegen-cpp: re-exports only.
export { bindSchedule, generateBatch, generateCpp } from './generate.ts';
export type { CppBatch, CppProgram } from './generate.ts';
export type { ConstantsLayout } from '@tsinductor/codegen';
export { extentOf, lineBytes } from './target.ts';
export type { CpuTarget, Extent, Family } from './target.ts';
export { printedEntry, printLogWords } from './prelude/print-functions.ts';
export { generateBlock, generateBlocks } from './block/generate-block.ts';
export type { CppKernel } from './block/generate-block.ts';
