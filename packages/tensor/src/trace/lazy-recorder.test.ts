// Functions that read values, run in segments: what comes of them is what eager execution gives, whatever they do between
// the reads. Segments are interpreted here; the compiler's own tests run them natively.
import { describe, expect, test } from '@jest/globals';
import { UserError } from '@tsinductor/base';
import { arange, randn, randperm, scope, tensor, zeros } from '../index.ts';
import type { Tensor } from '../index.ts';
import { expectLikeEager, floats, Interpreting, lazily, pair, plain, read } from './test-support/interpreting-host.ts';
import type { Program } from './test-support/interpreting-host.ts';

describe('a function that reads', () => {
  test('branches on a value', () => {
    const host = expectLikeEager((x) => (read(x) > 3 ? x.mul(2) : x.sub(1)), pair);
    expect(host.segments).toHaveLength(2);
    expect(host.segments[0]?.cause?.reason).toBe('item() needs the values of a tensor');
    expect(host.segments[0]?.cause?.location.file).toMatch(/lazy-recorder\.test\.ts$/);
    lazily(host, (x) => (read(x) > 3 ? x.mul(2) : x.sub(1)), [floats(0, 0, 0, 0)]);
    expect(host.segments).toHaveLength(3);
  });

  test('uses values again after the read, cheap ones and costly ones', () => {
    const host = expectLikeEager((x, y) => {
      const [cheap, costly] = [x.mul(2), x.reshape([2, 2]).matmul(y.reshape([2, 2]))];
      const total = read(cheap.add(1)) + read(costly);
      return [cheap.mul(y), costly.t(), total];
    }, pair);
    expect(host.segments).toHaveLength(3);
  });

  test('reads inputs before anything is recorded, and views of them', () => {
    const host = expectLikeEager((x) => [x.toArray(), x.reshape([2, 2]).t().toArray(), x.at(1).item()], pair);
    expect(host.segments).toHaveLength(0);
  });

  test('writes to inputs, through views, before and after reads', () => {
    expectLikeEager((x, y) => {
      x.add_(1);
      const first = x.toArray();
      const half = x.at({ slice: [0, 2, null] });
      half.mul_(3);
      const second = read(half);
      y.copy_(x.mul(2));
      x.set([3], -1);
      return [first, second, half, y.toArray(), x];
    }, pair);
  });

  test('values made of memory that is written to later keep what they were', () => {
    expectLikeEager((x, y) => {
      const before = x.mul(10);
      const after = before.add(1).mul(y);
      read(after);
      x.add_(100);
      read(x);
      y.zero_();
      return [before, after, after.sum()];
    }, pair);
  });

  test('writes into memory that two arguments share', () => {
    const shared = (): Tensor[] => {
      const base = floats(1, 2, 3, 4, 5, 6);
      return [base, base.at({ slice: [2, 5, null] })];
    };
    expectLikeEager((x, part) => {
      const twice = x.mul(2);
      part.add_(x.sum());
      x.mul_(2);
      const sums = [read(x), read(part)];
      part.add_(1);
      return [twice, sums, x.add(part.sum())];
    }, shared);
  });

  test('what was made of an argument keeps what it was when another argument is written to that shares its memory', () => {
    const shared = (): Tensor[] => {
      const base = floats(1, 2, 3, 4);
      return [base, base.at({ slice: [0, 2, null] }), floats(9, 8, 7, 6)];
    };
    expectLikeEager((x, part, y) => {
      const total = read(x);
      const twice = part.mul(2);
      x.copy_(y);
      return [total, twice, x.add(1)];
    }, shared);
  });

  test('a copy between tensors that are one memory, of which neither was met in the segment', () => {
    expectLikeEager((x) => {
      const whole = x.reshape([4]);
      read(whole);
      whole.copy_(x);
      read(whole);
      x.copy_(whole);
      return [x, whole];
    }, pair);
  });

  test('copies are memory of their own', () => {
    expectLikeEager((x, y) => {
      const [source, copy, other] = [x.mul(2), zeros([4]), zeros([4])];
      copy.copy_(source);
      other.copy_(y);
      read(copy);
      source.add_(1);
      other.mul_(3);
      return [source, copy, other, y];
    }, pair);
  });

  test('draws random numbers', () => {
    expectLikeEager((x) => {
      const noise = randn([4]);
      const first = read(noise);
      const order = randperm(6);
      return [noise, first, order, x.add(randn([4])), order.toArray()];
    }, pair);
  });

  test('throws in the middle: what was written before stays', () => {
    expectLikeEager((x, y) => {
      x.add_(1);
      read(y);
      y.mul_(x);
      throw new UserError('MINE', 'stop here');
    }, pair);
    expectLikeEager((x, y) => {
      x.add_(1);
      x.matmul(zeros([3, 3]));
      y.add_(1);
    }, pair);
  });

  test('a check that fails leaves the state that eager execution leaves', () => {
    expectLikeEager(
      (x, y, index) => {
        x.add_(1);
        const kept = x.mul(2);
        const picked = y.indexSelect(0, index);
        y.add_(1);
        return [kept, read(picked)];
      },
      () => [...pair(), tensor([1, 9])],
    );
  });

  test('catches an error of a segment, and goes on', () => {
    expectLikeEager(
      (x, index) => {
        let caught = '';
        try {
          x.add_(1);
          read(x.indexSelect(0, index));
        } catch (error) {
          caught = (error as UserError).code;
        }
        return [caught, x.mul(2)];
      },
      () => [floats(1, 2), tensor([7])],
    );
  });

  test('disposes what it has used', () => {
    expectLikeEager((x, y) => {
      const sum = scope(() => x.mul(3).add(y));
      const product = x.mul(y);
      const total = read(product);
      product.dispose();
      const other = scope(() => sum.sub(total));
      sum.dispose();
      return other;
    }, pair);
  });

  test('hundreds of reads take a few segments', () => {
    const host = expectLikeEager(
      (x) => {
        let value = x;
        let total = 0;
        for (let i = 0; i < 300; i += 1) {
          value = value.mul(1.001);
          total += read(value);
        }
        return [value, total];
      },
      () => [floats(1, 2)],
    );
    expect(host.segments.length).toBeLessThan(5);
  });

  test('reading element by element is linear, and computes nothing', () => {
    const host = new Interpreting();
    const x = arange(1000);
    const program: Program = (values) =>
      Array.from({ length: 1000 }, (_, i) => Number(values.at(i).item())).reduce((sum, value) => sum + value, 0);
    expect(lazily(host, program, [x])).toBe((1000 * 999) / 2);
    expect(host.segments).toHaveLength(0);
  });

  test('numbers and sizes that change are inputs of the second segment', () => {
    const host = new Interpreting();
    const program: Program = (x) => {
      const scale = read(x);
      return x.div(scale).add(Math.abs(scale) / 3);
    };
    for (let size = 2; size < 9; size += 1) {
      const x = arange(size).to('f32').add(1);
      expect(plain(lazily(host, program, [x]))).toEqual(plain(program(x, x, x)));
    }
    expect(host.segments.length).toBeLessThan(6);
  });

  test('what outlives the call has its value, unless what it is made of has changed', () => {
    const host = new Interpreting();
    const kept: Tensor[] = [];
    const x = floats(1, 2);
    lazily(host, (input) => (read(input), kept.push(input.add(1), input.add(2)), undefined), [x]);
    expect(kept[0]?.toArray()).toEqual([2, 3]);
    expect(kept[0]?.add(1).toArray()).toEqual([3, 4]);
    x.add_(1);
    expect(() => kept[1]?.toArray()).toThrow(expect.objectContaining({ code: 'TRACED_ESCAPED' }));
  });

  test('an asynchronous program goes on eagerly after it has waited', async () => {
    const host = new Interpreting();
    const program = async (x: Tensor): Promise<unknown> => {
      const y = x.add(read(x));
      const data = await y.mul(2).data();
      return [Array.from(data as Float32Array), y.add(1).toArray()];
    };
    const result = lazily(host, program, [floats(1, 2)]);
    expect(await (result as Promise<unknown>)).toEqual([
      [8, 10],
      [5, 6],
    ]);
  });
});
