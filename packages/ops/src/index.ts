// The public API of @tsinductor/ops: re-exports only.
export * from './pointwise/activation.ts';
export * from './pointwise/argument-reduction.ts';
export * from './pointwise/arithmetic.ts';
export * from './pointwise/extrema.ts';
export * from './pointwise/bessel.ts';
export * from './pointwise/bitwise.ts';
export * from './pointwise/comparison.ts';
export * from './pointwise/error-function.ts';
export * from './pointwise/exponential.ts';
export * from './pointwise/float-parts.ts';
export * from './pointwise/gamma.ts';
export * from './pointwise/hyperbolic.ts';
export * from './pointwise/incomplete-gamma.ts';
export * from './pointwise/neighbour.ts';
export * from './pointwise/power.ts';
export * from './pointwise/quantile.ts';
export * from './pointwise/rounding.ts';
export * from './pointwise/trigonometric.ts';
export * from './pointwise/zeta.ts';
export { floatFormats, isMeasured, opError, ulpError } from './accuracy.ts';
export {
  bitcastValue,
  castValue,
  f16FromBits,
  f16ToBits,
  fromBfloat16Bits,
  roundToDType,
  toBfloat16Bits,
  wrapToDType,
} from './convert.ts';
export type { Value } from './convert.ts';
export type { Binary, OtherZero, PointwiseOp, Spelling, Unary } from './define.ts';
export { evaluator, primitive, programFunction } from './evaluate.ts';
export type { ScalarFunction } from './evaluate.ts';
export { leastScale } from './float-bits.ts';
export { fma32, fma64 } from './fused.ts';
export type { PointwiseName } from './names.ts';
export { preludeFunctions } from './prelude.ts';
export type { PreludeName } from './prelude.ts';
export { compileOp, compileTerm, compileTerms } from './program.ts';
export type { Instruction, TermProgram } from './program.ts';
export { promoteTypes, resolveDTypes, resultOfRule, resultType } from './promote.ts';
export type { Operand } from './promote.ts';
export { reductionParameters } from './reduction.ts';
export type { PositionDType, ReductionOp } from './reduction.ts';
export { isReduction, reductions, scans } from './reductions/table.ts';
export type { ReductionName } from './reductions/table.ts';
export { isPointwise, pointwise } from './table.ts';
export { bitcast, cast, literal, printTerm, toTerm, wild } from './term.ts';
export type { Term, TermLike } from './term.ts';
