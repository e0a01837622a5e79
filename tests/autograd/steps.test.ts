// Functions whose gradients a program decides: stopGradient, customVjp, checkpoint, and ops of the program's own.
import { afterAll, describe, expect, test } from '@jest/globals';
import { checkpoint, customVjp, defineOp, grad, manualSeed, randn, stopGradient, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

const f64 = (values: readonly number[]): Tensor => tensor([...values], { dtype: 'f64' });
const x = f64([1, -2, 3]);

test('no gradient flows through stopGradient', () => {
  expect(grad((a: Tensor) => a.mul(stopGradient({ b: a }).b).sum())(x).toArray()).toEqual([1, -2, 3]);
});

describe('customVjp', () => {
  const doubled = customVjp((a: { v: Tensor }, scale: number) => a.v.mul(scale), {
    forward: (a, scale) => [a.v.mul(scale), scale],
    backward: (scale, g) => [{ v: g.mul(scale * 10) }],
  });

  test('has the gradient that the program gives', () => {
    expect(grad((a: Tensor) => doubled({ v: a }, 2).sum())(x).toArray()).toEqual([20, 20, 20]);
    expect(doubled({ v: x }, 2).toArray()).toEqual([2, -4, 6]);
  });

  test('may give its argument, and is differentiated again', () => {
    const clipped = customVjp((a: Tensor) => a, { forward: (a) => [a, null], backward: (_, g) => [g.clamp(-1, 1)] });
    expect(grad((a: Tensor) => clipped(a).square().sum())(x).toArray()).toEqual([1, -1, 1]);
    const cube = customVjp((a: Tensor) => a.pow(3), {
      forward: (a) => [a.pow(3), a],
      backward: (a, g) => [g.mul(a.square()).mul(3)],
    });
    expect(grad((a: Tensor) => grad((b: Tensor) => cube(b).sum())(a).sum())(x).toArray()).toEqual([6, -12, 18]);
  });
});

describe('checkpoint', () => {
  test('gives the same gradients, to what the function closes over, too', () => {
    const w = f64([2, 3, 4]).requiresGrad_();
    const scaled = w.mul(2);
    const block = (a: Tensor): Tensor => a.mul(scaled).sin();
    const a = f64([1, 2, 3]).requiresGrad_();
    block(a).sum().backward();
    const expected = [a.grad?.toArray(), w.grad?.toArray()];
    [a.grad, w.grad] = [null, null];
    const again = w.mul(2);
    checkpoint((b: Tensor) => b.mul(again).sin(), a)
      .sum()
      .backward();
    expect([a.grad, w.grad].map((found) => (found as Tensor | null)?.toArray())).toEqual(expected);
  });

  test('computes the function again, with the random numbers of the first time', () => {
    let calls = 0;
    const noisy = (a: Tensor): Tensor => {
      calls += 1;
      return a.mul(randn([3], { dtype: 'f64' }));
    };
    manualSeed(3);
    const expected = grad((a: Tensor) => noisy(a).sum())(x).toArray();
    manualSeed(3);
    const a = f64([1, -2, 3]).requiresGrad_();
    const y = checkpoint(noisy, a);
    const next = randn([1]);
    y.sum().backward();
    expect(a.grad?.toArray()).toEqual(expected);
    expect(calls).toBe(3);
    manualSeed(3);
    randn([3], { dtype: 'f64' });
    expect(next.toArray()).toEqual(randn([1]).toArray());
  });
});

describe('ops of the program', () => {
  const made: Disposable[] = [];
  afterAll(() => {
    for (const op of made) op[Symbol.dispose]();
  });

  test('have the gradient of their definition, or that of their operators', () => {
    const own = defineOp({
      name: 'autograd_test::own',
      schema: '(Tensor x, Tensor[] ys, float k) -> Tensor',
      meta: ({ x: a }) => a,
      eager: ({ x: a, ys, k }) => ys.reduce((sum, y) => sum.add(y), a.mul(k)),
      gradient: ({ k, ys }, { grads: [g] }) => ({ x: g.mul(k * 100), ys: ys.map(() => g) as unknown as Tensor }),
    });
    const plain = defineOp({
      name: 'autograd_test::plain',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x: a }) => a,
      eager: ({ x: a }) => a.square(),
    });
    made.push(own, plain);
    expect(grad((a: Tensor) => own(a, [a, a], 2).sum())(x).toArray()).toEqual([202, 202, 202]);
    expect(grad((a: Tensor) => plain(a).sum())(x).toArray()).toEqual([2, -4, 6]);
  });

  test('without either say that they have none', () => {
    const opaque = defineOp({
      name: 'autograd_test::opaque',
      schema: '(Tensor x) -> Tensor',
      meta: ({ x: a }) => a,
      eager: ({ x: a }) => tensor(a.toTypedArray()),
    });
    made.push(opaque);
    expect(() => grad((a: Tensor) => opaque(a).sum())(x)).toThrow(
      expect.objectContaining({ code: 'CUSTOM_OP_GRADIENT' }),
    );
  });
});
