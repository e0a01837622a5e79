// Where exponentials come to nothing: which results are 0, which are subnormal, and what is scaled by a power of two.
import type { DType } from '@tsinductor/base';
import { describe, expect, test } from '@jest/globals';
import { evaluator, leastScale, pointwise } from './index.ts';
import type { PointwiseName, Value } from './index.ts';

const apply = (name: PointwiseName, dtype: DType, args: readonly Value[]): Value =>
  evaluator(pointwise[name], dtype)(...args);

const least = { f32: 2 ** -149, f64: 2 ** -1074 } as const;

describe('a product with a power of two that may be 0', () => {
  test.each(['f32', 'f64'] as const)('%s', (dtype) => {
    const limit = leastScale[dtype];
    expect(apply('scalbOrZero', dtype, [1.25, 3])).toBe(10);
    // More than half of the least number is rounded to it; a half is a tie, and goes to 0.
    expect(apply('scalbOrZero', dtype, [1.25, limit])).toBe(least[dtype]);
    expect(apply('scalbOrZero', dtype, [1, limit])).toBe(0);
    for (const x of [1.4, 0, Infinity, NaN])
      for (const y of [limit - 1, -1e30, -Infinity]) expect(apply('scalbOrZero', dtype, [x, y])).toBe(0);
    expect(apply('scalbOrZero', dtype, [NaN, NaN])).toBeNaN();
    expect(apply('scalbOrZero', dtype, [NaN, 0])).toBeNaN();
  });
});

describe('exponentials of very negative arguments', () => {
  test.each<[PointwiseName, 'f32' | 'f64', { readonly least: number; readonly zero: number }]>([
    ['exp', 'f32', { least: -103.97, zero: -103.98 }],
    ['exp', 'f64', { least: -745.13, zero: -745.14 }],
    ['exp2', 'f32', { least: -149.9, zero: -150 }],
    ['exp2', 'f64', { least: -1074.9, zero: -1075 }],
  ])('%s at %s', (name, dtype, x) => {
    const round = dtype === 'f32' ? Math.fround : Number;
    expect(apply(name, dtype, [round(x.least)])).toBe(least[dtype]);
    expect(apply(name, dtype, [round(x.zero)])).toBe(0);
  });

  test.each<PointwiseName>(['exp', 'exp2', 'sigmoid', 'ndtr', 'erfc'])(
    '%s is 0 from there on, without a sign',
    (name) => {
      for (const dtype of ['f32', 'f64'] as const)
        for (const x of [-1100, -1e5, -1e10, -1e30, -Infinity])
          expect(apply(name, dtype, [name === 'erfc' ? -x : x])).toBe(0);
    },
  );
});
