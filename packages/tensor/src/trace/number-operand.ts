// In which dtype a number beside tensors is reckoned with, where a 0-d tensor can stand for it. In: the number's kind, and the
// tensors of the call. Out: a dtype; nothing where such a tensor would change the dtype of the result, which a number does not.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Operator, ScalarRef } from '@tsinductor/graph';
import { resultType } from '@tsinductor/ops';
import { convertElement } from '../element-array.ts';

interface Operand {
  readonly dtype: DType;
  readonly ndim: number;
}

/**
 * The dtype for a number of this category beside `tensors`, masks apart: that in which their arithmetic is done, so that a number
 * beside half floats is not rounded to one. A whole number beside whole numbers is one of theirs; a fraction there would make
 * another dtype of them.
 */
export function numberDType(category: ScalarRef['category'], tensors: readonly Operand[]): DType | undefined {
  const operands = tensors.flatMap(({ dtype, ndim }) =>
    dtype === 'bool' ? [] : [{ dtype, rank: ndim > 0 ? ('tensor' as const) : ('zeroDim' as const) }],
  );
  if (operands.length === 0 || category === 'bool') return undefined;
  const together = resultType(operands);
  const { compute } = dtypeInfo[together];
  if (!isFloat(together) && category === 'float') return undefined;
  const isSame = resultType([...operands, { dtype: compute, rank: 'zeroDim' }]) === together;
  return isSame ? compute : undefined;
}

/** Whether a number of a call can be a 0-d tensor of that dtype instead: the operator sees no value of a tensor. */
export const mayBeLifted = (operator: Operator, value: number, dtype: DType): boolean =>
  operator.scalarStandIns?.has(value) !== true &&
  (operator.refusesNegative !== true || isFloat(dtype)) &&
  numberFits(value, dtype);

/** Whether an element of the dtype can be the number; the zero below zero is a fraction. */
export function numberFits(value: number, dtype: DType): boolean {
  if (isFloat(dtype)) return true;
  const { bytes, signed } = dtypeInfo[dtype];
  const bits = bytes * 8;
  const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
  return isWhole && (signed ? Math.abs(value) < 2 ** (bits - 1) : value >= 0 && value < 2 ** bits);
}

/** A number as it lies in a 0-d tensor. */
export const elementOfNumber = (value: number, dtype: DType): number | bigint =>
  isFloat(dtype) ? convertElement(value, 'f64', dtype) : convertElement(BigInt(value), 'i64', dtype);
