// What C leaves open, or PyTorch does its own way, in integer and bool arithmetic.
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { evaluator, pointwise } from './index.ts';
import type { PointwiseName, Value } from './index.ts';

const apply = (name: PointwiseName, dtype: DType, args: readonly Value[]): Value =>
  evaluator(pointwise[name], dtype)(...args);

describe('integers wrap, and division is defined everywhere', () => {
  test.each<[PointwiseName, DType, Value[], Value]>([
    ['add', 'i8', [127, 1], -128],
    ['sub', 'u8', [0, 1], 255],
    ['mul', 'i16', [300, 300], 24464],
    ['mul', 'i32', [2 ** 30, 6], -(2 ** 31)],
    ['mul', 'i64', [2n ** 62n, 2n], -(2n ** 63n)],
    ['neg', 'i32', [-(2 ** 31)], -(2 ** 31)],
    ['abs', 'i8', [-128], -128],
    ['neg', 'u8', [1], 255],
    ['divTrunc', 'i32', [-7, 2], -3],
    ['divFloor', 'i32', [-7, 2], -4],
    ['divFloor', 'u8', [200, 7], 28],
    ['divTrunc', 'i32', [5, 0], 0],
    ['divTrunc', 'i32', [-(2 ** 31), -1], -(2 ** 31)],
    ['divTrunc', 'i64', [-(2n ** 63n), -1n], -(2n ** 63n)],
    ['fmod', 'i32', [-7, 3], -1],
    ['remainder', 'i32', [-7, 3], 2],
    ['remainder', 'i64', [7n, -3n], -2n],
    ['fmod', 'i64', [7n, 0n], 0n],
    ['remainder', 'i32', [-(2 ** 31), -1], 0],
    ['bitwiseLeftShift', 'i32', [1, 31], -(2 ** 31)],
    ['bitwiseLeftShift', 'i32', [1, 32], 0],
    ['bitwiseLeftShift', 'i8', [1, 9], 0],
    ['bitwiseLeftShift', 'i64', [1n, 64n], 0n],
    ['bitwiseRightShift', 'i32', [-8, 1], -4],
    ['bitwiseRightShift', 'i32', [-8, 40], -1],
    ['bitwiseRightShift', 'i32', [-8, -1], -1],
    ['bitwiseRightShift', 'u8', [255, 9], 0],
    ['bitwiseRightShift', 'i64', [-8n, 70n], -1n],
    ['bitwiseNot', 'u8', [0], 255],
    ['bitwiseNot', 'bool', [0], 1],
    ['gcd', 'i32', [-12, 18], 6],
    ['gcd', 'i64', [0n, 0n], 0n],
    ['lcm', 'i32', [4, -6], 12],
    ['lcm', 'i64', [0n, 5n], 0n],
    ['pow', 'i32', [3, 4], 81],
    ['pow', 'i32', [2, -1], 0],
    ['pow', 'i32', [-1, -3], -1],
    ['pow', 'i64', [3n, 41n], 36472996377170786403n - 2n ** 65n],
    ['pow', 'u8', [3, 7], 139],
    ['square', 'i8', [12], -112],
    ['sign', 'i64', [-5n], -1n],
    ['sign', 'u8', [200], 1],
    ['floor', 'i32', [5], 5],
    ['fma', 'i32', [3, 4, 5], 17],
    ['where', 'i64', [1, 2n, 3n], 2n],
    ['where', 'i64', [0, 2n, 3n], 3n],
    ['lt', 'i64', [1n, 2n], 1],
    ['isnan', 'i64', [1n], 0],
    ['isfinite', 'i64', [1n], 1],
    ['relu', 'i32', [-3], 0],
    ['relu6', 'i64', [9n], 6n],
  ])('%s at %s of %p is %p', (...[name, dtype, args, expected]) => {
    expect(apply(name, dtype, args)).toBe(expected);
  });
});

describe('at bool, arithmetic is logic', () => {
  const binary: Partial<Record<PointwiseName, readonly [number, number, number, number]>> = {
    add: [0, 1, 1, 1],
    mul: [0, 0, 0, 1],
    maximum: [0, 1, 1, 1],
    minimum: [0, 0, 0, 1],
    eq: [1, 0, 0, 1],
    ne: [0, 1, 1, 0],
    lt: [0, 1, 0, 0],
    le: [1, 1, 0, 1],
    gt: [0, 0, 1, 0],
    ge: [1, 0, 1, 1],
    logicalXor: [0, 1, 1, 0],
  };
  test.each(Object.keys(binary) as PointwiseName[])('%s', (name) => {
    const results = [
      [0, 0],
      [0, 1],
      [1, 0],
      [1, 1],
    ].map((args) => apply(name, 'bool', args));
    expect(results).toEqual(binary[name]);
  });
  test('where', () => {
    expect([apply('where', 'bool', [1, 0, 1]), apply('where', 'bool', [0, 0, 1])]).toEqual([0, 1]);
  });
});

describe('floats at the edges', () => {
  test.each<[PointwiseName, number[], number]>([
    ['maximum', [NaN, 1], NaN],
    ['maximum', [1, NaN], NaN],
    ['fmax', [NaN, 1], 1],
    ['fmin', [1, NaN], 1],
    ['fmin', [NaN, NaN], NaN],
    ['atLeast', [NaN, 1], NaN],
    ['atLeast', [1, NaN], 1],
    ['sign', [NaN], 0],
    ['sgn', [NaN], 0],
    ['heaviside', [NaN, 2], 0],
    ['heaviside', [0, 2], 2],
    ['frac', [Infinity], NaN],
    ['round', [2.5], 2],
    ['round', [3.5], 4],
    ['round', [-0.5], -0],
    ['floor', [-0], -0],
    ['fmod', [-7.5, 2], -1.5],
    ['remainder', [-7.5, 2], 0.5],
    ['remainder', [7.5, -2], -0.5],
    ['divFloor', [-1, 2], -1],
    ['divFloor', [1, 0], Infinity],
    ['divFloor', [-1e-30, 1], -1],
    ['divFloor', [0, -5], -0],
    ['divTrunc', [-7, 2], -3],
    ['copysign', [3, -0], -3],
    ['nextafter', [1, 2], 1 + 2 ** -23],
    ['nextafter', [0, -1], -(2 ** -149)],
    ['nextafter', [1, 1], 1],
    ['nextafter', [Infinity, 0], 2 ** 128 - 2 ** 104],
    ['nextafterBfloat16', [1, 0], 1 - 2 ** -8],
    ['frexpMantissa', [-6], -0.75],
    ['frexpExponent', [6], 3],
    ['frexpExponent', [2 ** -149], -148],
    ['frexpMantissa', [0], 0],
    ['hypot', [Infinity, NaN], Infinity],
    ['logaddexp', [Infinity, Infinity], Infinity],
    ['logaddexp', [-Infinity, -Infinity], -Infinity],
    ['xlogy', [0, 0], 0],
    ['xlogy', [0, NaN], NaN],
    ['pow', [0, 0], 1],
    ['pow', [-8, 3], -512],
    ['pow', [-8, 1 / 3], NaN],
    ['pow', [-1, -Infinity], 1],
    ['pow', [-0, -3], -Infinity],
    ['pow', [-Infinity, -3], -0],
    ['atan2', [0, -0], Math.fround(Math.PI)],
    ['atan2', [-0, -1], -Math.fround(Math.PI)],
    ['atan2', [Infinity, -Infinity], Math.fround((3 * Math.PI) / 4)],
    ['lgamma', [-2], Infinity],
    ['digamma', [0], -Infinity],
    ['digamma', [-0], Infinity],
    ['digamma', [-3], NaN],
    ['erfinv', [1], Infinity],
    ['erfinv', [1.5], NaN],
    ['ndtri', [0], -Infinity],
    ['zeta', [1, 2], Infinity],
    ['zeta', [0.5, 2], NaN],
    ['igamma', [0, 1], 1],
    ['igammac', [2, Infinity], 0],
    ['entr', [-1], -Infinity],
    ['angle', [-2], Math.fround(Math.PI)],
    ['sinc', [0], 1],
  ])('%s of %p is %p at f32', (...[name, args, expected]) => {
    expect(apply(name, 'f32', args.map(Math.fround))).toBe(expected);
  });

  test('functions that have no reference obey their identities', () => {
    const at = (name: PointwiseName, ...args: number[]): number => Number(apply(name, 'f64', args));
    for (const x of [0.3, 1, 2.5, 7, 40]) {
      expect(at('igamma', 1, x)).toBeCloseTo(1 - Math.exp(-x), 13);
      expect(at('igamma', 150, 140 + x) + at('igammac', 150, 140 + x)).toBeCloseTo(1, 13);
      expect(at('zeta', 3, x) - at('zeta', 3, x + 1)).toBeCloseTo(x ** -3, 12);
      expect(at('zeta', 2, x)).toBeCloseTo(at('trigamma', x), 12);
      expect(at('sinc', x)).toBeCloseTo(Math.sin(Math.PI * x) / (Math.PI * x), 14);
      expect(at('logaddexp', x, -x)).toBeCloseTo(Math.log(Math.exp(x) + Math.exp(-x)), 13);
      expect(at('gelu', x)).toBeCloseTo(x * at('ndtr', x), 13);
      expect(at('logit', at('sigmoid', x / 40))).toBeCloseTo(x / 40, 13);
    }
    expect(at('zeta', 2, 1)).toBeCloseTo(Math.PI ** 2 / 6, 14);
  });

  test('GELU at f32 is within 2e-7 of x times the normal distribution function', () => {
    const wide = evaluator(pointwise.gelu, 'f64');
    const narrow = evaluator(pointwise.gelu, 'f32');
    const off = Array.from({ length: 4001 }, (_, k) => Math.fround((k - 2000) / 100))
      .map((x) => [x, Math.abs(Number(narrow(x)) - Number(wide(x)))] as const)
      .filter(([x, error]) => error > 2e-7 * Math.max(1, x));
    expect(off).toEqual([]);
  });
});
