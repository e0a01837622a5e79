import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import {
  bitcastValue,
  castValue,
  f16FromBits,
  f16ToBits,
  fromBfloat16Bits,
  roundToDType,
  toBfloat16Bits,
} from './index.ts';
import type { Value } from './index.ts';

describe('castValue', () => {
  test.each<[Value, DType, DType, Value]>([
    [2.9, 'f32', 'i32', 2],
    [-2.9, 'f64', 'i64', -2n],
    [NaN, 'f32', 'i32', -(2 ** 31)],
    [3e9, 'f32', 'i32', -(2 ** 31)],
    [Infinity, 'f32', 'i64', -(2n ** 63n)],
    [-1, 'f32', 'u8', 255],
    [300, 'f32', 'u8', 44],
    [200, 'f32', 'i8', -56],
    [NaN, 'f64', 'i8', 0],
    [NaN, 'f32', 'bool', 1],
    [-0, 'f32', 'bool', 0],
    [0.1, 'f64', 'f32', Math.fround(0.1)],
    [300, 'i32', 'u8', 44],
    [-1, 'i8', 'u8', 255],
    [255, 'u8', 'i8', -1],
    [2n ** 63n - 1n, 'i64', 'i32', -1],
    [-5, 'i32', 'i64', -5n],
    [1, 'bool', 'i64', 1n],
    [0n, 'i64', 'bool', 0],
    [2n ** 40n, 'i64', 'bool', 1],
    [65520, 'f32', 'f16', Infinity],
    [65519, 'f32', 'f16', 65504],
  ])('%p from %s to %s is %p', (...[value, from, to, expected]) => {
    expect(castValue(value, from, to)).toBe(expected);
  });
  test('i64 to f32 rounds once', () => {
    // Just above a tie between two float32 values, but the tie itself in double precision.
    const above = 2n ** 62n + 2n ** 38n + 1n;
    expect(castValue(above, 'i64', 'f32')).toBe(2 ** 62 + 2 ** 39);
    expect(castValue(-above, 'i64', 'f32')).toBe(-(2 ** 62) - 2 ** 39);
    expect(castValue(2n ** 62n + 2n ** 38n, 'i64', 'f32')).toBe(2 ** 62);
  });
});

const allBits = Array.from({ length: 0x10000 }, (_, bits) => bits);

/** Whether bits come back as they went; of NaN, as NaN. */
function isFaithful(bits: number, read: (bits: number) => number, write: (value: number) => number): boolean {
  const value = read(bits);
  return Number.isNaN(value) ? Number.isNaN(read(write(value))) : write(value) === bits;
}

describe('half formats', () => {
  test('every f16 goes to its bits and back', () => {
    expect(allBits.filter((bits) => !isFaithful(bits, f16FromBits, f16ToBits))).toEqual([]);
  });
  test('every bf16 goes to its bits and back', () => {
    expect(allBits.filter((bits) => !isFaithful(bits, fromBfloat16Bits, toBfloat16Bits))).toEqual([]);
  });
  test('bf16 rounds to nearest even, and overflows to infinity', () => {
    expect(roundToDType(1 + 2 ** -8, 'bf16')).toBe(1);
    expect(roundToDType(1 + 3 * 2 ** -8, 'bf16')).toBe(1 + 2 ** -6);
    expect(roundToDType(3.4e38, 'bf16')).toBe(Infinity);
  });
  test('f16 is reached from f64 through f32, as in PyTorch', () => {
    expect(roundToDType(1 + 2 ** -11 + 2 ** -40, 'f16')).toBe(1);
    expect(roundToDType(2 ** -24 * 1.5, 'f16')).toBe(2 ** -23);
  });
});

describe('bitcastValue', () => {
  test.each<[Value, DType, DType, Value]>([
    [1, 'f32', 'i32', 0x3f800000],
    [-0, 'f32', 'i32', -(2 ** 31)],
    [0x7f800000, 'i32', 'f32', Infinity],
    [1, 'f64', 'i64', 0x3ff0000000000000n],
    [-1n, 'i64', 'f64', NaN],
    [-1, 'i8', 'u8', 255],
  ])('%p as %s is, as %s, %p', (...[value, from, to, expected]) => {
    expect(bitcastValue(value, from, to)).toBe(expected);
  });
});
