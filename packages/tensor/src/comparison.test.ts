// Tensors as members of a program's values: what test runners, structuredClone and JSON make of them.
import { deepEqual, deepStrictEqual, notDeepEqual, notDeepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { ones, tensor, zeros } from './index.ts';
import type { Tensor } from './index.ts';

const f32 = (...values: number[]): Tensor => tensor(values, { dtype: 'f32' });

describe('toEqual, toStrictEqual and deepStrictEqual compare values', () => {
  test.each<[string, unknown, unknown]>([
    ['vectors', f32(1, 2), f32(1, 2)],
    ['0-d tensors', tensor(2), tensor(2)],
    [
      'however they lie in memory',
      tensor([
        [1, 2],
        [3, 4],
      ]).t(),
      tensor([
        [1, 3],
        [2, 4],
      ]),
    ],
    [
      'parts of others',
      tensor([
        [1, 2],
        [3, 4],
      ]).at(1),
      tensor([3, 4]),
    ],
    ['NaN', f32(NaN), f32(NaN)],
    ['NaN of any bits', f32(NaN), tensor([-1], { dtype: 'f32' }).sqrt()],
    ['halves', tensor([1, NaN], { dtype: 'f16' }), tensor([1, NaN], { dtype: 'f16' })],
    ['no elements', zeros([0, 2]), zeros([0, 2])],
    ['members of objects', { a: [f32(1)] }, { a: [f32(1)] }],
  ])('%s that are equal', (_, x, y) => {
    expect(x).toEqual(y);
    expect(x).toStrictEqual(y);
    deepStrictEqual(x, y);
    deepEqual(x, y);
    expect(isDeepStrictEqual(x, y)).toBe(true);
  });

  test.each<[string, unknown, unknown]>([
    ['values', f32(1, 2), f32(1, 3)],
    ['values of 0-d tensors', tensor(1), tensor(2)],
    ['shapes', ones([2, 1]), ones([1, 2])],
    ['shapes without elements', zeros([0, 2]), zeros([0, 3])],
    ['dtypes', f32(1), tensor([1])],
    ['the signs of zeros', f32(0), f32(-0)],
    ['members', { a: [f32(1)] }, { a: [f32(2)] }],
    ['kinds', f32(1), [1]],
  ])('%s that differ', (_, x, y) => {
    expect(x).not.toEqual(y);
    expect(x).not.toStrictEqual(y);
    notDeepStrictEqual(x, y);
    notDeepEqual(x, y);
    expect(isDeepStrictEqual(x, y)).toBe(false);
  });
});

test('a tensor is iterated along its first dim', () => {
  const [first, second] = tensor([
    [1, 2],
    [3, 4],
  ]);
  expect([first?.toArray(), second?.toArray()]).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect([...f32(5, 6)].map((x) => x.item())).toEqual([5, 6]);
  let count = 0;
  for (const part of zeros([200_000])) count += part.numel;
  expect(count).toBe(200_000);
});

test('structuredClone refuses a tensor, and says what to send', () => {
  expect(() => structuredClone({ x: f32(1) })).toThrow(/a tensor, of which to send toTypedArray\(\)/);
});

test('JSON has the elements', () => {
  expect(JSON.stringify({ a: f32(1, 2), b: tensor(true), c: tensor([[1n]]) })).toBe('{"a":[1,2],"b":true,"c":[[1]]}');
});

/** What Jest prints of two values that are not equal, without its colours. */
function shown(received: unknown, expected: unknown): string {
  try {
    expect(received).toEqual(expected);
  } catch (error) {
    // eslint-disable-next-line no-control-regex -- the colours are such characters
    return (error as Error).message.replace(/\u001b\[\d+m/g, '');
  }
  return '';
}

test('how tensors differ is shown by their elements, else by dtype and shape', () => {
  expect(shown(f32(1, 2), f32(1, 3))).toMatch(/Array \[\n\s+1,\n- +3,\n\+ +2,\n\s+\]/);
  expect(
    shown(
      {
        a: tensor([
          [1, 2],
          [3, 4],
        ]),
      },
      {
        a: tensor([
          [1, 2],
          [3, 5],
        ]),
      },
    ),
  ).toMatch(/3,\n- +5,\n\+ +4,/);
  expect(shown(tensor(1), tensor(2))).toMatch(/\n- 2\n\+ 1/);
  expect(shown(f32(1), tensor([1]))).toMatch(/- +"dtype": "i64",\n\+ +"dtype": "f32",/);
  expect(shown(zeros([0, 2]), zeros([0, 3]))).toMatch(/- +3,\n\+ +2,/);
});
