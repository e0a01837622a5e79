// Finite floats as C-like languages write them: in decimal where that is exact and short, else in hexadecimal.
import type { DType } from '@tsinductor/base';

/** The literal of a finite f32 or f64: exactly that number. */
export function floatLiteral(dtype: DType, value: number): string {
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
