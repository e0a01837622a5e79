// Operands moved within their errors, and how far results move with them. In: a tensor and the error of each of its elements
// (Infinity: it may be anything). Out: tensors of the same dtype for the call to be evaluated on.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { fromBuffer } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { numbersOf } from './compare.ts';

/** Errors of a tensor's elements; undefined: it has none. */
export type Errors = Float64Array | undefined;

const like = ({ dtype, shape }: Tensor, values: Float64Array): Tensor =>
  fromBuffer(values.slice().buffer, { dtype: 'f64', shape }).to(dtype);

/** Every element moved by `factor` of its error. A truth value that may be either is true for positive factors, else false. */
export function displaced(tensor: Tensor, errors: Errors, factor: number): Tensor {
  if (errors === undefined) return tensor;
  return like(
    tensor,
    numbersOf(tensor).map((value, k) => {
      const error = at(errors, k);
      if (error !== Infinity) return error === 0 ? value : value + factor * error;
      return tensor.dtype === 'bool' ? Number(factor > 0) : value;
    }),
  );
}

/** How many values elements that may be anything are tried with. */
export const probeCount = 4;

/** The values that show most whether a result depends on an element. */
function probesOf(dtype: DType): readonly number[] {
  if (isFloat(dtype)) return [NaN, 0, Infinity, -Infinity];
  const { bytes, signed, category } = dtypeInfo[dtype];
  if (category === 'bool') return [0, 1, 0, 1];
  const high = 2 ** Math.min(62, 8 * bytes - (signed ? 1 : 0)) - 1;
  return [0, 1, high, signed ? -high : 2];
}

/** Every element for which `isReplaced` holds is the probe of that number. */
export function replaced(tensor: Tensor, errors: Errors, { probe, isReplaced }: Replacing): Tensor {
  if (errors?.some(isReplaced) !== true) return tensor;
  const value = at(probesOf(tensor.dtype), probe);
  return like(
    tensor,
    numbersOf(tensor).map((own, k) => (isReplaced(at(errors, k)) ? value : own)),
  );
}

interface Replacing {
  readonly probe: number;
  readonly isReplaced: (error: number) => boolean;
}

/** How far a result moved; one that became another integer or truth value, or left the finite numbers, may be anything. */
export function distance(value: number, base: number, isExact: boolean): number {
  if (Object.is(value, base)) return 0;
  // Zeros of two signs.
  if (value === base) return Number.MIN_VALUE;
  return isExact || !Number.isFinite(value) || !Number.isFinite(base) ? Infinity : Math.abs(value - base);
}
