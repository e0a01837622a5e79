// Whether a number of the user's can be an element of a dtype. In: a scalar that is to be one, and the dtype. Out: nothing,
// or an error, as in PyTorch: what does not fit is refused, but that unsigned integers take negative ones modulo their range.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { roundToDType } from '@tsinductor/ops';
import { scalarNumber } from './argument-reader.ts';
import { scalarRange } from './errors.ts';
import type { ScalarRef } from './graph.ts';

/** Throws UserError SCALAR_RANGE where `operator` cannot have the scalar as an element of `dtype`. */
export function requireFits(operator: string, scalar: ScalarRef, dtype: DType): void {
  if (dtype === 'bool' || scalar.category === 'bool') return;
  const value = scalarNumber(scalar);
  if (!(isFloat(dtype) ? fitsFloat(value, dtype) : fitsInteger(value, dtype)))
    throw scalarRange(operator, scalar, dtype);
}

/** Infinities and NaN are elements of every float dtype; a finite number must not become infinite. */
const fitsFloat = (value: number, dtype: DType): boolean =>
  !Number.isFinite(value) || Number.isFinite(roundToDType(value, dtype));

function fitsInteger(value: number, dtype: DType): boolean {
  const whole = Math.trunc(value);
  const bits = dtypeInfo[dtype].bytes * 8;
  const [low, high] = dtype === 'u8' ? [-255, 255] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  return whole >= low && whole <= high;
}
