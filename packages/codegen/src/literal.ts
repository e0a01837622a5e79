// Constants as C-like languages write them: finite floats in decimal where that is exact and short, else in hexadecimal.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ScalarConstant } from '@tsinductor/ir';
import { f16ToBits, toBfloat16Bits } from '@tsinductor/ops';

/** What differs between languages. */
export interface LiteralStyle {
  /** What ends an integer of 64 bits. */
  readonly long: string;
  /** NaN and infinities of f32 and f64. */
  readonly nonFinite: (dtype: DType, value: number) => string;
}

/** A scalar constant; f16 and bf16 are their bits. */
export function scalarLiteral(dtype: DType, value: ScalarConstant, style: LiteralStyle): string {
  if (typeof value === 'object') return integerLiteral(dtype, BigInt(value.bigint), style);
  const number = Number(value);
  if (dtype === 'bool') return number === 0 ? 'false' : 'true';
  if (!isFloat(dtype)) return integerLiteral(dtype, BigInt(number), style);
  if (dtype === 'f16') return String(f16ToBits(number));
  if (dtype === 'bf16') return String(toBfloat16Bits(number));
  return Number.isFinite(number) ? floatLiteral(dtype, number) : style.nonFinite(dtype, number);
}

/** The least integer has no literal: what stands behind a minus is an integer of its own. */
function integerLiteral(dtype: DType, value: bigint, { long }: LiteralStyle): string {
  if (dtype !== 'i64') return value === -(2n ** 31n) ? '(-2147483647 - 1)' : String(value);
  return value === -(2n ** 63n) ? `(-9223372036854775807${long} - 1)` : `${String(value)}${long}`;
}

/** The literal of a finite f32 or f64: exactly that number. */
function floatLiteral(dtype: DType, value: number): string {
  const f = dtype === 'f32' ? 'f' : '';
  const exact = dtype === 'f32' ? Math.fround(value) : value;
  const decimal = String(exact);
  if (/^-?\d+(\.\d{1,6})?$/.test(decimal))
    return `${Object.is(exact, -0) ? '-0' : decimal}${decimal.includes('.') ? '' : '.0'}${f}`;
  return `${hexadecimal(exact)}${f}`;
}

/** An exact hexadecimal literal: 0x1.8p+3. */
export function hexadecimal(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const sign = bits >> 63n === 1n ? '-' : '';
  const exponent = Number((bits >> 52n) & 2047n);
  const fraction = bits & (2n ** 52n - 1n);
  const digits = fraction.toString(16).padStart(13, '0').replace(/0+$/, '');
  const power = (exponent === 0 ? 1 : exponent) - 1023;
  return `${sign}0x${exponent === 0 ? '0' : '1'}${digits === '' ? '' : `.${digits}`}p${power < 0 ? '' : '+'}${String(power)}`;
}
