// Random numbers against their distributions, with fixed seeds: Kolmogorov and Smirnov's distance for continuous ones,
// Pearson's chi-square for counts. The limits are those of a chance of 1 in 1000 for one test.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { pointwise } from '@tsinductor/ops';
import {
  bernoulli,
  full,
  manualSeed,
  multinomial,
  nn,
  rand,
  randint,
  randn,
  randperm,
  tensor,
  zeros,
} from './index.ts';
import type { Tensor } from './index.ts';

const numbersOf = (x: Tensor): number[] => Array.from(x.toTypedArray() as ArrayLike<number | bigint>, Number);

/** sqrt(n) times the largest distance between the samples' distribution and `cdf`: above 1.95 once in 1000 samples. */
function kolmogorov(values: readonly number[], cdf: (x: number) => number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const distances = sorted.map((x, k) => {
    const expected = cdf(x);
    return Math.max(Math.abs(expected - k / sorted.length), Math.abs(expected - (k + 1) / sorted.length));
  });
  return Math.sqrt(sorted.length) * Math.max(...distances);
}

/** How far counts are from what is expected, in standard deviations of the chi-square distribution of that many cells. */
function chiSquare(values: readonly number[], probabilities: readonly number[]): number {
  const counts = probabilities.map(() => 0);
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  const cells = probabilities.flatMap((p, k) => (p > 0 ? [{ wanted: p * values.length, count: at(counts, k) }] : []));
  const total = cells.reduce((sum, { wanted, count }) => sum + (count - wanted) ** 2 / wanted, 0);
  const freedom = cells.length - 1;
  // Wilson and Hilferty: the cube root is nearly normal.
  return (Math.cbrt(total / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom));
}

const normal = (x: number): number => pointwise.ndtr.reference?.(x) ?? NaN;
const mean = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;
const count = 20_000;
const unlikely = { distance: 1.95, deviations: 3.1 };

describe('continuous', () => {
  test.each(['f32', 'f64'] as const)('rand of %s is uniform', (dtype) => {
    manualSeed(11);
    expect(kolmogorov(numbersOf(rand([count], { dtype })), (x) => x)).toBeLessThan(unlikely.distance);
  });

  test.each(['f32', 'f64'] as const)('randn of %s is normal', (dtype) => {
    manualSeed(12);
    const values = numbersOf(randn([count], { dtype }));
    expect(kolmogorov(values, normal)).toBeLessThan(unlikely.distance);
    expect(Math.abs(mean(values))).toBeLessThan(3.3 / Math.sqrt(count));
    expect(Math.abs(mean(values.map((x) => x * x)) - 1)).toBeLessThan(3.3 * Math.sqrt(2 / count));
  });

  test('uniform_ and normal_ fill in place', () => {
    manualSeed(13);
    const x = zeros([count], { dtype: 'f64' });
    expect(kolmogorov(numbersOf(x.uniform_(2, 4)), (v) => (v - 2) / 2)).toBeLessThan(unlikely.distance);
    const values = numbersOf(x.normal_(5, 0.5));
    expect(kolmogorov(values, (v) => normal((v - 5) / 0.5))).toBeLessThan(unlikely.distance);
  });

  test('neighbours, and calls one after another, are independent', () => {
    manualSeed(14);
    const [first, second] = [numbersOf(rand([count])), numbersOf(rand([count]))];
    const correlation = (a: readonly number[], b: readonly number[]): number =>
      12 * mean(a.map((x, k) => (x - 0.5) * (at(b, k) - 0.5)));
    expect(Math.abs(correlation(first, second))).toBeLessThan(3.3 / Math.sqrt(count));
    expect(Math.abs(correlation(first.slice(1), first.slice(0, -1)))).toBeLessThan(3.3 / Math.sqrt(count));
  });
});

describe('counted', () => {
  const even = (cells: number): number[] => Array.from({ length: cells }, () => 1 / cells);

  test('randint falls on all of its numbers alike', () => {
    manualSeed(21);
    const values = numbersOf(randint(-3, 14, [count])).map((x) => x + 3);
    expect(Math.abs(chiSquare(values, even(17)))).toBeLessThan(unlikely.deviations);
  });

  test('bernoulli and bernoulli_ follow their probabilities', () => {
    manualSeed(22);
    expect(Math.abs(chiSquare(numbersOf(bernoulli(full([count], 0.2))), [0.8, 0.2]))).toBeLessThan(unlikely.deviations);
    const filled = zeros([count], { dtype: 'i32' }).bernoulli_(0.7);
    expect(Math.abs(chiSquare(numbersOf(filled), [0.3, 0.7]))).toBeLessThan(unlikely.deviations);
  });

  test('dropout keeps elements with probability 1 - p', () => {
    manualSeed(23);
    const kept = numbersOf(nn.functional.dropout(full([count], 1.5), 0.25)).map((x) => Number(x !== 0));
    expect(Math.abs(chiSquare(kept, [0.25, 0.75]))).toBeLessThan(unlikely.deviations);
  });

  test('randperm: every element comes to every place alike', () => {
    manualSeed(24);
    const orders = Array.from({ length: 600 }, () => numbersOf(randperm(6)));
    for (const order of orders) expect([...order].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    for (let place = 0; place < 6; place += 1) {
      const there = orders.map((order) => at(order, place));
      expect(Math.abs(chiSquare(there, even(6)))).toBeLessThan(unlikely.deviations);
    }
  });
});

describe('multinomial', () => {
  const weights = [2, 0, 1, 5, 0.5, 1.5];
  const probabilities = weights.map((weight) => weight / 10);

  test('draws with replacement in proportion to the weights', () => {
    manualSeed(31);
    const drawn = multinomial(tensor(weights), count, { replacement: true });
    expect([drawn.dtype, drawn.shape]).toEqual(['i64', [count]]);
    expect(Math.abs(chiSquare(numbersOf(drawn), probabilities))).toBeLessThan(unlikely.deviations);
  });

  test('without replacement, the first has the weights, and no category comes twice', () => {
    manualSeed(32);
    const drawn = numbersOf(multinomial(tensor(weights).expand([6000, 6]), 3));
    const rows = Array.from({ length: 6000 }, (_, row) => drawn.slice(3 * row, 3 * row + 3));
    expect(rows.every((row) => new Set(row).size === 3 && !row.includes(1))).toBe(true);
    const first = rows.map((row) => at(row, 0));
    expect(Math.abs(chiSquare(first, probabilities))).toBeLessThan(unlikely.deviations);
    // The second, given that the first was the category of weight 5.
    const second = rows.filter((row) => row[0] === 3).map((row) => at(row, 1));
    const others = weights.map((weight, k) => (k === 3 ? 0 : weight / 5));
    expect(Math.abs(chiSquare(second, others))).toBeLessThan(unlikely.deviations);
  });

  test('refuses what are no weights', () => {
    const refused = (message: string): unknown =>
      expect.objectContaining({ code: 'ARGUMENT_VALUE', message: expect.stringContaining(message) });
    expect(() => multinomial(tensor([1.5, -1]), 1)).toThrow(refused('multinomial: a weight is negative or not finite'));
    expect(() => multinomial(tensor([1, Infinity]), 1)).toThrow(refused('not finite'));
    expect(() => multinomial(tensor([0, 0.0], { dtype: 'f32' }), 1)).toThrow(refused('fewer than 1 categories'));
    expect(() => multinomial(tensor([1, 0, 0.5]), 3)).toThrow(refused('fewer than 3 categories'));
    expect(() => multinomial(tensor([1, 0.5]), 3)).toThrow(refused('3 of 2 categories'));
    expect(() => multinomial(tensor([1, 2]), 1)).toThrow(refused('weights of i64'));
    expect(() => multinomial(zeros([1, 1, 1]), 1)).toThrow(refused('3 dims'));
    expect(() => multinomial(tensor([0.5]), 0)).toThrow(refused('0 samples'));
  });
});
