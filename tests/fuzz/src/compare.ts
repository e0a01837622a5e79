// Tensors compared bit for bit, or within bounds that each element has for itself. NaNs are equal whatever their payload
// and sign: hardware and JavaScript make different ones, and no operator promises any.
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { placeOf } from '@tsinductor/tensor/internal';
import type { ElementArray } from '@tsinductor/tensor/internal';

/** The elements in row-major order as they lie in memory. */
export function bitsOf(tensor: Tensor): ElementArray {
  const { storage, layout } = placeOf(tensor.contiguous(), 'a comparison');
  return storage.elements(tensor.dtype, layout.offset).subarray(0, tensor.numel);
}

/** The elements as numbers; i64 loses what a double cannot hold. */
export const numbersOf = (tensor: Tensor): Float64Array =>
  Float64Array.from(tensor.toTypedArray() as ArrayLike<number | bigint>, Number);

const isHalf = (dtype: DType): boolean => isFloat(dtype) && dtypeInfo[dtype].bytes === 2;

/** Why `actual` is not `expected`; undefined if it is. */
export function difference(actual: Tensor, expected: Tensor): string | undefined {
  return metaDifference(actual, expected) ?? valueDifference(actual, expected);
}

export function metaDifference(actual: Tensor, expected: Tensor): string | undefined {
  if (actual.dtype !== expected.dtype) return `dtype ${actual.dtype}, expected ${expected.dtype}`;
  if (actual.shape.join() !== expected.shape.join())
    return `shape [${actual.shape.join()}], expected [${expected.shape.join()}]`;
  return undefined;
}

function valueDifference(actual: Tensor, expected: Tensor): string | undefined {
  const [left, right] = [bitsOf(actual), bitsOf(expected)];
  const [numbers, wanted] = [actual.toTypedArray(), expected.toTypedArray()];
  return summary(
    left.length,
    (k) =>
      left[k] === right[k] ? Object.is(numbers[k], wanted[k]) : Number.isNaN(numbers[k]) && Number.isNaN(wanted[k]),
    (k) => `element ${String(k)} is ${show(numbers[k])}, expected ${show(wanted[k])}`,
  );
}

/**
 * Why `actual` is not within `bounds` (absolute, by element) of `expected`. An infinite bound says that the element may be
 * anything, 0 that it must be the same.
 */
export function boundedDifference(actual: Tensor, expected: Tensor, bounds: Float64Array): string | undefined {
  const why = metaDifference(actual, expected);
  if (why !== undefined) return why;
  const [left, right] = [numbersOf(actual), numbersOf(expected)];
  const fits = (k: number): boolean => {
    const [value, wanted, bound] = [at(left, k), at(right, k), at(bounds, k)];
    if (bound === Infinity || Object.is(value, wanted)) return true;
    if (bound === 0) return false;
    if (value === wanted) return true;
    return Math.abs(value - wanted) <= bound + (bound > 0 ? spacing(wanted, expected.dtype) : 0);
  };
  return summary(
    left.length,
    fits,
    (k) => `element ${String(k)} is ${show(left[k])}, expected ${show(right[k])} within ${show(bounds[k])}`,
  );
}

function summary(count: number, fits: (k: number) => boolean, tell: (k: number) => string): string | undefined {
  let wrong = 0;
  let first = '';
  for (let k = 0; k < count; k += 1) {
    if (fits(k)) continue;
    wrong += 1;
    first ||= tell(k);
  }
  return wrong === 0 ? undefined : `${String(wrong)} of ${String(count)} elements differ: ${first}`;
}

const show = (value: unknown): string => (Object.is(value, -0) ? '-0' : String(value));

/** Significant bits of a float dtype. */
const precision: Readonly<Record<string, number>> = { f64: 53, f32: 24, f16: 11, bf16: 8 };
const minimumExponent: Readonly<Record<string, number>> = { f64: -1022, f32: -126, f16: -14, bf16: -126 };

/** The distance between neighbours of the dtype at `value`. */
export function spacing(value: number, dtype: DType): number {
  const bits = precision[dtype];
  if (bits === undefined || !Number.isFinite(value)) return 0;
  const exponent = Math.max(value === 0 ? -2000 : Math.floor(Math.log2(Math.abs(value))), minimumExponent[dtype] ?? 0);
  return 2 ** (exponent - bits + 1);
}

/** The machine epsilon of a float dtype. */
export const epsilonOf = (dtype: DType): number => 2 ** (1 - (precision[dtype] ?? 53));

export { isHalf };
