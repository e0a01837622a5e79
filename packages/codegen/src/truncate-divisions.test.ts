// Divisions round toward zero exactly where their dividends are never negative, and have the same values.
import { expect, test } from '@jest/globals';
import {
  add,
  axisIndex,
  evaluateIndex,
  floorDivide,
  int,
  modulo,
  multiply,
  printIndex,
  subtract,
} from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { truncateDivisions } from './truncate-divisions.ts';

const [i, j] = ['i', 'j'].map((name) => axisIndex({ name, extent: int(30) })) as [Index, Index];
const apart = subtract(i, j);

test.each([
  { index: floorDivide(i, int(4)), text: 'i quot 4' },
  { index: modulo(i, int(4)), text: 'i rem 4' },
  { index: floorDivide(apart, int(4)), text: '(i - j) / 4' },
  { index: modulo(apart, int(4)), text: '(i - j) % 4' },
  { index: add(multiply(modulo(apart, int(7)), int(8)), floorDivide(j, int(3))), text: 'j quot 3 + (i - j) % 7 * 8' },
  {
    index: floorDivide(add(modulo(apart, int(7)), floorDivide(j, int(3))), int(5)),
    text: '(j quot 3 + (i - j) % 7) quot 5',
  },
  { index: subtract(multiply(i, int(2)), floorDivide(j, int(3))), text: 'i * 2 - j quot 3' },
])('$text', ({ index, text }) => {
  const truncated = truncateDivisions(index);
  expect(printIndex(truncated)).toBe(text);
  for (let a = 0; a < 30; a += 1) {
    for (let b = 0; b < 30; b += 1) {
      const axes = new Map([
        ['i', a],
        ['j', b],
      ]);
      expect(evaluateIndex(truncated, { axes })).toBe(evaluateIndex(index, { axes }));
    }
  }
});

test('what has no such division comes back by identity', () => {
  for (const index of [i, add(i, multiply(j, int(8))), floorDivide(apart, int(4))])
    expect(truncateDivisions(index)).toBe(index);
});

test('a division that rounds toward zero is told from a floor division where the dividend is negative', () => {
  const axes = new Map(Object.entries({ i: 0, j: 7 }));
  const wrong = (index: Index): Index => ({ ...index, rounding: 'toZero' }) as Index;
  const [quotient, rest] = [floorDivide(apart, int(4)), modulo(apart, int(4))];
  expect([quotient, rest].map((index) => evaluateIndex(index, { axes }))).toEqual([-2, 1]);
  expect([wrong(quotient), wrong(rest)].map((index) => evaluateIndex(index, { axes }))).toEqual([-1, -3]);
});
