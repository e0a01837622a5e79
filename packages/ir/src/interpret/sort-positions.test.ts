// What an order of elements is: a permutation, in which equal elements stand as they stood, NaN is the largest, and 0 and -0 are equal.
import { expect, test } from '@jest/globals';
import { allDTypes, at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import fc from 'fast-check';
import { allocateElements, bitEncoders, readElement, writeElement } from './element-array.ts';
import type { ElementArray } from './element-array.ts';
import { sortedPositions } from './sort-positions.ts';

const values = [0, -0, 1, -1, 2, -2, 0.5, 3, 100, -100, 127, Infinity, -Infinity, NaN, -1.5];
const wide = [2n ** 62n, -(2n ** 62n), 0n, 1n, -1n, 2n ** 32n, 2n ** 32n + 1n, -(2n ** 31n)];

/** Elements of a dtype by numbers that stand for them. */
function elementsOf(dtype: DType, picks: readonly number[]): ElementArray {
  const array = allocateElements(dtype, picks.length);
  const encode = bitEncoders[dtype];
  picks.forEach((pick, k) => {
    const value = at(values, pick % values.length);
    const element = dtype === 'i64' ? at(wide, pick % wide.length) : dtype === 'bool' ? pick % 2 : value;
    writeElement(array, k, encode === undefined ? element : encode(Number(element)));
  });
  return array;
}

/** By definition, element by element. */
function isAhead(one: number | bigint, other: number | bigint, descending: boolean): boolean {
  if (descending) return isAhead(other, one, false);
  return one < other || (Number.isNaN(Number(other)) && !Number.isNaN(Number(one)));
}

test.each(allDTypes)('%s', (dtype) => {
  const row = fc.record({
    picks: fc.oneof(
      fc.array(fc.nat(1000), { maxLength: 30 }),
      fc.array(fc.nat(1000), { minLength: 200, maxLength: 400 }),
    ),
    descending: fc.boolean(),
    step: fc.integer({ min: 1, max: 3 }),
    start: fc.nat(2),
    first: fc.nat(60),
  });
  fc.assert(
    fc.property(row, ({ picks, descending, step, start, first }) => {
      const array = elementsOf(dtype, picks);
      const length = Math.max(0, Math.ceil((picks.length - start) / step));
      const order = [...sortedPositions(array, { dtype, start, step, length, descending })];
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length }, (_, k) => k));
      const element = (position: number): number | bigint => readElement(array, dtype, start + position * step) ?? 0;
      for (const [k, position] of order.slice(1).entries()) {
        const before = at(order, k);
        expect(isAhead(element(position), element(before), descending)).toBe(false);
        const isTied = !isAhead(element(before), element(position), descending);
        if (isTied) expect(before).toBeLessThan(position);
      }
      const some = sortedPositions(array, { dtype, start, step, length, descending }, Math.min(first, length));
      expect([...some.subarray(0, first)]).toEqual(order.slice(0, first));
    }),
    { numRuns: 60 },
  );
});

test('long rows, whose digits have 11 bits', () => {
  const array = Float32Array.from({ length: 10_000 }, (_, k) => Math.sin(k * 1.7) * 10 ** (k % 7));
  const order = sortedPositions(array, { dtype: 'f32', start: 0, step: 1, length: array.length, descending: false });
  expect(Float32Array.from(order, (position) => at([...array.subarray(position, position + 1)], 0))).toEqual(
    array.slice().sort(),
  );
});
