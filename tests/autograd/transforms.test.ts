// grad, valueAndGrad, vjp, jvp, linearize and Jacobians: nestings of arguments, composition, and what is refused. Eager mode.
import { describe, expect, test } from '@jest/globals';
import {
  grad,
  hessian,
  jacfwd,
  jacrev,
  jvp,
  linearize,
  ones,
  tensor,
  valueAndGrad,
  vjp,
  zeros,
} from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

const f64 = (values: readonly number[]): Tensor => tensor([...values], { dtype: 'f64' });
const x = f64([1, 2, 3]);

describe('grad', () => {
  test('is the gradient with respect to the first argument, or to those that argnums names', () => {
    const loss = (a: Tensor, b: Tensor): Tensor => a.mul(b).sum();
    expect(grad(loss)(x, f64([4, 5, 6])).toArray()).toEqual([4, 5, 6]);
    const [first, second] = grad(loss, { argnums: [0, 1] })(x, f64([4, 5, 6]));
    expect([first.toArray(), second.toArray()]).toEqual([
      [4, 5, 6],
      [1, 2, 3],
    ]);
  });

  test('has the nesting of the argument; what is no tensor of floats has null', () => {
    const model = { weight: x, steps: 3, parts: [f64([1, 1, 1]), tensor([1, 2])] as const };
    const found = grad(({ weight, parts }: typeof model) => weight.mul(parts[0]).sum())(model);
    expect(found.weight.toArray()).toEqual([1, 1, 1]);
    expect(found.steps).toBeNull();
    expect(found.parts[0].toArray()).toEqual([1, 2, 3]);
    expect(found.parts[1]).toBeNull();
  });

  test('passes on what comes beside the loss', () => {
    const [gradient, rest] = grad((a: Tensor) => [a.square().sum(), { count: 3 }] as const, { hasAux: true })(x);
    expect([gradient.toArray(), rest]).toEqual([[2, 4, 6], { count: 3 }]);
  });

  test('of grad is a higher derivative', () => {
    const third = grad((a: Tensor) => grad((b: Tensor) => grad((c: Tensor) => c.pow(4).sum())(b).sum())(a).sum());
    expect(third(x).toArray()).toEqual([24, 48, 72]);
  });

  test('within grad sees its own argument alone', () => {
    const outer = grad((a: Tensor) => a.mul(grad((b: Tensor) => a.add(b).sum())(f64([1]))).sum());
    expect(outer(f64([2])).toArray()).toEqual([1]);
  });

  test('leaves arguments and results without history', () => {
    const [value, gradient] = valueAndGrad((a: Tensor) => a.exp().sum())(x);
    expect([x.requiresGrad, value.requiresGrad, gradient.requiresGrad]).toEqual([false, false, false]);
  });

  test('flows to leaves outside that require gradients', () => {
    const w = f64([2]).requiresGrad_();
    grad((a: Tensor) => a.mul(w).square().sum())(f64([3]))
      .sum()
      .backward();
    expect(w.grad?.toArray()).toEqual([24]);
  });

  test('refuses what has no gradient', () => {
    const code = (text: string): unknown => expect.objectContaining({ code: text });
    expect(() => grad((a: Tensor) => a.mul(2))(x)).toThrow(code('GRADIENT_NOT_SCALAR'));
    expect(() => grad((a: Tensor) => a.sum())(tensor([1, 2]))).toThrow(code('GRADIENT_DTYPE'));
    expect(() => grad((a: Tensor) => a.argmax())(x)).toThrow(code('GRADIENT_RESULT'));
    expect(() => grad((a: Tensor) => a.sum(), { argnums: 1 as 0 })(x)).toThrow(code('ARGNUMS'));
    expect(() => grad((a: { n: number }) => zeros([1]).add(a.n).sum())({ n: 1 })).toThrow(code('GRADIENT_NOTHING'));
    expect(() => grad(undefined as unknown as () => Tensor)).toThrow(code('NOT_A_FUNCTION'));
    expect(() => grad((a: Tensor) => a.nextafter(x).sum())(x)).toThrow(code('NOT_DIFFERENTIABLE'));
  });

  test('says which line of the program asked', () => {
    expect(() => grad((a: Tensor) => a.mul(2))(x)).toThrow(
      expect.objectContaining({
        location: expect.objectContaining({ file: expect.stringMatching(/transforms\.test\.ts$/) }),
      }),
    );
  });
});

test.each(['sum', 'prod', 'amin', 'amax', 'mean'])('nothing is scattered without indices: %s', (reduce) => {
  const none = zeros([4, 4, 0], { dtype: 'i64' });
  const loss = (a: Tensor, b: Tensor): Tensor =>
    a
      .scatterReduce(0, none, b, reduce as 'sum')
      .square()
      .sum();
  const [a, b] = [ones([2, 2, 2]), ones([2, 2, 2])];
  const [ofA, ofB] = grad(loss, { argnums: [0, 1] })(a, b);
  expect([ofA.eq(2).all().item(), ofB.eq(0).all().item()]).toEqual([true, true]);
});

describe('vjp, jvp and linearize', () => {
  const fn = (a: Tensor, b: { c: Tensor }): [Tensor, Tensor] => [a.mul(b.c), a.sin()];

  test('vjp gives the value and a function of cotangents, more than once', () => {
    const [[product], pull] = vjp(fn, x, { c: f64([2, 2, 2]) });
    expect(product.toArray()).toEqual([2, 4, 6]);
    for (const scale of [1, 10]) {
      const [a, b] = pull([ones([3], { dtype: 'f64' }).mul(scale), zeros([3], { dtype: 'f64' })]);
      expect([a.toArray(), b.c.toArray()]).toEqual([
        [2 * scale, 2 * scale, 2 * scale],
        [scale, 2 * scale, 3 * scale],
      ]);
    }
  });

  test('jvp of running sums of exponentials, which lie close together or far apart', () => {
    const running = (a: Tensor): Tensor => a.logcumsumexp(0);
    const [, tangents] = jvp(running, [x], [f64([1, 1, 1])]);
    expect(tangents.sub(1).abs().amax().item()).toBeLessThan(1e-12);
    const weighted = (a: Tensor): Tensor =>
      running(a)
        .mul(f64([1, -2, 0.5]))
        .sum();
    expect(
      grad(weighted)(f64([-800, 0, 700]))
        .sub(f64([1, -2, 0.5]))
        .abs()
        .amax()
        .item(),
    ).toBeLessThan(1e-12);
    expect(hessian(weighted)(x).isnan().any().item()).toBe(false);
  });

  test('jvp is the derivative along tangents', () => {
    const [, [product, sine]] = jvp(fn, [x, { c: f64([2, 2, 2]) }], [f64([1, 0, 0]), { c: f64([0, 1, 0]) }]);
    expect([product.toArray(), sine.toArray()]).toEqual([
      [2, 2, 0],
      [Math.cos(1), -0, -0],
    ]);
  });

  test('linearize gives a linear function, which is called more than once', () => {
    const [value, push] = linearize((a: Tensor) => a.square(), x);
    expect([value.toArray(), push(f64([1, 1, 1])).toArray(), push(f64([0, 1, 0])).toArray()]).toEqual([
      [1, 4, 9],
      [2, 4, 6],
      [0, 4, 0],
    ]);
  });

  test('cotangents and tangents of another shape or number are refused', () => {
    const [, pull] = vjp((a: Tensor) => a.square(), x);
    expect(() => pull(ones([2]))).toThrow(expect.objectContaining({ code: 'COTANGENT_SHAPE' }));
    expect(() => jvp((a: Tensor) => a.square(), [x], [ones([2])])).toThrow(
      expect.objectContaining({ code: 'COTANGENT_SHAPE' }),
    );
    expect(() => jvp(fn, [x, { c: x }], [x, {} as { c: Tensor }])).toThrow(
      expect.objectContaining({ code: 'COTANGENT_COUNT' }),
    );
  });
});

test('Jacobians by either mode, and Hessians', () => {
  const fn = (a: Tensor): Tensor => a.mul(a.sum());
  const expected = [
    [7, 1, 1],
    [2, 8, 2],
    [3, 3, 9],
  ];
  expect(jacrev(fn)(x).toArray()).toEqual(expected);
  expect(jacfwd(fn)(x).toArray()).toEqual(expected);
  expect(hessian((a: Tensor) => a.prod())(x).toArray()).toEqual([
    [0, 3, 2],
    [3, 0, 1],
    [2, 1, 0],
  ]);
});
