import { describe, expect, test } from '@jest/globals';
import { parseIndex } from '@tsinductor/testing';
import type { Extents } from '@tsinductor/testing';
import type { Index } from '../index-expr.ts';
import { printIndex } from '../print/print-index.ts';
import { coefficientOf } from './linear-form.ts';
import { freeAxes, freeSizes } from './query.ts';
import { rangeOf } from './range.ts';
import { substitute } from './substitute.ts';
import { axisIndex, int, multiply, sizeSymbol } from './polynomial.ts';
import { floorDivide } from './divide.ts';

const constant: Extents = { i: 8, j: 4, k: 3 };
const symbolic: Extents = { i: 's0', j: 's1', k: 's2' };

const expectSimplified = (text: string, to: string, extents: Extents = constant): void =>
  expect(printIndex(parseIndex(text, extents))).toBe(to);

describe('sums and products', () => {
  test.each([
    ['i * 4096 + j', 'i * 4096 + j'],
    ['j + i', 'i + j'],
    ['j - i', 'j - i'],
    ['3 - i', '3 - i'],
    ['(i + j) * 4 - j * 4', 'i * 4'],
    ['(i + 1) * (j + 1)', 'i * j + i + j + 1'],
    ['i * s0 + j * s0', 'i * s0 + j * s0'],
    ['-(i + 1)', '-i - 1'],
    ['i * 0', '0'],
    ['2 * 3 + 4', '10'],
  ])('%s = %s', (text, to) => expectSimplified(text, to));
});

describe('divisions that ranges decide', () => {
  test.each([
    ['(i * 4 + j) / 4', 'i'],
    ['(i * 4 + j) % 4', 'j'],
    ['(i * 12 + j * 3 + k) / 12', 'i'],
    ['(i * 12 + j * 3 + k) / 3 % 4', 'j'],
    ['(i * 12 + j * 3 + k) % 12 / 3', 'j'],
    ['(i * 12 + j) / 8', 'i + i / 2'],
    ['(i * 4 + 2) / 8', 'i / 2'],
    ['(i * 4 + 2) % 8', 'i % 2 * 4 + 2'],
    ['(i * 5) % 4', 'i % 4'],
    ['(i + 5) / 4', '(i + 1) / 4 + 1'],
    ['j / 4', '0'],
    ['(j + 4) / 4', '1'],
    ['(3 - j) % 4', '3 - j'],
    ['i / 2 / 2', 'i / 4'],
    ['i % 8 % 4', 'i % 4'],
    ['(i % 4 + 3) % 2', '(i + 1) % 2'],
    ['i / 4 * 4 + i % 4', 'i'],
    ['(i * 4 + j) / 6 * 6 + (i * 4 + j) % 6', 'i * 4 + j'],
    ['i * 2 * (j / 2) + i * (j % 2)', 'i * j'],
    ['i / 4 * 4 + i / 2 % 2 * 2 + i % 2', 'i'],
    ['ceil(i + 1, 1)', 'i + 1'],
    ['ceil(s0 * 4, 4)', 's0'],
  ])('%s = %s', (text, to) => expectSimplified(text, to));
});

describe('symbolic divisions', () => {
  test.each([
    ['(i * s1 + j) / s1', 'i'],
    ['(i * s1 + j) % s1', 'j'],
    ['(i * s1 * s2 + j * s2 + k) / (s1 * s2)', 'i'],
    ['(i * s1 * s2 + j * s2 + k) / s2 % s1', 'j'],
    ['(i * s1 * s2 + j * s2 + k) % (s1 * s2) / s2', 'j'],
    ['(i * s1 * s2 + j * s2 + k) / s2 / s1', 'i'],
    ['(j * s2 + k) / (s1 * s2)', '0'],
    ['(i * s2 + k) / (s1 * s2)', 'i / s1'],
    ['(i * s2 + k) % (s1 * s2)', 'k + i % s1 * s2'],
    ['(i * s1 + j) / (s0 * s1)', '0'],
    ['(i * 4 * s1 + j * 4 + 3) / 4', 'i * s1 + j'],
    ['(i * 4 * s1 + j * 4 + 3) / 4 / s1', 'i'],
    ['s0 * s1 / s0', 's1'],
    ['s0 * s1 % s0', '0'],
    ['i / s1 * s1 + i % s1', 'i'],
    ['(s0 - 1 - i) / s0', '0'],
    ['(s0 - 1 - i) % s0', 's0 - i - 1'],
  ])('%s = %s', (text, to) => expectSimplified(text, to, symbolic));

  test.each([
    ['(i * (s1 + 1) + j) / (s1 + 1)', 'i'],
    ['(i * (s1 + 1) + j) % (s1 + 1)', 'j'],
    ['(i * (s1 + s2) + j) / (s1 + s2)', 'i'],
  ])('%s = %s by a sum', (text, to) => expectSimplified(text, to, { i: 's0', j: 's1 + 1' }));
});

describe('minimum and maximum', () => {
  test.each([
    ['min(i, 100)', 'i'],
    ['max(i, 0)', 'i'],
    ['min(i, 5)', 'min(i, 5)'],
    ['min(min(i, 5), 3)', 'min(i, 3)'],
    ['max(i - 3, 0)', 'max(i - 3, 0)'],
    ['min(i, i + 1)', 'i'],
    ['max(s0, s0 + s1)', 's0 + s1'],
    ['min(max(s0, 1), 1)', '1'],
  ])('%s = %s', (text, to) => expectSimplified(text, to));
  test('an axis is below its extent', () => expectSimplified('min(i, s0 - 1)', 'i', symbolic));
});

describe('text', () => {
  test.each([
    ['i * (j / 2)', 'i * (j / 2)'],
    ['i / 3 * j', 'j * (i / 3)'],
    ['(i + j) / 3 % 2', '(i + j) / 3 % 2'],
    ['i / (s0 * 3)', 'i / (s0 * 3)'],
    ['(-i) / 3', '(-i) / 3'],
  ])('%s prints as %s', (text, to) => expectSimplified(text, to));
});

describe('queries', () => {
  const index = parseIndex('i * s1 + j * 3 + j / 2 * k', constant);
  test('names', () => {
    expect([...freeAxes(index)]).toEqual(['i', 'j', 'k']);
    expect([...freeSizes(index)]).toEqual(['s1']);
  });
  test('coefficients', () => {
    const stride = (axis: string): string => {
      const found = coefficientOf(index, axis);
      return found === undefined ? 'none' : printIndex(found);
    };
    expect([stride('i'), stride('j'), stride('k'), stride('l')]).toEqual(['s1', 'none', 'j / 2', '0']);
  });
  test('ranges', () => {
    expect(rangeOf(parseIndex('i * 4 + j - 1', constant))).toEqual({ min: -1, max: 30 });
    expect(rangeOf(parseIndex('s0 - 1 - i', symbolic))).toEqual({ min: 0, max: null });
    expect(rangeOf(parseIndex('i % 5 * 2', constant))).toEqual({ min: 0, max: 8 });
  });
  test('the range of quotients within each other is found in time that grows with their depth', () => {
    const [i, size] = [axisIndex({ name: 'i', extent: sizeSymbol('s0', 2) }), sizeSymbol('s1', 2)];
    let nested: Index = i;
    // A sum asks for the range of each of its factors several times, and so does the one around it.
    for (let depth = 0; depth < 24; depth += 1)
      nested = {
        kind: 'floorDiv',
        dividend: { kind: 'sum', items: [i, { kind: 'product', items: [nested, size] }] },
        divisor: size,
      };
    expect(rangeOf(nested)).toEqual({ min: 0, max: null });
  });
  test('substitution is canonical again and keeps what it does not touch', () => {
    const flat = parseIndex('i * 4 + j', constant);
    expect(substitute(flat, new Map([['z', int(1)]]))).toBe(flat);
    const whole = axisIndex({ name: 'w', extent: int(32) });
    const split = new Map([
      ['i', floorDivide(whole, int(4))],
      ['j', parseIndex('w % 4', { w: 32 })],
    ]);
    expect(substitute(flat, split)).toEqual(whole);
  });
  test('numbers beyond 2^53 are refused', () => {
    const huge = multiply(sizeSymbol('s0'), int(2 ** 40));
    expect(() => multiply(huge, int(2 ** 20))).toThrow(expect.objectContaining({ code: 'SIZE_OVERFLOW' }));
  });
});
