// What an atomic update makes of an element and a value.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { castValue, evaluator, pointwise } from '@tsinductor/ops';
import type { PointwiseName, Value as Scalar } from '@tsinductor/ops';

/** Computed in the compute dtype, and rounded to what memory holds. */
export function combined(dtype: DType, op: PointwiseName, [old, given]: readonly [Scalar, Scalar]): Scalar {
  const { compute } = dtypeInfo[dtype];
  return castValue(evaluator(pointwise[op], compute)(old, given), compute, dtype);
}
