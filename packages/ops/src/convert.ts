// Conversions between dtypes, as every back end does them. A value is a number (bool is 0 or 1), or a bigint at i64.
//
// float -> float      to nearest, halves to even; f64 and i64 reach f16 and bf16 through f32, as in PyTorch
// float -> integer    truncated; to i64 and i32: the lowest integer where the value is NaN or does not fit (as on x86);
//                     to i16, i8 and u8: through i32, then cut to the width
// integer -> integer  cut to the width; integer -> float: to nearest
// any -> bool         whether it differs from zero (so NaN is true)
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { f16round } from '@petamoriken/float16';

/** A scalar: a bigint at i64, a number at every other dtype. */
export type Value = number | bigint;

const word = new Float32Array(1);
const bitsOfWord = new Uint32Array(word.buffer);

/** The bits of a value in bfloat16, rounded from float32 to nearest even. */
export function toBfloat16Bits(value: number): number {
  word[0] = value;
  const bits = bitsOfWord[0] ?? 0;
  if ((bits & 0x7fffffff) > 0x7f800000) return ((bits >>> 16) | 0x40) & 0xffff;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function fromBfloat16Bits(bits: number): number {
  bitsOfWord[0] = bits << 16;
  return word[0] ?? 0;
}

/** The nearest value of a float dtype; f16 and bf16 are reached through f32. */
export function roundToDType(value: number, dtype: DType): number {
  switch (dtype) {
    case 'f64':
      return value;
    case 'f32':
      return Math.fround(value);
    case 'f16':
      return f16round(Math.fround(value));
    case 'bf16':
      return fromBfloat16Bits(toBfloat16Bits(value));
    case 'i64':
    case 'i32':
    case 'i16':
    case 'i8':
    case 'u8':
    case 'bool':
      return Number(wrapToDType(value, dtype));
  }
}

/** An integral value cut to the width of an integer dtype (two's complement). */
export function wrapToDType(value: Value, dtype: DType): Value {
  if (dtype === 'i64') return BigInt.asIntN(64, BigInt(value));
  const low = typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : value | 0;
  switch (dtype) {
    case 'i32':
      return low;
    case 'i16':
      return (low << 16) >> 16;
    case 'i8':
      return (low << 24) >> 24;
    case 'u8':
      return low & 255;
    case 'bool':
      return value === 0 || value === 0n ? 0 : 1;
    case 'f64':
    case 'f32':
    case 'f16':
    case 'bf16':
      return roundToDType(Number(value), dtype);
  }
}

/** An i64 as the nearest double whose last bit is odd where bits were lost: rounds correctly from there to f32. */
function bigintToOdd(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  if (magnitude < 1n << 53n) return Number(value);
  const kept = (magnitude >> 10n) | ((magnitude & 1023n) === 0n ? 0n : 1n);
  return (value < 0n ? -1 : 1) * Number(kept) * 1024;
}

const lowestI64 = -(2n ** 63n);

function fromFloat(value: number, to: DType): Value {
  if (to === 'i64') return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : lowestI64;
  const whole = Math.trunc(value);
  return wrapToDType(whole >= -(2 ** 31) && whole < 2 ** 31 ? whole : -(2 ** 31), to);
}

/** `value`, which is of dtype `from`, as a value of dtype `to`. */
export function castValue(value: Value, from: DType, to: DType): Value {
  if (from === to) return value;
  if (to === 'bool') return value === 0 || value === 0n ? 0 : 1;
  if (isFloat(to)) {
    if (typeof value !== 'bigint') return roundToDType(value, to);
    return to === 'f64' ? Number(value) : roundToDType(bigintToOdd(value), to);
  }
  return isFloat(from) ? fromFloat(Number(value), to) : wrapToDType(value, to);
}

const scratch = new DataView(new ArrayBuffer(8));

/** The value of dtype `to` that has the bits of `value`, of dtype `from` and of the same width (compute dtypes only). */
export function bitcastValue(value: Value, from: DType, to: DType): Value {
  if (from === to) return value;
  if (from === 'f64') scratch.setFloat64(0, Number(value));
  else if (from === 'f32') scratch.setFloat32(0, Number(value));
  else if (from === 'i64') scratch.setBigInt64(0, BigInt(value));
  else if (dtypeInfo[from].bytes === 4) scratch.setInt32(0, Number(value));
  else if (dtypeInfo[from].bytes === 2) scratch.setInt16(0, Number(value));
  else scratch.setInt8(0, Number(value));
  return readScratch(to);
}

/** The value of dtype `dtype` whose bits are `hex`. */
export function valueOfBits(hex: string, dtype: DType): Value {
  const { bytes } = dtypeInfo[dtype];
  scratch.setBigUint64(0, BigInt(`0x${hex}`) << BigInt(64 - 8 * bytes));
  return readScratch(dtype);
}

function readScratch(dtype: DType): Value {
  switch (dtype) {
    case 'f64':
      return scratch.getFloat64(0);
    case 'f32':
      return scratch.getFloat32(0);
    case 'i64':
      return scratch.getBigInt64(0);
    case 'i32':
      return scratch.getInt32(0);
    case 'i16':
      return scratch.getInt16(0);
    case 'i8':
      return scratch.getInt8(0);
    case 'u8':
    case 'bool':
      return scratch.getUint8(0);
    case 'f16':
      return f16FromBits(scratch.getUint16(0));
    case 'bf16':
      return fromBfloat16Bits(scratch.getUint16(0));
  }
}

/** The value of half-precision bits. */
export function f16FromBits(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}

const half = new Float32Array(1);
const bitsOfHalf = new Uint32Array(half.buffer);

/** The half-precision bits nearest to a value, by way of f32. */
export function f16ToBits(value: number): number {
  half[0] = f16round(Math.fround(value));
  const bits = bitsOfHalf[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  // Exact from here on: the value is already one of f16.
  if (magnitude < 0x38800000) return sign | Math.round(Math.abs(half[0]) * 2 ** 24);
  return sign | ((magnitude - 0x38000000) >>> 13);
}
