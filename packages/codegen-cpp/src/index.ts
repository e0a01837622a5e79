// The public API of @tsinductor/codegen-cpp: re-exports only.
export { bindSchedule, generateBatch, generateCpp } from './generate.ts';
export type { CppBatch, CppProgram } from './generate.ts';
export { bindingFor, kernelStages } from './kernel-stages.ts';
export type { BindOptions } from './kernel-stages.ts';
export type { ConstantsLayout } from '@tsinductor/codegen';
export { choiceTable, extentOf } from './machine/choices.ts';
export type { Choices, Extent } from './machine/choices.ts';
export { lineBytes, mostLastLevel, standardCaches, standardFirstLevel, standardSecondLevel } from './machine/facts.ts';
export type { CacheSizes, Family } from './machine/facts.ts';
export { keptPanels } from './machine/panels.ts';
export type { CpuTarget } from './machine/target.ts';
export { trafficRules } from './strategy/traffic/rules.ts';
export { printedEntry, printLogWords } from './prelude/print-functions.ts';
export { areChecksCheap } from './block/check-cost.ts';
export { placesFollowFromData } from './block/data-places.ts';
export { generateBlock, generateBlocks } from './block/generate-block.ts';
export type { CppKernel } from './block/generate-block.ts';
