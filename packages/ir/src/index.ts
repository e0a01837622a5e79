// The public API of @tsinductor/ir: re-exports only.
export type { Axis, Index, IndexRange } from './index-expr.ts';
export type { Body, BufferId, Scalar, ScalarConstant, ScalarId } from './scalar.ts';
export type * from './loop.ts';
export type * from './schedule.ts';
export { add, axisIndex, indirect, int, multiply, negate, product, sizeSymbol, subtract, sum } from './arithmetic/polynomial.ts';
export { ceilDivide, floorDivide, modulo } from './arithmetic/divide.ts';
export { maximum, minimum } from './arithmetic/extremum.ts';
export { compareIndex, equal } from './arithmetic/order.ts';
export { isAtMost, isWithin, rangeOf } from './arithmetic/range.ts';
export { axesOf, coefficientOf, constantValue, freeAxes, freeIndirects, freeSizes, indexOperands } from './arithmetic/query.ts';
export { substitute, substituteAxis } from './arithmetic/substitute.ts';
export type { MapIndirect } from './arithmetic/substitute.ts';
export { compileIndex, evaluateIndex } from './arithmetic/evaluate.ts';
export type { CompiledIndex, CompileOptions, IndexEnvironment } from './arithmetic/evaluate.ts';
export { printIndex } from './print/print-index.ts';
export type * from './kernel/kernel.ts';
export * from './kernel/traverse-kernel.ts';
