// The public API of @tsinductor/base: re-exports only.
export { at, get, invariant } from './check.ts';
export { allDTypes, dtypeInfo, isDType, isFloat, isInteger } from './dtype.ts';
export type { DType, DTypeCategory } from './dtype.ts';
export { elementConstructors } from './element-array.ts';
export type { ElementArray } from './element-array.ts';
export { InternalError, isTsInductorError, ToolchainError, TsInductorError, UserError } from './error.ts';
export type { SourceLocation } from './error.ts';
export { sha256, stableHash, stableStringify } from './hash.ts';
export { isIdentifier } from './identifier.ts';
export { Lines } from './lines.ts';
export { nearest } from './nearest.ts';
export { Pipeline } from './pipeline.ts';
export type { Cut, Form, PartedStage, Stage, Watch } from './pipeline.ts';
export { isAbandoned, isOfThisPlace, processTag } from './process-tag.ts';
export { StageTexts, StageTimes, verifying, watchedBy } from './watch-stages.ts';
export type { StageText, StageTime } from './watch-stages.ts';
