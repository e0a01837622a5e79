// Batches: every item once in each epoch, the same order in every run, and the same batches behind a saved position.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { arange, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { batches } from './index.ts';
import type { BatchOptions, BatchState } from './index.ts';

const numbersOf = (x: Tensor): number[] => x.flatten().toArray() as number[];
const items = (length: number): Tensor => arange(length, { dtype: 'i32' });
const epochsOf = (length: number, options: BatchOptions, epochs: number): number[][][] => {
  const made = batches(items(length), options);
  return Array.from({ length: epochs }, () => Array.from(made, numbersOf));
};

describe('batches', () => {
  test('are rows of every tensor, in the nesting that was given', () => {
    const images = arange(24, { dtype: 'f32' }).reshape([4, 3, 2]);
    const made = batches({ images, labels: [items(4)] as const }, { size: 3 });
    const found = [...made];
    expect(found.map(({ images: part }) => part.shape)).toEqual([
      [3, 3, 2],
      [1, 3, 2],
    ]);
    expect(found.map(({ labels: [part] }) => numbersOf(part))).toEqual([[0, 1, 2], [3]]);
    expect(found[1] === undefined ? [] : numbersOf(found[1].images)).toEqual([18, 19, 20, 21, 22, 23]);
  });

  test('are copies: what is done to one is not done to the data', () => {
    const data = tensor([1, 2], { dtype: 'f32' });
    for (const batch of batches(data, { size: 2 })) batch.mul_(0);
    expect(numbersOf(data)).toEqual([1, 2]);
  });

  test('have every item once in an epoch, in orders that differ and repeat by their seed', () => {
    fc.assert(
      fc.property(
        fc.record({
          length: fc.integer({ min: 1, max: 60 }),
          size: fc.integer({ min: 1, max: 20 }),
          seed: fc.nat(),
          dropLast: fc.boolean(),
        }),
        ({ length, size, seed, dropLast }) => {
          fc.pre(!dropLast || size <= length);
          const options = { size, seed, dropLast, shuffle: true };
          const epochs = epochsOf(length, options, 2);
          const whole = dropLast ? length - (length % size) : length;
          for (const epoch of epochs) {
            expect(new Set(epoch.flat()).size).toBe(whole);
            expect(epoch.flat().every((row) => row >= 0 && row < length)).toBe(true);
            expect(epoch.slice(0, -1).every((batch) => batch.length === size)).toBe(true);
          }
          expect(epochsOf(length, options, 2)).toEqual(epochs);
        },
      ),
      { numRuns: 60 },
    );
    const order = (seed: number): number[] => epochsOf(50, { size: 50, shuffle: true, seed }, 1).flat(2);
    expect(order(1)).not.toEqual(order(2));
    expect(order(2 ** 32 + 1)).not.toEqual(order(1));
    const [first, second] = epochsOf(50, { size: 50, shuffle: true }, 2);
    expect(first).not.toEqual(second);
  });

  test('come in every order as often: no item prefers a place', () => {
    const counts = new Map<string, number>();
    const made = batches(items(3), { size: 3, shuffle: true, seed: 4 });
    while (made.epoch < 6000)
      for (const batch of made) counts.set(numbersOf(batch).join(''), (counts.get(numbersOf(batch).join('')) ?? 0) + 1);
    expect(counts.size).toBe(6);
    // 1000 each, with a standard deviation of 29.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });

  test('follow a saved position as they would have come', () => {
    const options = { size: 4, shuffle: true, seed: 9 };
    const made = batches(items(18), options);
    for (let turn = 0; turn < 2; turn += 1) Array.from(made);
    let left = 3;
    for (const _ of made) if ((left -= 1) === 0) break;
    const state = JSON.parse(JSON.stringify(made.stateDict())) as BatchState;
    expect(state).toMatchObject({ epoch: 2, batch: 3 });
    const expected = [Array.from(made, numbersOf), Array.from(made, numbersOf)];
    expect(expected.map((epoch) => epoch.length)).toEqual([2, 5]);
    const again = batches(items(18), options);
    again.loadStateDict(state);
    expect([Array.from(again, numbersOf), Array.from(again, numbersOf)]).toEqual(expected);
    expect(again.epoch).toBe(4);
  });

  test('are what a data set makes of the numbers of its items', () => {
    const made = batches({ length: 5, batch: (rows) => Array.from(rows, (row) => `item ${String(row)}`) }, { size: 2 });
    expect([...made]).toEqual([['item 0', 'item 1'], ['item 2', 'item 3'], ['item 4']]);
    expect(made.length).toBe(3);
  });

  test('that could not be made are still to come', () => {
    let isBroken = true;
    const batch = (rows: Uint32Array): number => {
      if (isBroken && rows[0] === 2) throw new RangeError('torn');
      return rows[0] ?? -1;
    };
    const made = batches({ length: 3, batch }, { size: 1 });
    expect(() => [...made]).toThrow('torn');
    isBroken = false;
    expect([...made]).toEqual([2]);
  });
});

const loop: unknown[] = [];
loop.push({ again: loop });

describe('refused', () => {
  const data = items(4);
  const workers = { module: 'somewhere' };
  const made = batches(data, { size: 2, shuffle: true });
  const state = made.stateDict();
  test.each<[string, string, () => unknown]>([
    ['no options', 'DATA_OPTION', () => batches(data, undefined as never)],
    [
      'a path beside nothing',
      'DATA_OPTION',
      () => batches({ length: 2 }, { size: 1, workers: { module: './photos.js' } }),
    ],
    ['no position', 'DATA_STATE', () => batches(data, { size: 2 }).loadStateDict(null as never)],
    ['no size', 'DATA_OPTION', () => batches(data, {} as never)],
    ['a part of an item', 'DATA_OPTION', () => batches(data, { size: 1.5 })],
    ['a seed that is no number', 'DATA_OPTION', () => batches(data, { size: 1, seed: 'x' as never })],
    ['a word for a switch', 'DATA_OPTION', () => batches(data, { size: 1, shuffle: 'yes' as never })],
    ['fewer items than one batch', 'DATA_OPTION', () => batches(data, { size: 5, dropLast: true })],
    ['an option of PyTorch', 'DATA_OPTION_UNKNOWN', () => batches(data, { size: 1, numWorkers: 2 } as never)],
    ['no items', 'DATA_DATASET', () => batches(items(0), { size: 1 })],
    ['a number', 'DATA_DATASET', () => batches(tensor(3), { size: 1 })],
    ['no tensors', 'DATA_DATASET', () => batches({}, { size: 1 })],
    ['rows that differ', 'DATA_DATASET', () => batches({ a: items(3), b: items(4) }, { size: 1 })],
    ['what is within itself', 'DATA_DATASET', () => batches(loop as never, { size: 1 })],
    ['text', 'DATA_DATASET', () => batches('abc' as never, { size: 1 })],
    ['an object of a class', 'DATA_DATASET', () => batches({ a: new Date(0) } as never, { size: 1 })],
    ['workers beside tensors', 'DATA_OPTION', () => batches({ data } as never, { size: 1, workers } as never)],
    ['workers without a module', 'DATA_OPTION', () => batches({ length: 2 }, { size: 1, workers: {} as never })],
    ['no threads', 'DATA_OPTION', () => batches({ length: 2 }, { size: 1, workers: { ...workers, threads: 0 } })],
    ['nothing ahead', 'DATA_OPTION', () => batches({ length: 2 }, { size: 1, workers: { ...workers, ahead: 0 } })],
    [
      'an option of workers that there is not',
      'DATA_OPTION_UNKNOWN',
      () => batches({ length: 2 }, { size: 1, workers: { ...workers, count: 2 } as never }),
    ],
    [
      'a position of other data',
      'DATA_STATE',
      () => batches(items(5), { size: 2, shuffle: true }).loadStateDict(state),
    ],
    [
      'a position of another seed',
      'DATA_STATE',
      () => {
        made.loadStateDict({ ...state, seed: 1 });
      },
    ],
    [
      'a batch that there is not',
      'DATA_STATE',
      () => {
        made.loadStateDict({ ...state, batch: 2 });
      },
    ],
    [
      'an epoch below none',
      'DATA_STATE',
      () => {
        made.loadStateDict({ ...state, epoch: -1 });
      },
    ],
  ])('%s', (_, code, attempt) => {
    expect(attempt).toThrow(expect.objectContaining({ code }));
    expect(made.stateDict()).toEqual(state);
  });
});
