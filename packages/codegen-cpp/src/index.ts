// The public API of @tsinductor/codegen-cpp: re-exports only.
export { bindSchedule, generateBatch, generateCpp } from './generate.ts';
export type { CppBatch, CppProgram, KernelInfo } from './generate.ts';
export { layoutConstants } from '@tsinductor/codegen';
export type { ConstantsLayout } from '@tsinductor/codegen';
export { choiceTable, extentOf } from './machine/choices.ts';
export type { Choices, Extent } from './machine/choices.ts';
export type { Choice } from './machine/choice.ts';
export { lineBytes, mostLastLevel, standardCaches } from './machine/facts.ts';
export type { CacheSizes, Family } from './machine/facts.ts';
export type { Isa } from './machine/isa.ts';
export type { CpuTarget } from './machine/target.ts';
export { trafficRules } from './strategy/traffic/rules.ts';
export type { TrafficRuleName } from './strategy/traffic/rule.ts';
export type { CppUnit } from './units.ts';
export { printedEntry, printLogWords } from './prelude/print-functions.ts';
export type { BindTarget } from './block/binder.ts';
export { generateBlock, generateBlocks } from './block/generate-block.ts';
export type { CppKernel, CppKernels } from './block/generate-block.ts';
