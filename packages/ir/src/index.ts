// The public API of @tsinductor/ir: re-exports only.
export type { Axis, Index } from './index-expr.ts';
export type { Body, BufferId, Scalar, ScalarConstant, ScalarId } from './scalar.ts';
export type * from './loop.ts';
export type * from './schedule.ts';
export { add, axisIndex, indirect, int, multiply, negate, product, sizeSymbol } from './arithmetic/polynomial.ts';
export { subtract, sum } from './arithmetic/polynomial.ts';
export { ceilDivide, floorDivide, modulo } from './arithmetic/divide.ts';
export { maximum, minimum } from './arithmetic/extremum.ts';
export { equal } from './arithmetic/order.ts';
export { boundsOf, isAtMost, rangeOf } from './arithmetic/range.ts';
export { axesOf, constantValue, divisorsOf, freeAxes, freeIndirects, freeSizes } from './arithmetic/query.ts';
export { hasIndirects, indexOperands, isSubtracted } from './arithmetic/query.ts';
export * from './arithmetic/linear-form.ts';
export { substitute } from './arithmetic/substitute.ts';
export { evaluateIndex } from './arithmetic/evaluate.ts';
export { printIndex } from './print/print-index.ts';
export { BodyBuilder } from './body/body-builder.ts';
export * from './body/constant.ts';
export { badValues, checkFailed, isCheckFailure } from './errors.ts';
export { type Replay, replayBody, substituteAxes } from './body/replay-body.ts';
export { expandNode, mapNodeBodies, mapSortPlaces, replaceAxis } from './body/map-node.ts';
export * from './body/inline-load.ts';
export { countOperations, liveNodes, type Load, loadsOf, scalarOperands } from './body/traverse-body.ts';
export { bufferNames, printProgram } from './print/print-program.ts';
export { printDecision, printGroup, printSchedule } from './print/print-schedule.ts';
export { decideBounds } from './rules/decide-bounds.ts';
export { withoutUnreadZeros } from './rules/unread-zeros.ts';
export { bodiesOf, elementsOf, sortOperands, verifyProgram } from './verify/verify-program.ts';
export { cannotOverwrite, type CopiedPart, copiedPart, writtenPart } from './verify/overwrite.ts';
export { withoutUnreadOuts } from './verify/unread-outs.ts';
export { withoutCopies } from './verify/without-copies.ts';
export { verifySchedule } from './verify/verify-schedule.ts';
export { interpretSchedule } from './interpret/interpret-schedule.ts';
export { laneCount } from './interpret/run-reduce.ts';
export {
  interpretProgram,
  type LoopExecutor,
  ProgramInterpreter,
  type ProgramMemory,
  type TemporaryMemory,
} from './interpret/interpret-program.ts';
export { type CompileNode, type Execution, interpretNode, type RunNode } from './interpret/run-node.ts';
export { allocateElements, type ElementArray } from './interpret/element-array.ts';
export type * from './kernel/kernel.ts';
export { clockBytes, type ClockField, clockFields } from './kernel/kernel-clock.ts';
export type { TargetOpName } from './kernel/target-ops.ts';
export { type KernelChange, mapKernel, mapValue } from './kernel/map-kernel.ts';
export * from './kernel/traverse-kernel.ts';
export { indexLimits, largestIndex } from './kernel/index-limits.ts';
export { interpretKernel } from './kernel/interpret-launch.ts';
export type { KernelMemory } from './kernel/kernel-run.ts';
export { printKernelIr } from './kernel/print-kernel-ir.ts';
export { removeDeadLets } from './kernel/remove-dead-lets.ts';
export { verifyKernel, warpThreads } from './kernel/verify-kernel.ts';
export type * from './block/block.ts';
export { assertionFailed } from './block/block-errors.ts';
export { bareLine, elementLine } from './block/printed-line.ts';
export { printedDigits } from './print/print-scalar.ts';
export { printBlockProgram, printTileType } from './block/print-block.ts';
export * from './block/tile-ops.ts';
export * from './block/traverse-block.ts';
export { verifyBlockProgram } from './block/verify-block.ts';
export * from './block/interpret-block.ts';
export * from './block/block-memory.ts';
