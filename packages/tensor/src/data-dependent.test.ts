import { describe, expect, test } from '@jest/globals';
import {
  arange,
  bincount,
  cat,
  maskedSelect,
  nn,
  nonzero,
  randn,
  slice,
  tensor,
  unique,
  uniqueConsecutive,
  zeros,
} from './index.ts';
import { dispatch, trace } from './internal.ts';
import type { Tensor } from './index.ts';

const lists = (found: Tensor | Tensor[]): unknown[] => [found].flat().map((x) => x.toArray());

describe('functions whose results depend on values', () => {
  test('nonzero', () => {
    const x = tensor([
      [0, 2],
      [3, 0],
    ]);
    expect(lists(x.nonzero())).toEqual([
      [
        [0, 1],
        [1, 0],
      ],
    ]);
    expect(lists(nonzero(x, { asTuple: true }))).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(x.argwhere().shape).toEqual([2, 2]);
    expect([tensor(5).nonzero().shape, tensor(0).nonzero().shape, zeros([0, 3]).nonzero().shape]).toEqual([
      [1, 0],
      [0, 0],
      [0, 2],
    ]);
    expect(tensor([NaN, -0, 0]).nonzero().toArray()).toEqual([[0]]);
  });

  test('maskedSelect broadcasts', () => {
    expect(
      arange(6)
        .reshape([2, 3])
        .maskedSelect(tensor([true, false, true]))
        .toArray(),
    ).toEqual([0, 2, 3, 5]);
    expect(() => maskedSelect(arange(3), arange(3))).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });

  test('unique sorts, and knows where everything came from', () => {
    const x = tensor([3, 1, 3, 2]);
    expect(lists(unique(x, { returnInverse: true, returnCounts: true }))).toEqual([
      [1, 2, 3],
      [2, 0, 2, 1],
      [1, 1, 2],
    ]);
    expect(
      lists(
        tensor([
          [1, 2],
          [0, 5],
          [1, 2],
        ]).unique({ dim: 0 }),
      ),
    ).toEqual([
      [
        [0, 5],
        [1, 2],
      ],
    ]);
    expect(lists(unique(tensor([2, NaN, 1, NaN])))).toEqual([[1, 2, NaN, NaN]]);
    expect(lists(unique(tensor([2n ** 60n + 1n, 2n ** 60n])))).toEqual([[2n ** 60n, 2n ** 60n + 1n]]);
  });

  test('uniqueConsecutive', () => {
    expect(lists(uniqueConsecutive(tensor([1, 1, 2, 2, 1]), { returnCounts: true }))).toEqual([
      [1, 2, 1],
      [2, 2, 1],
    ]);
  });

  test('bincount', () => {
    expect(bincount(tensor([1, 3, 1]), { minlength: 6 }).toArray()).toEqual([0, 2, 0, 1, 0, 0]);
    expect(
      tensor([0, 1, 1])
        .bincount({ weights: tensor([0.5, 1, 2]) })
        .toArray(),
    ).toEqual([0.5, 3]);
    expect(() => bincount(tensor([-1]))).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });

  test('operators that take a tensor where its values decide the shape', () => {
    expect(
      arange(3)
        .repeatInterleave(tensor([2, 0, 1]))
        .toArray(),
    ).toEqual([0, 0, 2]);
    expect(nn.functional.oneHot(tensor([0, 2])).shape).toEqual([2, 3]);
    expect(
      zeros([3])
        .indexPut([tensor([true, false, true])], tensor([1, 2], { dtype: 'f32' }))
        .toArray(),
    ).toEqual([1, 0, 2]);
    expect(cat(arange(5).tensorSplit(tensor([1, 3]) as never)).toArray()).toEqual([0, 1, 2, 3, 4]);
  });

  test('ctcLoss takes targets one behind the other, and lengths as lists', () => {
    const loss = (...given: unknown[]): unknown =>
      (dispatch('ctcLoss', given, { reduction: 'none' }) as Tensor).toArray();
    const logs = randn([6, 2, 4]).logSoftmax(-1);
    const padded = tensor([
      [1, 2, 2],
      [3, 0, 0],
    ]);
    const lengths = [tensor([6, 5]), tensor([3, 1])];
    expect(loss(logs, tensor([1, 2, 2, 3]), ...lengths)).toEqual(loss(logs, padded, ...lengths));
    expect(loss(logs, padded, [6, 5], [3, 1])).toEqual(loss(logs, padded, ...lengths));
    // A single step says a single class: the loss is that of the class.
    const single = loss(logs.at(slice(0, 1)), tensor([[1], [2]]), tensor([1, 1]), tensor([1, 1]));
    expect(single).toEqual([logs.at(0, 0, 1).neg().item(), logs.at(0, 1, 2).neg().item()]);
    expect(loss(logs, padded, tensor([1, 5]), tensor([3, 1]))).toEqual([Infinity, expect.any(Number)]);
  });

  test('none of them can be traced', () => {
    const reads: ((x: Tensor) => unknown)[] = [
      (x) => x.nonzero(),
      (x) => x.maskedSelect(x.gt(0)),
      (x) => unique(x),
      (x) => bincount(x),
      (x) => x.repeatInterleave(x),
      (x) => nn.functional.oneHot(x),
    ];
    for (const read of reads) {
      expect(() => trace((x) => (read(x), x), [arange(3)])).toThrow(
        expect.objectContaining({ code: 'DATA_DEPENDENT' }),
      );
    }
  });
});
