// Polynomials as terms, and what the definitions of transcendentals share. At f32 products and sums are fused: one
// instruction, one rounding. At f64 they are not: the definitions are accurate without, and plain doubles are fast in
// the interpreter.
import type { DType } from '@tsinductor/base';
import { cast } from '../term.ts';
import type { Term, TermLike } from '../term.ts';
import { add, fma, mul } from './arithmetic.ts';

/** x * y + z: fused at f32. */
const multiplyAdd = (dtype: DType, x: TermLike, [y, z]: readonly [TermLike, TermLike]): Term =>
  dtype === 'f32' ? fma(x, y, z) : add(mul(x, y), z);

/** The polynomial with these coefficients, constant first, by Horner's rule. */
export function horner(dtype: DType, x: Term, coefficients: readonly number[]): Term {
  const [last = 0, ...rest] = [...coefficients].reverse();
  return rest.reduce<TermLike>((sum, coefficient) => multiplyAdd(dtype, sum, [x, coefficient]), last) as Term;
}

/** The definition at f64 for f32 operands, rounded once more: for what is rare enough that speed matters less. */
export const throughF64 = (define: (...operands: Term[]) => Term, ...operands: readonly Term[]): Term =>
  cast('f32', define(...operands.map((operand) => cast('f64', operand))));
