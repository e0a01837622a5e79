// Searches of sorted sequences, against counting what is below.
import { describe, expect, test } from '@jest/globals';
import { bucketize, isin, manualSeed, randint, randn, searchsorted, tensor } from './index.ts';
import type { Tensor } from './index.ts';

const numbers = (x: Tensor): readonly number[] => (x.flatten().toArray() as (number | bigint)[]).map(Number);

/** How many elements lie before a value's place: those that are less, or not greater. */
const counted = (sorted: readonly number[], value: number, right: boolean): number =>
  sorted.filter((element) => !(right ? element > value : element >= value)).length;

describe('searchsorted', () => {
  manualSeed(5);
  test.each([0, 1, 2, 3, 7, 8, 31, 100])('in %i elements, with equal ones among them', (length) => {
    const [sorted] = randint(-10, 10, [length]).sort();
    const values = randint(-12, 12, [40]);
    for (const right of [false, true]) {
      const found = searchsorted(sorted, values, { right });
      expect(found.dtype).toBe('i64');
      expect(numbers(found)).toEqual(numbers(values).map((value) => counted(numbers(sorted), value, right)));
    }
  });

  test('a sequence for each row of values', () => {
    const [sorted] = randn([3, 20]).sort();
    const values = randn([3, 6]);
    const expected = [0, 1, 2].flatMap((row) =>
      numbers(values.select(0, row)).map((value) => counted(numbers(sorted.select(0, row)), value, false)),
    );
    expect(numbers(searchsorted(sorted, values))).toEqual(expected);
  });

  test('sequences that do not ascend, by the middles of a binary search', () => {
    for (const length of [1, 2, 5, 8, 13, 31, 100]) {
      const [sequence, values] = [randint(-10, 10, [length]), randint(-12, 12, [60])];
      const elements = numbers(sequence);
      const searched = (value: number): number => {
        let [start, end] = [0, length];
        while (start < end) {
          const middle = start + ((end - start) >> 1);
          if ((elements[middle] ?? NaN) >= value) end = middle;
          else start = middle + 1;
        }
        return start;
      };
      expect(numbers(searchsorted(sequence, values))).toEqual(numbers(values).map(searched));
    }
  });

  test('what no element reaches goes behind all, where NaN is one of them too', () => {
    const sorted = tensor([-1, 0, 2, NaN]);
    expect(numbers(searchsorted(sorted, tensor([NaN, Infinity, -Infinity, 0])))).toEqual([4, 4, 0, 1]);
  });

  test('a sorter says in which order the sequence is sorted', () => {
    const sequence = tensor([3, 1, 2]);
    const [, indices] = sequence.sort();
    expect(numbers(searchsorted(sequence, tensor([2.5, 0]), { sorter: indices }))).toEqual([2, 0]);
  });

  test.each<[string, () => Tensor, string]>([
    ['rows that differ', () => searchsorted(randn([1, 3]), randn([2, 3])), 'SHAPE_MISMATCH'],
    ['a 0-d sequence', () => searchsorted(tensor(1), randn([2])), 'SHAPE_MISMATCH'],
    [
      'a sorter of another shape',
      () => searchsorted(randn([3]), randn([2]), { sorter: tensor([[0, 1, 2]], { dtype: 'i64' }) }),
      'SHAPE_MISMATCH',
    ],
    [
      'a sorter of i32',
      () => searchsorted(randn([3]), randn([2]), { sorter: tensor([0, 1, 2], { dtype: 'i32' }) }),
      'DTYPE_MISMATCH',
    ],
    ['an unknown side', () => searchsorted(randn([3]), randn([2]), { side: 'middle' as 'left' }), 'ARGUMENT_VALUE'],
    [
      'sides that contradict each other',
      () => searchsorted(randn([3]), randn([2]), { side: 'left', right: true }),
      'ARGUMENT_VALUE',
    ],
    ['boundaries that are no vector', () => bucketize(randn([3]), randn([2, 2])), 'SHAPE_MISMATCH'],
  ])('%s: an error', (_, call, code) => {
    expect(call).toThrow(expect.objectContaining({ code }));
  });
});

test('bucketize: the interval between boundaries, in i32 if wanted', () => {
  const found = bucketize(tensor([0.5, 1, 7]), tensor([0, 1, 2]), { right: true, outInt32: true });
  expect(found.dtype).toBe('i32');
  expect(numbers(found)).toEqual([1, 2, 3]);
});

test.each([0, 3, 16, 17, 200])('isin among %i elements', (length) => {
  const [elements, among] = [randint(0, 300, [4, 25]), randint(0, 300, [length])];
  const known = new Set(numbers(among));
  const expected = numbers(elements).map((element) => Number(known.has(element)));
  expect(numbers(isin(elements, among).to('i64'))).toEqual(expected);
  expect(numbers(isin(elements, among, { invert: true }).to('i64'))).toEqual(expected.map((hit) => 1 - hit));
});
