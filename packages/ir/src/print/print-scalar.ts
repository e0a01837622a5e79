// Scalars as kernels print them, the same wherever a kernel runs: integers in decimal (bool is 0 and 1), floats as `%.9g` and
// `%.17g` of C write them, which is as many digits as tell any two apart. In: a scalar and its dtype. Out: text. C's
// definition is that of the standard library, which rounds the exact decimal value to the nearest, ties to even.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { Value } from '@tsinductor/ops';

/** How many digits of a float are printed. */
export const printedDigits = (dtype: DType): number => (dtype === 'f64' ? 17 : 9);

interface Typed {
  readonly type: { readonly dtype: DType };
}

/** A line of text and scalars. */
export const printLine = <Part extends Typed>(
  parts: readonly (string | Part)[],
  scalarOf: (part: Part) => Value,
): string =>
  parts.map((part) => (typeof part === 'string' ? part : printScalar(scalarOf(part), part.type.dtype))).join('');

export const printScalar = (value: Value, dtype: DType): string =>
  isFloat(dtype) ? printFloat(Number(value), printedDigits(dtype)) : String(value);

function printFloat(value: number, digits: number): string {
  if (Number.isNaN(value)) return 'nan';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (!Number.isFinite(value)) return `${sign}inf`;
  if (value === 0) return `${sign}0`;
  const { significand, exponent } = rounded(Math.abs(value), digits);
  const point = exponent < -4 || exponent >= digits ? 1 : exponent + 1;
  const padded = significand.padStart(digits + Math.max(0, 1 - point), '0');
  const split = Math.max(1, point);
  const fraction = padded.slice(split).replace(/0+$/, '');
  const text = `${sign}${padded.slice(0, split)}${fraction === '' ? '' : `.${fraction}`}`;
  if (point === exponent + 1) return text;
  return `${text}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

/** More digits than can follow those of a tie before its exact value shows that it is none. */
const exactDigits = 100;

/** So many digits of a positive number, and the power of ten of the first. */
function rounded(value: number, digits: number): { readonly significand: string; readonly exponent: number } {
  const [mantissa = '', power = '0'] = value.toExponential(exactDigits).split('e');
  const all = mantissa.replace('.', '');
  const [kept, rest] = [all.slice(0, digits), all.slice(digits)];
  const half = '5'.padEnd(rest.length, '0');
  const isOdd = Number(kept.at(-1)) % 2 === 1;
  const up = rest > half || (rest === half && isOdd);
  const significand = String(BigInt(kept) + (up ? 1n : 0n));
  const carried = significand.length - digits;
  return { significand: significand.slice(0, digits), exponent: Number(power) + carried };
}
