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

  test.each([
    ['numbers of a small range', 'i64', (k: number) => BigInt(-3 + ((k * 7919) % 11))],
    ['a range that leaves numbers out', 'i32', (k: number) => ((k * 31) % 13) * 40 - 100],
    ['bytes', 'u8', (k: number) => (k * k) % 256],
    ['numbers of 8 bits with a sign', 'i8', (k: number) => ((k * 5) % 256) - 128],
    ['bools', 'bool', (k: number) => k % 3 === 0],
    ['numbers that are all one', 'i64', () => -5n],
    ['a range wider than the vector', 'i64', (k: number) => BigInt((k % 3) * 1e6)],
    ['a small range of numbers that no double tells apart', 'i64', (k: number) => 2n ** 60n + BigInt(k % 5)],
    ['few different floats', 'f32', (k: number) => (k % 4) / 2],
  ] as const)('unique of thousands of elements: %s', (_, dtype, elementAt) => {
    const elements = Array.from({ length: 4100 }, (_, k) => elementAt(k));
    const x = tensor(elements, { dtype }).reshape([2, 2050]);
    const distinct = [...new Set<unknown>(elements)].sort((a, b) => Number((a as bigint) > (b as bigint)) * 2 - 1);
    const found = unique(x, { returnInverse: true, returnCounts: true }) as Tensor[];
    const [values, inverse, counts] = found.map((one) => one.flatten().toArray());
    const asGiven = (list: unknown): unknown => (list as (number | bigint | boolean)[]).map((one) => BigInt(one));
    const whole = dtype === 'f32' ? (list: unknown): unknown => list : asGiven;
    expect(whole(values)).toEqual(whole(distinct));
    expect(inverse).toEqual(elements.map((element) => distinct.indexOf(element)));
    expect(counts).toEqual(distinct.map((one) => elements.filter((element) => element === one).length));
    expect(found.map((one) => [one.dtype, one.shape])).toEqual([
      [dtype, [distinct.length]],
      ['i64', [2, 2050]],
      ['i64', [distinct.length]],
    ]);
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
