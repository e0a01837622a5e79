// Whether two ways of computing an op gave the same. In: tensors from `eager`, and the same from elsewhere. Out: what differs
// first, in words, or nothing. An op without a lowering runs the same function, so its results must be equal bit for
// bit; a lowering may round otherwise, within the bounds that torch.testing.assert_close has for a dtype.
import { at, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { bitsOf, describeTensor } from './checked-call.ts';

interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

const exact: Tolerance = { relative: 0, absolute: 0 };
const closeBy: Readonly<Partial<Record<DType, Tolerance>>> = {
  f64: { relative: 1e-7, absolute: 1e-7 },
  f32: { relative: 1.3e-6, absolute: 1e-5 },
  f16: { relative: 1e-3, absolute: 1e-5 },
  bf16: { relative: 1.6e-2, absolute: 1e-5 },
};

type Precision = 'bits' | 'close';

/** What differs; `what` names the tensors, as in `result 1`. */
export function differenceOf(
  expected: readonly Tensor[],
  found: readonly Tensor[],
  { what, precision }: { readonly what: string; readonly precision: Precision },
): string | undefined {
  if (expected.length !== found.length)
    return `there are ${String(found.length)} of ${what}, and eager has ${String(expected.length)}`;
  for (const [position, tensor] of expected.entries()) {
    const other = at(found, position);
    const name = `${what} ${String(position)}`;
    const [wanted, got] = [describeTensor(tensor), describeTensor(other)];
    if (wanted !== got) return `${name} is ${got}, and eager gives ${wanted}`;
    const difference = elementDifference(tensor, other, precision);
    if (difference !== undefined) return `${name}: ${difference}`;
  }
  return undefined;
}

function elementDifference(expected: Tensor, found: Tensor, precision: Precision): string | undefined {
  if (bitsOf(expected) === bitsOf(found)) return undefined;
  const tolerance = precision === 'close' && isFloat(expected.dtype) ? (closeBy[expected.dtype] ?? exact) : exact;
  const [left, right] = [expected.toTypedArray(), found.toTypedArray()];
  for (const [index, wanted] of left.entries()) {
    const got = right[index] ?? NaN;
    if (!isClose(wanted, got, tolerance))
      return `element ${String(index)} is ${String(got)}, and eager gives ${String(wanted)}`;
  }
  return undefined;
}

function isClose(wanted: number | bigint, got: number | bigint, { relative, absolute }: Tolerance): boolean {
  if (Object.is(wanted, got)) return true;
  if (typeof wanted === 'bigint' || typeof got === 'bigint' || relative === 0) return false;
  if (Number.isNaN(wanted) || Number.isNaN(got)) return false;
  return wanted === got || Math.abs(wanted - got) <= absolute + relative * Math.abs(wanted);
}
