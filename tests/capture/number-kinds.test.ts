// Numbers that change from call to call and come to be of another kind, or to be refused: what a compiled function answers then is
// what the same function answers eagerly, or the same error.
import { describe, expect, test } from '@jest/globals';
import { compile, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from '../end-to-end/own-cache.ts';

useOwnCache();

type Program = (x: Tensor, k: number) => Tensor;

const whole = (): Tensor => tensor([1, -2, 3], { dtype: 'i32' });

function answered(fn: Program, k: number): unknown {
  try {
    const result = fn(whole(), k);
    return { dtype: result.dtype, values: result.toArray() };
  } catch (error) {
    return { error: (error as { code?: string }).code };
  }
}

const read =
  (fn: Program): Program =>
  (x, k) => {
    x.sum().item();
    return fn(x, k);
  };

const programs: readonly (readonly [name: string, fn: Program, numbers: readonly number[]])[] = [
  ['a power below zero', (x, k) => x.pow(k), [1, 2, 3, -1, 4]],
  ['a fraction to fill with', (x, k) => x.maskedFill(x.gt(1), k), [2, 3, 2.5, 4]],
  ['a fraction to fill with, later', (x, k) => x.maskedFill(x.gt(1), k), [2, 3, 4, 2.5]],
  ['a multiple that no element can be', (x, k) => x.add(x, { alpha: k }), [2, 3, 4, 2 ** 53, 5]],
  ['zero below zero, a factor', (x, k) => x.mul(k), [2, 3, 4, -0, 5]],
  ['zero below zero, a bound', (x, k) => x.clampMin(k), [2, 3, 4, -0, 5]],
];

describe('numbers beside whole numbers', () => {
  test.each(programs)('%s', (_, fn, numbers) => {
    for (const each of [fn, read(fn)]) {
      const compiled = compile(each);
      expect(numbers.map((k) => answered(compiled, k))).toEqual(numbers.map((k) => answered(each, k)));
    }
  });
});
