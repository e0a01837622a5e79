// The public API of @tsinductor/codegen-cpp: re-exports only.
export { bindSchedule, generateBatch, generateCpp } from './generate.ts';
export type { CppBatch, CppProgram, KernelInfo } from './generate.ts';
export { kernelStages } from './kernel-stages.ts';
export type { BindOptions } from './strategy/bind-group.ts';
export { layoutConstants } from '@tsinductor/codegen';
export type { ConstantsLayout } from '@tsinductor/codegen';
export { extentOf, lineBytes } from './target.ts';
export type { CpuTarget, Extent, Family, Isa } from './target.ts';
export type { CppUnit } from './units.ts';
export { printedEntry, printLogWords } from './prelude/print-functions.ts';
export type { BindTarget } from './block/binder.ts';
export { generateBlock, generateBlocks } from './block/generate-block.ts';
export type { CppKernel, CppKernels } from './block/generate-block.ts';
