// An index out of range is an error whatever it is an index of: values that are alike along an axis, computed where they are read, too.
import { expect, test } from '@jest/globals';
import { compile, full, nn, ones, tensor, where, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const x = tensor([1, 2, 3, 4, 5], { dtype: 'f32' });
const index = (value: number): Tensor => tensor([value], { dtype: 'i64' });

/** Each picks one of five. */
const picks: Readonly<Record<string, (x: Tensor, at: Tensor) => Tensor>> = {
  'of zeros': (_, at) => zeros([5]).gather(0, at),
  'of ones, beside others': (y, at) => ones([5]).indexSelect(0, at).add(y),
  'of a number': (y, at) => full([5], 2).take(at).add(y),
  'of half precision': (_, at) => full([5], 2, { dtype: 'f16' }).gather(0, at).to('f32'),
  'of integers': (_, at) => full([5], 7, { dtype: 'i64' }).gather(0, at),
  'of flags': (_, at) => full([5], true).gather(0, at),
  'of rows': (y, at) =>
    nn.functional
      .embedding(at, zeros([5, 2]))
      .sum()
      .add(y),
  'of a target': (y, at) => zeros([1, 5]).crossEntropy(at).add(y),
  'of what is added to all': (y, at) =>
    zeros([5])
      .add(y.slice(0, 0, 1))
      .gather(0, at),
  'of what a condition chooses': (y, at) => where(y.gt(0).slice(0, 0, 1), zeros([5]), 1).gather(0, at),
  'of rows that are alike': (y, at) =>
    y
      .reshape([1, 5])
      .mul(ones([5, 1]))
      .indexSelect(0, at)
      .sum(),
  'that nobody uses': (y, at) => {
    zeros([5]).gather(0, at);
    return y.add(1);
  },
};

test.each(Object.entries(picks))('%s', (_, pick) => {
  const compiled = compile(pick);
  for (const place of [0, 4]) expect(compiled(x, index(place)).toArray()).toEqual(pick(x, index(place)).toArray());
  for (const place of [-6, 5, 100, 2 ** 40]) {
    expect(() => pick(x, index(place))).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }));
    expect(() => compiled(x, index(place))).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }));
  }
});

test('of an index that is a constant', () => {
  const compiled = compile((y: Tensor) => zeros([5]).gather(0, index(100)).add(y));
  expect(() => compiled(x)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }));
});
