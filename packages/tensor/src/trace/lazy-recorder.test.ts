// Functions that read values, run in segments: what comes of them is what eager execution gives, whatever they do between
// the reads. Segments are interpreted here; the compiler's own tests run them natively.
import { describe, expect, test } from '@jest/globals';
import { at, UserError } from '@tsinductor/base';
import { decompose } from '@tsinductor/graph';
import { GraphProgram } from '../eager/graph-program.ts';
import { arange, manualSeed, randn, randperm, scope, tensor, zeros } from '../index.ts';
import type { Tensor } from '../index.ts';
import { isTensor } from '../tensor.ts';
import { LazyRecorder } from './lazy-recorder.ts';
import { StepTrie } from './replay/step.ts';
import type { NewSegment, SegmentHost, SegmentPlan } from './segment.ts';

/** Interprets segments, and counts how many are new. */
class Interpreting implements SegmentHost {
  readonly steps = new StepTrie();
  readonly segments: NewSegment[] = [];
  readonly plans = new Map<string, SegmentPlan>();
  readonly seen = new Map<string, number>();
  runs = 0;

  find(key: string): SegmentPlan | undefined {
    return this.plans.get(key);
  }

  add(segment: NewSegment): SegmentPlan {
    this.segments.push(segment);
    const program = new GraphProgram(decompose(segment.graph, segment.sizes));
    const run = (inputs: readonly Tensor[]): readonly Tensor[] => {
      this.runs += 1;
      const results = program.run(inputs);
      for (const { placeholder, output } of segment.graph.mutations)
        at(inputs, placeholder).writeBack(at(results, output));
      return results;
    };
    const plan = { choice: segment.choice, run };
    this.plans.set(segment.key, plan);
    return plan;
  }

  axesOf(slot: string, { shape }: Tensor): readonly { axis: number }[] {
    return shape.flatMap((size, axis) => {
      const known = this.seen.get(`${slot} ${axis}`) ?? size;
      this.seen.set(`${slot} ${axis}`, known === size ? size : -1);
      return known === size || size < 2 ? [] : [{ axis }];
    });
  }

  isVariable(slot: string, value: number, isRead: boolean): boolean {
    const known = this.seen.get(slot) ?? value;
    if (isRead || known !== value) this.seen.set(slot, NaN);
    else this.seen.set(slot, value);
    return isRead || known !== value;
  }
}

/** The tests pass as many tensors as a program takes. */
type Program = (x: Tensor, y: Tensor, z: Tensor) => unknown;

const tensorsIn = (value: unknown): Tensor[] =>
  isTensor(value)
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(tensorsIn)
      : [];

const plain = (value: unknown): unknown =>
  isTensor(value) ? [value.dtype, value.toArray()] : Array.isArray(value) ? value.map(plain) : value;

const lazily = (host: Interpreting, program: Program, inputs: Tensor[]): unknown =>
  new LazyRecorder(host).run(() => program(...(inputs as [Tensor, Tensor, Tensor])), tensorsIn);

/** Runs a program eagerly, and three times lazily; results and what inputs hold afterwards agree, and segments are reused. */
function expectLikeEager(program: Program, make: () => Tensor[]): Interpreting {
  const host = new Interpreting();
  const outcome = (run: (inputs: Tensor[]) => unknown): unknown => {
    manualSeed(7);
    const inputs = make();
    let result: unknown;
    try {
      result = plain(run(inputs));
    } catch (error) {
      result = (error as Error).message.split(',')[0];
    }
    return { result, inputs: inputs.map(plain) };
  };
  const expected = outcome((inputs) => program(...(inputs as [Tensor, Tensor, Tensor])));
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  const known = host.segments.length;
  expect(outcome((inputs) => lazily(host, program, inputs))).toEqual(expected);
  expect(host.segments).toHaveLength(known);
  return host;
}

const floats = (...values: number[]): Tensor => tensor(values, { dtype: 'f32' });
const pair = (): Tensor[] => [floats(1, 2, 3, 4), floats(5, 6, 7, 8)];
const read = (x: Tensor): number => Number(x.sum().item());

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
