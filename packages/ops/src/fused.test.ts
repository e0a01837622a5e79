import { describe, expect, test } from '@jest/globals';
import { fma32, fma64 } from './index.ts';

/** A generator of reproducible bits (xorshift). */
function randomBits(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

const word = new DataView(new ArrayBuffer(8));
const floatOf = (bits: number): number => (word.setUint32(0, bits), word.getFloat32(0));
const doubleOf = (high: number, low: number): number => (
  word.setUint32(0, high),
  word.setUint32(4, low),
  word.getFloat64(0)
);

/** value * 2^1100 exactly, for any finite double. */
function scaled(value: number): bigint {
  word.setFloat64(0, value);
  const bits = word.getBigUint64(0);
  const biased = Number((bits >> 52n) & 2047n);
  const mantissa = (bits & ((1n << 52n) - 1n)) | (biased === 0 ? 0n : 1n << 52n);
  const magnitude = mantissa << BigInt((biased === 0 ? 1 : biased) - 1075 + 1100);
  return bits >> 63n === 1n ? -magnitude : magnitude;
}

const distance = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a);

/** Whether `result` is the nearest value of a format to x * y + z, by exact arithmetic against its neighbours. */
function isNearest(result: number, exact: bigint, neighbours: readonly number[]): boolean {
  const own = distance(scaled(result) << 1100n, exact);
  return neighbours.every((other) => own <= distance(scaled(other) << 1100n, exact));
}

const exactSum = (x: number, y: number, z: number): bigint => scaled(x) * scaled(y) + (scaled(z) << 1100n);

function neighbours32(value: number): readonly number[] {
  word.setFloat32(0, value);
  const bits = word.getInt32(0);
  return [bits - 1, bits + 1].map((other) => floatOf(other)).filter((other) => Number.isFinite(other));
}

function neighbours64(value: number): readonly number[] {
  word.setFloat64(0, value);
  const bits = word.getBigInt64(0);
  return [bits - 1n, bits + 1n]
    .map((other) => (word.setBigInt64(0, other), word.getFloat64(0)))
    .filter((other) => Number.isFinite(other));
}

describe('fma32', () => {
  test('is the nearest float32 to the exact value', () => {
    const next = randomBits(1);
    for (let trial = 0; trial < 6_000; trial++) {
      // Exponents close enough for the product and the sum to meet; every fourth trial is free.
      const limit = trial % 4 === 0 ? 0xffffffff : 0x8fffffff;
      const base = trial % 4 === 0 ? 0 : 0x38000000;
      const [x, y, z] = [next(), next(), next()].map((bits) => floatOf((base + (bits & limit)) >>> 0)) as [
        number,
        number,
        number,
      ];
      const result = fma32(x, y, z);
      if (![x, y, z, result].every(Number.isFinite) || result === 0) continue;
      expect(isNearest(result, exactSum(x, y, z), neighbours32(result)) || [x, y, z]).toBe(true);
    }
  });
  test('does not round twice', () => {
    // Rounded to double first, the sum is a tie between two float32; the exact value is not.
    const [x, y, z] = [Math.fround(1 + 2 ** -12), Math.fround(1 + 2 ** -12), 2 ** -60];
    expect(fma32(x, y, z)).toBe(Math.fround(1 + 2 ** -11 + 2 ** -23));
    expect(fma32(x, y, -z)).toBe(Math.fround(1 + 2 ** -11));
  });
  test.each([
    [Infinity, 0, 1, NaN],
    [Infinity, 1, -Infinity, NaN],
    [2, 3, Infinity, Infinity],
    [-0, 1, -0, -0],
    [0, -1, 0, 0],
    [2 ** 127, 2, -(2 ** 127), 2 ** 127],
    [2 ** -149, 0.5, 0, 0],
    [2 ** -149, 0.5, 2 ** -149, 2 * 2 ** -149],
  ])('fma32(%d, %d, %d) = %d', (...[x, y, z, expected]) => {
    expect(fma32(x, y, z)).toBe(expected);
  });
});

describe('fma64', () => {
  test('is the nearest double to the exact value', () => {
    const next = randomBits(2);
    for (let trial = 0; trial < 6_000; trial++) {
      const exponent = trial % 4 === 0 ? () => next() : () => 0x3ff00000 + (next() & 0x80ffffff) - 0x00400000;
      const [x, y, z] = [0, 0, 0].map(() => doubleOf(exponent() >>> 0, next())) as [number, number, number];
      const result = fma64(x, y, z);
      if (![x, y, z, result].every(Number.isFinite) || result === 0) continue;
      expect(isNearest(result, exactSum(x, y, z), neighbours64(result)) || [x, y, z]).toBe(true);
    }
  });
  test.each([
    [1 + 2 ** -52, 1 - 2 ** -52, -1, -(2 ** -104)],
    [2 ** 600, 2 ** 600, -Infinity, -Infinity],
    [2 ** 1000, 2 ** 30, -(2 ** 1023), 2 ** 1023 * (2 ** 7 - 1)],
    [2 ** -1000, 2 ** -100, 1, 1],
    [5e-324, 0.5, 0, 0],
    [5e-324, 0.75, 0, 5e-324],
    [-0, 1, -0, -0],
    [Infinity, 0, 1, NaN],
  ])('fma64(%d, %d, %d) = %d', (...[x, y, z, expected]) => {
    expect(fma64(x, y, z)).toBe(expected);
  });
});
