// Indices as values: which operators count negative ones from the end, as PyTorch's do, and which refuse them; and calls by
// no index at all. Each is run eagerly and compiled.
import { describe, expect, test } from '@jest/globals';
import { arange, cat, compile, nn, ones, tensor, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { functional } = nn;
const x = arange(3).to('f32');
const source = tensor([5, 6], { dtype: 'f32' });
const matrix = arange(6).to('f32').reshape([3, 2]);
const classes = (index: Tensor): Tensor => cat([index, tensor([1])]);
const out = expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' });

type ByIndex = (index: Tensor) => Tensor;

const refusing: Readonly<Record<string, ByIndex>> = {
  gather: (i) => x.gather(0, i),
  scatter: (i) => x.scatter(0, i, source),
  scatterAdd: (i) => x.scatterAdd(0, i, source),
  scatterReduce: (i) => x.scatterReduce(0, i, source, 'amax'),
  indexSelect: (i) => x.indexSelect(0, i),
  'indexSelect of a 0-d tensor': (i) => x.at(0).indexSelect(0, i.at(1)),
  indexAdd: (i) => x.indexAdd(0, i, source),
  indexCopy: (i) => x.indexCopy(0, i, source),
  indexReduce: (i) => x.indexReduce(0, i, source, 'amax'),
  takeAlongDim: (i) => x.takeAlongDim(i, 0),
  embedding: (i) => functional.embedding(i, matrix),
  embeddingBag: (i) => functional.embeddingBag(i.reshape([1, 2]), matrix),
  oneHot: (i) => functional.oneHot(i, 3),
  nllLoss: (i) => functional.nllLoss(matrix, classes(i)),
  crossEntropy: (i) => functional.crossEntropy(matrix, classes(i)),
  multiMarginLoss: (i) => functional.multiMarginLoss(matrix, classes(i)),
  maxUnpool1d: (i) => functional.maxUnpool1d(ones([1, 1, 2]), i.reshape([1, 1, 2]), 2),
};

const wrapping: Readonly<Record<string, ByIndex>> = {
  at: (i) => x.at(i),
  take: (i) => x.take(i),
  put: (i) => x.put(i, source),
  indexFill: (i) => x.indexFill(0, i, 9),
  indexPut: (i) => x.indexPut([i], source),
};

describe('an index of -1', () => {
  test.each(Object.entries(refusing))('is refused by %s', (_, fn) => {
    for (const run of [fn, compile(fn)]) {
      expect(() => run(tensor([0, -1]))).toThrow(out);
      expect(() => run(tensor([0, 0]))).not.toThrow();
    }
  });
  test.each(Object.entries(wrapping))('is the last one for %s', (_, fn) => {
    for (const run of [fn, compile(fn)]) {
      expect(run(tensor([0, -1])).toArray()).toEqual(fn(tensor([0, 2])).toArray());
      expect(() => run(tensor([0, -7]))).toThrow(out);
    }
  });
});

const none = (...shape: number[]): Tensor => zeros(shape, { dtype: 'i64' });

describe('by no index at all, a compiled function gives what eager mode gives', () => {
  test.each<[string, (x: Tensor, i: Tensor, s: Tensor) => Tensor, () => [Tensor, Tensor, Tensor]]>([
    [
      'scatter by an index that was reshaped',
      (_, i, s) => zeros([8, 30]).scatter(1, i.reshape([8, 0]), s.reshape([8, 0])),
      () => [ones([1]), none(8, 8, 0), zeros([8, 8, 0])],
    ],
    [
      'scatterAdd by an index that was transposed',
      (_, i, s) => zeros([3, 8]).scatterAdd(0, i.t(), s.t()),
      () => [ones([1]), none(8, 0), zeros([8, 0])],
    ],
    [
      'scatter by an index of a narrower batch',
      (y, i, s) => y.add(1).scatter(0, i.narrow(0, 0, 0), s),
      () => [ones([4, 3]), none(2, 3), zeros([2, 3])],
    ],
    [
      'indexAdd of nothing',
      (y, i, s) => y.indexAdd(0, i.flatten(), s),
      () => [ones([4, 3]), none(0, 2), zeros([0, 3])],
    ],
    [
      'indexPut of nothing',
      (_, i, s) => zeros([4]).indexPut([i.flatten()], s.flatten()),
      () => [ones([1]), none(2, 0), zeros([0, 2])],
    ],
    [
      'maxUnpool2d of no batch',
      (y, i) => functional.maxUnpool2d(y, i, 3, [1, 2]),
      () => [zeros([0, 2, 4, 4]), none(0, 2, 4, 4), ones([1])],
    ],
    [
      'scatter by an index without columns, flattened',
      (_, i, s) => zeros([8]).scatter(0, i.flatten(), s.flatten()),
      () => [ones([1]), none(8, 0), zeros([8, 0])],
    ],
  ])('%s', (_, fn, make) => {
    const expected = fn(...make());
    for (const options of [{}, { dynamic: true }]) {
      const found = compile(fn, options)(...make());
      expect([found.shape, found.toArray()]).toEqual([expected.shape, expected.toArray()]);
    }
  });
});
