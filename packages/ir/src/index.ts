// The public API of @tsinductor/ir: re-exports only.
export type { Axis, Index, IndexRange } from './index-expr.ts';
export type { Body, BufferId, Scalar, ScalarConstant, ScalarId } from './scalar.ts';
export type * from './loop.ts';
export type * from './schedule.ts';
export {
  add,
  axisIndex,
  indirect,
  int,
  multiply,
  negate,
  product,
  sizeSymbol,
  subtract,
  sum,
} from './arithmetic/polynomial.ts';
export { ceilDivide, floorDivide, modulo } from './arithmetic/divide.ts';
export { maximum, minimum } from './arithmetic/extremum.ts';
export { compareIndex, equal } from './arithmetic/order.ts';
export { isAtMost, isWithin, rangeOf } from './arithmetic/range.ts';
export {
  axesOf,
  coefficientOf,
  constantValue,
  freeAxes,
  freeIndirects,
  freeSizes,
  indexOperands,
} from './arithmetic/query.ts';
export { substitute, substituteAxis } from './arithmetic/substitute.ts';
export type { MapIndirect } from './arithmetic/substitute.ts';
export { compileIndex, evaluateIndex } from './arithmetic/evaluate.ts';
export type { CompiledIndex, CompileOptions, IndexEnvironment } from './arithmetic/evaluate.ts';
export { printIndex } from './print/print-index.ts';
export { BodyBuilder } from './body/body-builder.ts';
export type { BuilderOptions, Masking, TermBindings } from './body/body-builder.ts';
export { constantToValue, toConstant } from './body/constant.ts';
export type { ConstantLike } from './body/constant.ts';
export { expandDecompositions, mapBody, removeDead, replayBody, substituteAxes } from './body/replay-body.ts';
export type { Replay, Replayed } from './body/replay-body.ts';
export { expandNode, mapNodeBodies } from './body/map-node.ts';
export { inlineLoad, inlineOne, producingPoint } from './body/inline-load.ts';
export type { Producer } from './body/inline-load.ts';
export { countOperations, liveNodes, loadsOf, scalarIndexes, scalarOperands } from './body/traverse-body.ts';
export type { Load } from './body/traverse-body.ts';
export { printBody, printConstant } from './print/print-body.ts';
export type { BodyNames } from './print/print-body.ts';
export { bufferNames, printLoopNode, printProgram } from './print/print-program.ts';
export { printDecision, printGroup, printSchedule } from './print/print-schedule.ts';
export { verifyBody } from './verify/verify-body.ts';
export { bodiesOf, readsOf, verifyProgram } from './verify/verify-program.ts';
export { verifySchedule } from './verify/verify-schedule.ts';
export { interpretSchedule } from './interpret/interpret-schedule.ts';
export { bufferOf, interpretProgram, ProgramInterpreter } from './interpret/interpret-program.ts';
export type { ProgramMemory } from './interpret/interpret-program.ts';
export { allocateElements } from './interpret/element-array.ts';
export type { ElementArray } from './interpret/element-array.ts';
export type * from './kernel/kernel.ts';
export * from './kernel/traverse-kernel.ts';
export { interpretKernel } from './kernel/interpret-kernel.ts';
export type { KernelMemory, KernelRun } from './kernel/interpret-kernel.ts';
export { printKernelIr, printKernelValue, printValueType } from './kernel/print-kernel-ir.ts';
export { removeDeadLets } from './kernel/remove-dead-lets.ts';
export { verifyKernel } from './kernel/verify-kernel.ts';
