// The public API of @tsinductor/codegen-cpp: re-exports only.
export { bindSchedule, generateBatch, generateCpp } from './generate.ts';
export type { CppBatch, CppProgram, KernelInfo } from './generate.ts';
export { layoutConstants } from './layout.ts';
export type { ConstantsLayout } from './layout.ts';
export type { CpuTarget, Isa } from './target.ts';
export type { CppUnit } from './units.ts';
