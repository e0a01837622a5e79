// Gradients as PyTorch's users know them: requiresGrad, backward(), grad, hooks, noGrad, and what is refused. Eager mode.
import { describe, expect, test } from '@jest/globals';
import { enableGrad, isGradEnabled, nn, noGrad, ones, tensor, zeros } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

const leaf = (values: readonly number[]): Tensor => tensor([...values], { dtype: 'f64' }).requiresGrad_();
const gradOf = (x: Tensor): unknown => x.grad?.toArray() ?? null;

describe('backward()', () => {
  test('gives the gradient of one number to the leaves behind it', () => {
    const x = leaf([1, 2, 3]);
    x.square().sum().backward();
    expect(gradOf(x)).toEqual([2, 4, 6]);
  });

  test('adds to what earlier passes gave', () => {
    const x = leaf([1, 2]);
    x.mul(3).sum().backward();
    x.mul(4).sum().backward();
    expect(gradOf(x)).toEqual([7, 7]);
    x.grad = null;
    expect(x.grad).toBeNull();
  });

  test('takes a cotangent for what is no single number', () => {
    const x = leaf([1, 2]);
    const y = x.mul(x);
    expect(() => {
      y.backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_NOT_SCALAR' }));
    expect(() => {
      y.backward(ones([3]));
    }).toThrow(expect.objectContaining({ code: 'COTANGENT_SHAPE' }));
    y.backward(tensor([1, 10], { dtype: 'f64' }));
    expect(gradOf(x)).toEqual([2, 40]);
  });

  test('goes once through what it saved, unless that is kept', () => {
    const x = leaf([2]);
    const y = x.exp().sum();
    y.backward(null, { retainGraph: true });
    y.backward();
    expect(() => {
      y.backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_FREED' }));
  });

  test('can be differentiated itself', () => {
    const x = leaf([2]);
    x.pow(3).sum().backward(null, { createGraph: true });
    const first = x.grad;
    x.grad = null;
    first?.sum().backward();
    expect(gradOf(x)).toEqual([12]);
  });

  test('walks through long chains without recursion', () => {
    const x = leaf([1]);
    let y = x;
    for (let k = 0; k < 3000; k += 1) y = y.add(0.5);
    y.sum().backward();
    expect(gradOf(x)).toEqual([1]);
  });

  test('gives zeros where a function is constant, and nothing where it does not depend on the leaf', () => {
    const [x, y] = [leaf([1.5]), leaf([1])];
    x.floor().add(y.detach()).sum().backward();
    expect([x.grad, y.grad]).toEqual([null, null]);
  });
});

describe('leaves and history', () => {
  test('only floats can require gradients', () => {
    expect(() => tensor([1, 2]).requiresGrad_()).toThrow(expect.objectContaining({ code: 'GRADIENT_DTYPE' }));
  });

  test('what is made of a leaf is none, requires a gradient and keeps none unless asked', () => {
    const x = leaf([1, 2]);
    const y = x.mul(2);
    y.retainGrad();
    const z = y.mul(3);
    z.sum().backward();
    expect([x.isLeaf, y.isLeaf, y.requiresGrad, x.detach().requiresGrad]).toEqual([true, false, true, false]);
    expect([gradOf(x), gradOf(y), z.grad]).toEqual([[6, 6], [3, 3], null]);
  });

  test('nothing is recorded within noGrad, and again within enableGrad', () => {
    const x = leaf([1]);
    const [off, on] = noGrad((): [Tensor, Tensor] => [x.mul(2), enableGrad(() => x.mul(2))]);
    expect([off.requiresGrad, on.requiresGrad, isGradEnabled()]).toEqual([false, true, true]);
    expect(() => {
      off.sum().backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_NOT_REQUIRED' }));
  });

  test('hooks see gradients and may replace them', () => {
    const x = leaf([1, 2]);
    const y = x.mul(2);
    const seen: unknown[] = [];
    const hook = y.registerHook((gradient) => {
      seen.push(gradient.toArray());
      return gradient.mul(10);
    });
    x.registerHook((gradient) => gradient.add(1));
    y.sum().backward();
    expect([seen, gradOf(x)]).toEqual([[[1, 1]], [21, 21]]);
    hook.remove();
    x.grad = null;
    x.mul(2).sum().backward();
    expect(gradOf(x)).toEqual([3, 3]);
  });
});

describe('writes', () => {
  test('to a leaf are refused, but within noGrad, where an optimiser makes them', () => {
    const x = leaf([1, 2]);
    expect(() => x.add_(1)).toThrow(expect.objectContaining({ code: 'IN_PLACE_LEAF' }));
    noGrad(() => x.sub_(ones([2])));
    expect(x.toArray()).toEqual([0, 1]);
  });

  test('in place of a value that the gradient needs use the value as it was', () => {
    const x = leaf([-1, 2]);
    const y = x.mul(2);
    y.relu_();
    y.mul_(y);
    y.sum().backward();
    expect(gradOf(x)).toEqual([0, 16]);
    const z = nn.functional.silu(x.mul(1), true);
    expect(z.requiresGrad).toBe(true);
  });

  test('to what an earlier operator saved are found out', () => {
    const x = leaf([1, 2]);
    const saved = x.mul(1);
    const y = saved.mul(saved);
    saved.add_(1);
    expect(() => {
      y.sum().backward();
    }).toThrow(expect.objectContaining({ code: 'GRADIENT_STALE' }));
  });

  test('through views of recorded memory, and of gradients into parts of other tensors, are refused', () => {
    const x = leaf([1, 2]);
    const y = x.mul(1);
    expect(() => y.at(0).mul_(2)).toThrow(expect.objectContaining({ code: 'IN_PLACE_VIEW' }));
    const buffer = zeros([2], { dtype: 'f64' });
    expect(() => buffer.set([0], x.sum())).toThrow(expect.objectContaining({ code: 'IN_PLACE_HISTORY' }));
  });

  test('of a recorded value into a whole tensor give it the history', () => {
    const x = leaf([1, 2]);
    const buffer = zeros([2], { dtype: 'f64' });
    buffer.copy_(x.mul(3));
    buffer.sum().backward();
    expect(gradOf(x)).toEqual([3, 3]);
  });
});

test('masks, whose results depend on values, have gradients', () => {
  const x = leaf([1, -2, 3]);
  x.maskedSelect(x.gt(0)).square().sum().backward();
  expect(gradOf(x)).toEqual([2, 0, 6]);
});
