// Numbers and sizes: which of them are inputs, which are guarded, and by what.
import { arange, cat, full, fullLike, ones } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { program } from './program.ts';
import type { Programs } from './program.ts';

const three = (): Tensor => arange(3).to('f32');
const rows = (count: number, width = 3): Tensor =>
  arange(count * width)
    .to('f32')
    .reshape([count, width]);
const halves = (): Tensor => three().add(0.1).to('bf16');
const attempt = (call: () => unknown): unknown => {
  try {
    return call();
  } catch (error) {
    return (error as { readonly code: unknown }).code;
  }
};
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

class Optimizer {
  rate = 1;
  step(x: Tensor, gradient: Tensor): Tensor {
    return x.sub(gradient.mul(this.rate));
  }
}

export const numbersPrograms: Programs = {
  'a learning rate': program({
    make: () => (x: Tensor, gradient: Tensor, rate: number) => x.sub(gradient.mul(rate)),
    calls: (f) => upTo(30).map((step) => f(three(), three(), 0.1 / step)),
    graphs: 2,
    recompiles: 1,
  }),
  'a learning rate, every size and number symbolic': program({
    make: () => (x: Tensor, rate: number) => x.mul(rate),
    calls: (f) => upTo(9).map((step) => f(rows(step + 1), 0.1 / step)),
    graphs: 1,
    options: { dynamic: true },
  }),
  'places along the last of two axes, both of which change': program({
    make: () => (x: Tensor) => x.add(arange(x.size(-1))).mul(full([x.size(-2), 1], 2)),
    calls: (f) => [7, 2, 5, 9].map((count) => f(rows(count, 2 * count + 3))),
    graphs: 1,
    options: { dynamic: true },
  }),
  'a limit of one axis, and another one of two places': program({
    make: () => (x: Tensor) => {
      if (x.size(0) > 6) throw new RangeError(`${String(x.size(0))} rows are too many`);
      return x.mul(2).add(x.size(0));
    },
    calls: (f) => [4, 5, 6, 3].map((count) => f(rows(count, 2))),
    graphs: 1,
    options: { dynamic: true },
  }),
  'chunks of an axis, of which only the number is fixed': program({
    make: () => (x: Tensor) => x.chunk(3).map((part) => part.mul(2)),
    calls: (f) => [9, 12, 30, 8, 11, 6].map((count) => f(rows(count))),
    graphs: 1,
    options: { dynamic: true },
  }),
  'pieces of one size, as many as there are': program({
    make: () => (x: Tensor) => x.split(4).map((part) => part.sum(0)),
    calls: (f) => [10, 11, 12, 15, 4, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
    options: { dynamic: true },
  }),
  'a step count that corrects a bias': program({
    make:
      () =>
      (x: Tensor, step: number, { rate, beta }: { rate: number; beta: number }) => {
        const correction = 1 - beta ** step;
        return x.mul(rate / correction).add(1 / Math.sqrt(step));
      },
    calls: (f) => upTo(20).map((step) => f(three(), step, { rate: 0.1, beta: 0.9 })),
    graphs: 2,
    recompiles: 1,
  }),
  'a schedule in the function, with a warm-up': program({
    make: () => (x: Tensor, step: number, o: { readonly warmup: number; readonly rate: number }) => {
      const rate = step < o.warmup ? o.rate * (step / o.warmup) : o.rate;
      return x.mul(rate);
    },
    calls: (f) => upTo(20).map((step) => f(three(), step, { warmup: 10, rate: 0.3 })),
    graphs: 3,
    recompiles: 2,
  }),
  'a number of this': program({
    make: () =>
      function (this: Optimizer, x: Tensor) {
        return x.mul(this.rate);
      },
    calls: (f) => {
      const optimizer = new Optimizer();
      return upTo(9).map((step) => {
        optimizer.rate = step * 0.3;
        return f.call(optimizer, three());
      });
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a number that another method reads': program({
    make: () => (x: Tensor, optimizer: Optimizer) => optimizer.step(x, x),
    calls: (f) => {
      const optimizer = new Optimizer();
      return [0.5, 0.25, 0.5].map((rate) => {
        optimizer.rate = rate;
        return f(three(), optimizer);
      });
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a number beside whole numbers': program({
    make: () => (x: Tensor, k: number) => x.mul(k),
    calls: (f) => [2, 3, 4, 0.5, 5].map((k) => f(arange(3), k)),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that is not finite, and a zero below zero': program({
    make: () => (x: Tensor, k: number) => x.mul(k),
    calls: (f) => [1, 2, Infinity, -0, -Infinity].map((k) => f(three(), k)),
    graphs: 2,
    recompiles: 1,
  }),
  'a learning rate beside half floats': program({
    make: () => (x: Tensor, gradient: Tensor, rate: number) => x.sub(gradient.mul(rate)).add(rate),
    calls: (f) => upTo(9).map((step) => f(halves(), halves(), 0.1 / step)),
    graphs: 2,
    recompiles: 1,
  }),
  'a number beside one half float alone': program({
    make: () => (x: Tensor, rate: number) => x.mul(rate),
    calls: (f) => [0.1, 0.2, 0.3].map((rate) => f(halves().sum(), rate)),
    graphs: 2,
    recompiles: 1,
  }),
  'numbers in attributes': program({
    make: () => (x: Tensor, k: number, o: { readonly low: number; readonly high: number }) => [
      x.leakyRelu(k),
      x.clamp(o.low, o.high),
      x.addcmul(x, x, { value: k }),
      x.sub(x, { alpha: -k }),
      x.lerp(x.neg(), 1 - k),
      x.layerNorm([3], { eps: k * 1e-3 }),
      x.hardtanh(o.low, o.high),
      x.elu(k),
    ],
    calls: (f) =>
      upTo(9).flatMap((step) =>
        [three(), halves()].map((x) => f(x, 0.3 / step, { low: 0.1 * step, high: 2 / step + 0.01 })),
      ),
    graphs: 4,
    recompiles: 3,
  }),
  'numbers in attributes that make another operator of them, or none': program({
    make: () => (x: Tensor, k: number) => x.sub(x.exp(), { alpha: k }).softshrink(k),
    calls: (f) => [0.5, 0.25, 0.125, 1, 0.75, -1].map((k) => attempt(() => f(three(), k))),
    graphs: 3,
    recompiles: 3,
  }),
  'an order of a norm': program({
    make: () => (x: Tensor, p: number) => x.norm(p),
    calls: (f) => [3.5, 4.5, 2.5, 2, 7].map((p) => f(three().sub(1), p)),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that fills a tensor': program({
    make: () => (x: Tensor, k: number) => [x.mul(0).add(full([2, 3], k)), fullLike(x, k), full([], k)],
    calls: (f) => {
      const results = [0.5, 0.25, 0.125, 7.5].map((k) => f(three(), k));
      return [results, results.map(([, filled]) => filled?.strides)];
    },
    graphs: 2,
    recompiles: 1,
  }),
  'a probability of dropout, and a border of padding': program({
    make: () => (x: Tensor, k: number) => x.dropout(k, false).pad([1, 1], 'constant', k),
    calls: (f) => [0.5, 0.25, 0.125].map((k) => f(three(), k)),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that decides a branch': program({
    make: () => (x: Tensor, step: number) => (step > 3 ? x.mul(step) : x),
    calls: (f) => upTo(6).map((step) => f(three(), step)),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that a helper decides on': program({
    make: () => {
      const helper = (x: Tensor, k: number): Tensor => (k > 1 ? x.neg() : x);
      return (x: Tensor, k: number) => helper(x, k).mul(1);
    },
    calls: (f) => [1, 2, 3, 2].map((k) => f(three(), k)),
    graphs: 2,
    recompiles: 1,
  }),
  'an axis, and a size': program({
    make: () => (x: Tensor, axis: number, size: number) => x.sum(axis, { keepdim: true }).reshape([size, -1]),
    calls: (f) =>
      [
        [0, 1],
        [1, 1],
        [1, 2],
        [0, 3],
      ].map(([axis, size]) => f(rows(2), axis ?? 0, size ?? 0)),
    graphs: 4,
    recompiles: 3,
  }),
  'one number decides, the other does not': program({
    make: () => (x: Tensor, axis: number, rate: number) => x.sum(axis).mul(rate),
    calls: (f) =>
      [
        [0, 0.1],
        [0, 0.2],
        [1, 0.3],
        [1, 0.4],
        [0, 0.5],
      ].map(([axis, rate]) => f(rows(2), axis ?? 0, rate ?? 0)),
    graphs: 3,
    recompiles: 2,
  }),
  'a number that is returned': program({
    make: () => (x: Tensor, k: number) => ({ y: x.mul(k), k }),
    calls: (f) => [1, 2, 3].map((k) => f(three(), k)),
    graphs: 3,
    recompiles: 2,
  }),
  'a sum divided by a size': program({
    make: () => (x: Tensor) => x.sum(0).div(x.shape[0] ?? 1),
    calls: (f) => upTo(9).map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'sizes by method, by name and all at once': program({
    make: () => (x: Tensor) => {
      const [count, width = 1] = x.shape;
      return x
        .reshape([x.size(0) * width])
        .div(x.numel)
        .add(x.size(1))
        .narrow(0, 0, count ?? 1);
    },
    calls: (f) => upTo(9).map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'a range as long as an axis': program({
    make: () => (x: Tensor) => x.add(arange(x.shape[1] ?? 0)),
    calls: (f) => upTo(9).map((width) => f(rows(2, width))),
    graphs: 3,
    recompiles: 2,
  }),
  'the last row': program({
    make: () => (x: Tensor) =>
      x
        .narrow(0, (x.shape[0] ?? 1) - 1, 1)
        .add(x.select(0, (x.shape[0] ?? 1) - 1))
        .add(x.at(-1)),
    calls: (f) => upTo(9).map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'a cache that grows': program({
    make: () => (x: Tensor, cache: Tensor) => {
      const past = cache.shape[0] ?? 0;
      const all = cat([cache, x], 0);
      return [all, all.mul(arange(past + 1).reshape([past + 1, 1])).sum(0)] as const;
    },
    calls: (f) => {
      let cache = rows(1);
      return upTo(12).map(() => {
        const [all, y] = f(rows(1), cache);
        cache = all;
        return y;
      });
    },
    graphs: 3,
    recompiles: 2,
  }),
  'two caches that grow together': program({
    make: () => (x: Tensor, keys: Tensor, values: Tensor) => {
      const past = keys.shape[0] ?? 0;
      const [k, v] = [cat([keys, x], 0), cat([values, x], 0)];
      const scores = x.matmul(k.t()).add(arange(past + 1));
      return [scores.softmax(-1).matmul(v), k, v] as const;
    },
    calls: (f) => {
      let [keys, values] = [rows(1), rows(1).neg()];
      const results = upTo(12).map(() => {
        const [y, k, v] = f(rows(1), keys, values);
        [keys, values] = [k, v];
        return y;
      });
      return [results, attempt(() => f(rows(1), rows(5), rows(6)))];
    },
    graphs: 3,
    recompiles: 3,
  }),
  'a branch on a size': program({
    make: () => (x: Tensor) => ((x.shape[0] ?? 0) > 4 ? x.mul(2) : x.mul(3)),
    calls: (f) => [2, 3, 4, 5, 6, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'a loop over a size': program({
    make: () => (x: Tensor) => {
      let sum = x.select(0, 0);
      for (let index = 1; index < (x.shape[0] ?? 0); index += 1) sum = sum.add(x.select(0, index));
      return sum;
    },
    calls: (f) => [2, 3, 4, 3].map((count) => f(rows(count))),
    graphs: 3,
    recompiles: 2,
  }),
  'assignments that are conditions, and that step': program({
    make: () => (x: Tensor, n: number) => {
      let [k, rest, half] = [n, n, n];
      k &&= 5;
      k ||= 2;
      rest %= 3;
      half >>= 1;
      return x.mul(k).add(rest).add(half).add(n);
    },
    calls: (f) => [1, 2, 0, 4, 7].map((n) => f(ones([3]), n)),
    graphs: 5,
    recompiles: 4,
  }),
  'the bits of a number': program({
    make: () => (x: Tensor, n: number) => x.mul(~n),
    calls: (f) => [1, 2, 3, 1.5].map((n) => f(ones([3]), n)),
    graphs: 4,
    recompiles: 3,
  }),
};
