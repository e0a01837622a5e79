// Sizes of other traces: what follows from one of them does not seem to follow from another.
import { describe, expect, test } from '@jest/globals';
import { otherSize, ways } from './other-values.ts';

const rounds = Array.from({ length: ways }, (_, round) => round + 1);
const orders = Array.from({ length: 12 }, (_, order) => order);

describe('other sizes', () => {
  test('are near the size as well, of the first one by one', () => {
    expect([0, ...rounds].map((round) => otherSize(100, round, 0))).toEqual([
      100, 200, 300, 400, 500, 99, 101, 98, 102, 97, 103,
    ]);
  });

  test('no size is a multiple of another and a constant in any three traces', () => {
    const size = 1000;
    const distance = (round: number, order: number): number => otherSize(size, round, order) - size;
    for (const one of rounds)
      for (const other of rounds.slice(0, one - 1)) {
        const ratios = orders.map((order) => distance(one, order) / distance(other, order));
        const apart = new Set(ratios.map((ratio) => ratio.toFixed(9)));
        expect({ one, other, apart: apart.size }).toEqual({ one, other, apart: orders.length });
      }
  });
});
