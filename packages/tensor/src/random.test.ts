import { describe, expect, test } from '@jest/globals';
import { bernoulli, full, manualSeed, nn, rand, randint, randn, randnLike, randperm, tensor, zeros } from './index.ts';
import { philox } from './philox.ts';
import type { Words } from './philox.ts';
import type { Tensor } from './tensor.ts';

const words = (counter: Words, key: [number, number]): string => {
  const out: Words = [0, 0, 0, 0];
  philox(counter, key, out);
  return out.map((word) => word.toString(16).padStart(8, '0')).join(' ');
};

test('philox gives the known answers of its authors', () => {
  const ones = 0xffffffff;
  expect(words([0, 0, 0, 0], [0, 0])).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8');
  expect(words([ones, ones, ones, ones], [ones, ones])).toBe('408f276d 41c83b0e a20bc7c6 6d5451fd');
  expect(words([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])).toBe(
    'd16cfe09 94fdcceb 5001e420 24126ea1',
  );
});

describe('random tensors', () => {
  test('take the words of blocks by eights: a word each, two or four', () => {
    const seed = 11;
    const word = (block: number, position: number): number => {
      const out: Words = [0, 0, 0, 0];
      philox([block, 0, 0, 0], [seed, 0], out);
      return out[position] ?? 0;
    };
    const at = (numbers: unknown, place: number): number => (numbers as number[])[place] ?? Number.NaN;
    const drawn = (dtype: 'f32' | 'f64'): unknown => {
      manualSeed(seed);
      return rand([70], { dtype }).toArray();
    };
    const single = drawn('f32');
    for (const [place, block, position] of [
      [0, 0, 0],
      [7, 7, 0],
      [8, 0, 1],
      [31, 7, 3],
      [32, 8, 0],
      [69, 21, 0],
    ] as const)
      expect(at(single, place)).toBe((word(block, position) >>> 8) * 2 ** -24);
    const double = drawn('f64');
    for (const [place, block, first] of [
      [0, 0, 0],
      [8, 0, 2],
      [15, 7, 2],
      [16, 8, 0],
      [69, 37, 0],
    ] as const) {
      const [high, low] = [word(block, first), word(block, first + 1)];
      expect(at(double, place)).toBe(((high >>> 5) * 2 ** 26 + (low >>> 6)) * 2 ** -53);
    }
  });

  test('the seed decides', () => {
    manualSeed(7);
    const first = [rand([4]), randn([4])].map((x) => x.toArray());
    manualSeed(7);
    expect([rand([4]), randn([4])].map((x) => x.toArray())).toEqual(first);
    manualSeed(8);
    expect(rand([4]).toArray()).not.toEqual(first[0]);
  });

  test('element i does not depend on how many are drawn', () => {
    manualSeed(3);
    const few = rand([5]).toArray();
    manualSeed(3);
    expect((rand([500]).toArray() as number[]).slice(0, 5)).toEqual(few);
  });

  test('have the moments they should', () => {
    manualSeed(1);
    const count = 40_000;
    const moments = (values: number[]): [number, number] => {
      const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
      return [mean, values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length];
    };
    for (const dtype of ['f64', 'f32', 'f16', 'bf16'] as const) {
      const uniform = [...(rand([count], { dtype }).toTypedArray() as Float32Array)];
      expect(Math.min(...uniform)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...uniform)).toBeLessThan(1);
      const [mean, variance] = moments(uniform);
      expect(Math.abs(mean - 0.5)).toBeLessThan(0.01);
      expect(Math.abs(variance - 1 / 12)).toBeLessThan(0.005);
      const [center, spread] = moments([...(randn([count], { dtype }).toTypedArray() as Float32Array)]);
      expect(Math.abs(center)).toBeLessThan(0.02);
      expect(Math.abs(spread - 1)).toBeLessThan(0.03);
    }
  });

  test('randint stays in its range and reaches its ends', () => {
    manualSeed(2);
    const values = new Set(randint(-2, 3, [400]).toArray() as number[]);
    expect([...values].sort((a, b) => a - b)).toEqual([-2, -1, 0, 1, 2]);
    expect(() => randint(3, 3, [1])).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });

  test('dropout keeps the mean, in training only', () => {
    const { dropout, dropout2d, alphaDropout, rrelu } = nn.functional;
    const x = full([4, 8, 50, 50], 3, { dtype: 'f32' });
    const dropped = dropout(x, 0.25);
    const kept = new Set(dropped.toTypedArray() as Float32Array);
    expect([...kept].sort()).toEqual([0, 4]);
    expect(Math.abs(Number(dropped.mean().item()) - 3)).toBeLessThan(0.05);
    expect(dropout(x, 0.25, false).toArray()).toEqual(x.toArray());
    const channels = dropout2d(x, 0.5)
      .amax([2, 3])
      .sub(dropout2d(x, 0).amin([2, 3]));
    expect(new Set(channels.toTypedArray() as Float32Array)).toEqual(new Set([-3, 3]));
    const normal = alphaDropout(randn([200, 200]), 0.3, true);
    expect(Math.abs(Number(normal.mean().item()))).toBeLessThan(0.03);
    expect(Math.abs(Number(normal.std().item()) - 1)).toBeLessThan(0.03);
    const slopes = rrelu(full([1000], -1, { dtype: 'f32' }), { training: true, lower: 0.25, upper: 0.5 }).neg();
    expect(slopes.amin().item()).toBeGreaterThanOrEqual(0.25);
    expect(slopes.amax().item()).toBeLessThan(0.5);
    expect(slopes.std().gt(0.05).item()).toBe(true);
  });

  test('tensors are filled in place', () => {
    const x = zeros([2000]);
    expect(x.uniform_(2, 4)).toBe(x);
    expect([x.amin().ge(2).item(), x.amax().lt(4).item()]).toEqual([true, true]);
    expect(x.normal_(5, 0.1).mean().item()).toBeCloseTo(5, 1);
    expect(x.bernoulli_(0.3).sum().item()).toBeGreaterThan(450);
    expect(() => x.normal_(0, -1)).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });

  test('randperm is a permutation, bernoulli follows its probabilities', () => {
    expect((randperm(50).toArray() as number[]).sort((a, b) => a - b)).toEqual([...Array(50).keys()]);
    expect(bernoulli(tensor([0, 1, 0.0], { dtype: 'f32' })).toArray()).toEqual([0, 1, 0]);
    expect(
      Number(
        bernoulli(full([2000], 0.25))
          .mean()
          .item(),
      ),
    ).toBeCloseTo(0.25, 1);
    expect(randnLike(zeros([2, 3])).shape).toEqual([2, 3]);
    expect(() => rand([2], { dtype: 'i64' })).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });
});

describe('out', () => {
  const same = (draw: (options: { out?: Tensor }) => Tensor, out: Tensor): void => {
    manualSeed(11);
    const wanted = draw({});
    manualSeed(11);
    expect(draw({ out })).toBe(out);
    expect(out.toArray()).toEqual(wanted.to(out.dtype).toArray());
  };

  test('takes the numbers that a call without it gives', () => {
    same((options) => rand([2, 3], options), zeros([2, 3]));
    same((options) => randn([5], options), zeros([5]));
    same((options) => randint(-3, 9, [4], options), zeros([4], { dtype: 'i64' }));
    same((options) => randperm(7, options), zeros([7], { dtype: 'i64' }));
    same((options) => bernoulli(full([9], 0.5), options), zeros([9]));
  });

  test('is written through a view, in its own dtype', () => {
    const table = zeros([3, 4], { dtype: 'f64' });
    manualSeed(2);
    rand([3], { out: table.select(1, 2) });
    manualSeed(2);
    expect(table.select(1, 2).toArray()).toEqual(rand([3], { dtype: 'f64' }).toArray());
    expect(table.select(1, 1).toArray()).toEqual([0, 0, 0]);
  });

  test('must have the shape, and the dtype that is asked for', () => {
    expect(() => rand([3], { out: zeros([4]) })).toThrow(/rand with out/);
    expect(() => rand([3], { out: zeros([3]), dtype: 'f64' })).toThrow(/out is f32/);
    expect(() => randn([3], { out: zeros([3], { dtype: 'i32' }) })).toThrow(/not a float/);
  });
});
