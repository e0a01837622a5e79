// Conversions as JavaScript expressions. In: a value, its dtype and the one it becomes. Out: a value of the same bits as `castValue`
// gives.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { bitcastValue, castValue } from '@tsinductor/ops';
import type { Writing } from './arithmetic.ts';
import { wrapped } from './arithmetic.ts';
import type { Bounds, Value } from './values.ts';
import { isExact, lowerText, numberText } from './values.ts';

/** The values that an integer dtype, or bool, has. */
function boundsOfDType(dtype: DType): Bounds {
  const { bytes, signed, category } = dtypeInfo[dtype];
  if (category === 'bool') return { low: 0, high: 1 };
  const bits = 8 * bytes;
  return signed ? { low: -(2 ** (bits - 1)), high: 2 ** (bits - 1) - 1 } : { low: 0, high: 2 ** bits - 1 };
}

interface Cast {
  readonly value: Value;
  readonly from: DType;
  readonly to: DType;
}

/** The value in its new dtype; its text is an expression. */
export function castOf(cast: Cast, writing: Writing): Value {
  const { value, from, to } = cast;
  if (to === 'i64') return widened(cast, writing);
  const text = from === 'i64' ? narrowedText(value, to, writing) : numbersText(cast, writing);
  return { kind: 'number', text, level: value.level };
}

function widened({ value, from }: Cast, writing: Writing): Value {
  const { text, level } = value;
  if (!isFloat(from)) return { kind: 'whole', text, level, ...boundsOfDType(from) };
  // Every result is exact in a double, the lowest integer for what does not fit too.
  const whole = `${text} >= -9223372036854775808 && ${text} < 9223372036854775808 ? Math.trunc(${text}) + 0 : -9223372036854775808`;
  const level2 = { level, low: -(2 ** 63), high: 2 ** 63 };
  return { kind: 'whole', text: writing.define(whole), ...level2 };
}

function narrowedText(value: Value, to: DType, writing: Writing): string {
  const { kernel, define } = writing;
  if (to === 'bool') {
    if (value.kind === 'words') return `(${value.lower} | ${value.upper}) === 0 ? 0 : 1`;
    return value.kind === 'bigint' ? `${value.text} === 0n ? 0 : 1` : `${value.text} === 0 ? 0 : 1`;
  }
  if (!isFloat(to)) return wrapped(lowerText(value), to);
  if (to === 'f64') return numberText(value);
  if (value.kind === 'whole') return roundedText(value.text, to, writing);
  const convert = kernel.helper(`cast_i64_${to}`, () => (whole: bigint) => castValue(whole, 'i64', to));
  const near = define(numberText(value));
  const isShort = `${near} >= -9007199254740991 && ${near} <= 9007199254740991`;
  return `${isShort} ? ${roundedText(near, to, writing)} : ${convert}(${value.text})`;
}

/** A number as the nearest one of a float dtype. */
function roundedText(text: string, to: DType, { kernel }: Writing): string {
  if (to === 'f32') return `Math.fround(${text})`;
  return `${kernel.helper(`cast_${to}`, () => (value: number) => castValue(value, 'f64', to))}(${text})`;
}

function numbersText({ value: { text }, from, to }: Cast, writing: Writing): string {
  if (to === 'bool') return `${text} === 0 ? 0 : 1`;
  if (isFloat(to)) {
    const isKept = to === 'f64' || (to === 'f32' && (from === 'f16' || from === 'bf16' || isNarrow(from)));
    return isKept ? text : roundedText(text, to, writing);
  }
  if (!isFloat(from)) return wrapped(text, to);
  const word = `${text} >= -2147483648 && ${text} < 2147483648 ? ${text} | 0 : -2147483648`;
  return to === 'i32' ? word : wrapped(writing.define(word), to);
}

/** Integers that f32 has, all of them. */
const isNarrow = (dtype: DType): boolean => !isFloat(dtype) && dtypeInfo[dtype].bytes < 4;

/** The value with the same bits, in another dtype of the same width. */
export function bitcastText({ value, from, to }: Cast, { kernel }: Writing): string {
  const convert = kernel.helper(`bitcast_${from}_${to}`, () => (bits: number | bigint) => bitcastValue(bits, from, to));
  return `${convert}(${value.text})`;
}

/** Whether arithmetic on the value as a number is exact. */
export const isExactWhole = (value: Value): value is Value & { readonly kind: 'whole' } =>
  value.kind === 'whole' && isExact(value);
