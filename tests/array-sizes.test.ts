// Where the arrays of the benchmark's programs lie: sizes from what the system says of its caches, and from what reading costs.
import { describe, expect, test } from '@jest/globals';
import { describeSizes, sizesFor, standardSizes } from '../benchmarks/src/array-sizes.ts';
import type { ArraySizes } from '../benchmarks/src/array-sizes.ts';
import { suitesOf } from '../benchmarks/src/suites.ts';

const mebibyte = 1 << 20;
const two = { threads: 2, room: 8192 * mebibyte };
const never = (): Promise<number> => Promise.reject(new Error('nothing is to be measured'));

describe('sizes', () => {
  test('are the standard ones where no cache may hold what counts as memory, without a measurement', async () => {
    const standard = { sizes: standardSizes };
    expect(await sizesFor({ second: mebibyte, last: 32 * mebibyte }, two, never)).toEqual(standard);
    expect(await sizesFor({}, { ...two, threads: 64 }, never)).toEqual(standard);
  });

  test('in the last-level cache are more than the second-level caches of all threads hold', async () => {
    const { sizes } = await sizesFor({ second: 2 * mebibyte, last: 32 * mebibyte }, two, never);
    expect(sizes.lastLevel).toBe(16 * mebibyte);
  });

  test.each([
    [2, 16, 4, 'has no room for two'],
    [2, 0, 4, 'is not there'],
    [64, 512, 16, 'has room, but arrays would be those of memory'],
    [1, 512, 4, 'is the next beside few others'],
  ])(
    'beside %i MiB for each of two threads a last-level cache of %i MiB has arrays of %i, since it %s',
    async (second, last, size) => {
      const caches = { second: second * mebibyte, last: last * mebibyte };
      expect((await sizesFor(caches, two)).sizes.lastLevel).toBe(size * mebibyte);
    },
  );

  test.each([
    [60, 31, 256],
    [33, 31, 64],
  ])('in memory, of which %i read and %i of the largest, are %i MiB', async (near, far, size) => {
    const asked: number[] = [];
    const rateOf = (bytes: number): Promise<number> => {
      asked.push(bytes / mebibyte);
      return Promise.resolve(bytes === 64 * mebibyte ? near : far);
    };
    const caches = { second: mebibyte, last: 480 * mebibyte };
    const chosen = await sizesFor(caches, two, rateOf);
    expect(chosen).toEqual({ sizes: { ...standardSizes, memory: size * mebibyte } });
    expect(asked.sort((left, right) => left - right)).toEqual([64, 256]);
    expect(await sizesFor(caches, two)).toEqual({ sizes: standardSizes });
    const { sizes, note } = await sizesFor(caches, { ...two, room: 1024 * mebibyte }, rateOf);
    expect(sizes).toEqual(standardSizes);
    expect(note?.includes('fewer --peers') ?? false).toBe(size === 256);
  });

  test('are told', () => {
    expect(describeSizes(standardSizes)).toBe('arrays of 256 KiB in cache, 4 MiB in L3, 64 MiB in memory');
  });

  test.each([standardSizes, { cache: mebibyte / 4, lastLevel: 16 * mebibyte, memory: 256 * mebibyte }])(
    'are those of the main arrays, which stay square: %j',
    (sizes: ArraySizes) => {
      const places = { 'in cache': sizes.cache, 'in L3': sizes.lastLevel, 'in memory': sizes.memory };
      for (const [place, bytes] of Object.entries(places)) {
        const transposed = suitesOf(sizes)['memory-bound']?.find(({ name }) => name === `transpose ${place}`);
        expect(transposed?.outputs).toEqual([bytes / 4]);
        expect(Number.isInteger(transposed?.params['rows'])).toBe(true);
      }
    },
  );
});
