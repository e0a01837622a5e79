// Random numbers in compiled functions: the same as eagerly, and fresh ones at every call. Checks of values with them: what
// eager mode refuses, compiled code refuses too.
import { afterAll, describe, expect, test } from '@jest/globals';
import {
  bernoulli,
  compile,
  manualSeed,
  multinomial,
  nn,
  rand,
  randint,
  randn,
  randperm,
  reset,
  tensor,
  zeros,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';

afterAll(reset);

const draws: Readonly<Record<string, (x: Tensor) => Tensor>> = {
  rand: (x) => rand([5, 3]).add(x),
  'rand of f64': (x) => rand([7], { dtype: 'f64' }).add(x),
  randn: (x) => randn([5, 3]).add(x),
  randint: (x) => randint(-4, 9, [11]).add(x),
  bernoulli: (x) => bernoulli(x.sigmoid().expand([9])),
  dropout: (x) => nn.functional.dropout(x.add(1).expand([4, 5]), 0.4),
  randperm: (x) => randperm(10).add(x),
  'multinomial with replacement': (x) => multinomial(x.add(tensor([0.5, 0, 2, 1])).abs(), 12, { replacement: true }),
  'multinomial without replacement': (x) => multinomial(x.add(tensor([0.5, 3, 2, 1])).abs(), 3),
};

describe('compiled and eager draws are the same', () => {
  test.each(Object.entries(draws))('%s', (_, draw) => {
    const x = tensor(0.25, { dtype: 'f32' });
    const compiled = compile(draw);
    manualSeed(5);
    const eager = [draw(x), draw(x)].map((values) => values.toArray());
    manualSeed(5);
    const native = [compiled(x), compiled(x)].map((values) => values.toArray());
    expect(native).toEqual(eager);
    expect(native[0]).not.toEqual(native[1]);
  });

  test('drawn into a tensor', () => {
    const fill = (x: Tensor): Tensor => {
      rand([6], { out: x });
      randn([3], { out: x.slice(0, 0, 3) });
      return x.mul(2);
    };
    const [a, b] = [zeros([6]), zeros([6])];
    manualSeed(9);
    const eager = fill(a).toArray();
    manualSeed(9);
    const compiled = compile(fill, { fullgraph: true });
    expect(compiled(b).toArray()).toEqual(eager);
    expect(b.toArray()).toEqual(a.toArray());
  });

  test('tensors filled in place', () => {
    const fill = (x: Tensor): Tensor => x.uniform_(1, 2).mul_(2);
    const [a, b] = [zeros([6]), zeros([6])];
    manualSeed(9);
    fill(a);
    manualSeed(9);
    compile(fill)(b);
    expect(b.toArray()).toEqual(a.toArray());
    expect(a.amin().item()).toBeGreaterThanOrEqual(2);
  });
});

describe('values that are refused', () => {
  const refused = (message: string): unknown =>
    expect.objectContaining({ code: 'ARGUMENT_VALUE', message: expect.stringContaining(message) });

  test('weights of multinomial and of cov, also where others were fine before', () => {
    const choose = compile((weights: Tensor) => multinomial(weights, 1));
    expect(choose(tensor([0, 0.5])).toArray()).toEqual([1]);
    expect(() => choose(tensor([-1, 0.5]))).toThrow(refused('multinomial: a weight is negative or not finite'));
    expect(() => choose(tensor([0, 0.0], { dtype: 'f32' }))).toThrow(refused('fewer than 1 categories'));
    const spread = (x: Tensor, aweights: Tensor): Tensor => x.cov({ aweights });
    const x = tensor([[1.5, 2, 4]]);
    const compiled = compile(spread);
    expect(compiled(x, tensor([1, 0.5, 2])).toArray()).toEqual(spread(x, tensor([1, 0.5, 2])).toArray());
    for (const run of [spread, compiled]) {
      expect(() => run(x, tensor([1, -0.5, 2]))).toThrow(refused('cov: a weight is negative'));
      expect(() => run(x, tensor([1, -0.5, 2]))).toThrow(/random\.test\.ts:\d+.*weights are 0 or more/);
    }
  });
});
