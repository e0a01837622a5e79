// The public API of @tsinductor/ops: re-exports only.
export * from './pointwise/activation.ts';
export * from './pointwise/argument-reduction.ts';
export * from './pointwise/arithmetic.ts';
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
export { bitcastValue, castValue, f16FromBits, f16ToBits, fromBfloat16Bits, roundToDType, toBfloat16Bits, valueOfBits, wrapToDType } from './convert.ts'; // prettier-ignore
export type { Value } from './convert.ts';
export type { BigintFunction, Binary, DTypeRule, Evaluators, NumberFunction, PointwiseOp, Spelling, Ternary, Traits, Unary } from './define.ts'; // prettier-ignore
export { evaluator, instructionFunction, primitive, programFunction } from './evaluate.ts';
export type { ScalarFunction } from './evaluate.ts';
export { fma32, fma64 } from './fused.ts';
export type { PointwiseName } from './names.ts';
export { levels, preludeFunctions } from './prelude.ts';
export type { PreludeFunction, PreludeName } from './prelude.ts';
export { compileOp, compileTerm, compileTerms } from './program.ts';
export type { CompileOptions, Instruction, TermProgram } from './program.ts';
export { defaultFloat, promoteTypes, resolveDTypes, resultOfRule, resultType } from './promote.ts';
export type { Operand, ResolvedDTypes } from './promote.ts';
export { reductionParameters } from './reduction.ts';
export type { ReductionOp } from './reduction.ts';
export { isReduction, reductions } from './reductions/table.ts';
export type { ReductionName } from './reductions/table.ts';
export { isPointwise, pointwise } from './table.ts';
export { bitcast, bits, call, cast, literal, printTerm, toTerm, wild } from './term.ts';
export type { Term, TermLike } from './term.ts';
