import { describe, expect, test } from '@jest/globals';
import {
  add,
  arange,
  cat,
  ellipsis,
  eye,
  f32,
  float,
  linspace,
  nn,
  ones,
  slice,
  split,
  tensor,
  where,
  zeros,
} from '../index.ts';
import type { Tensor } from '../index.ts';

describe('operators', () => {
  test('as methods, with arguments by position and by name', () => {
    const x = tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { dtype: 'f32' },
    );
    expect(x.sum().item()).toBe(21);
    expect(x.sum(1).toArray()).toEqual([6, 15]);
    expect(x.sum({ dim: 1, keepdim: true }).toArray()).toEqual([[6], [15]]);
    expect(x.sum([0, 1]).item()).toBe(21);
    expect(x.add(10).at(1).toArray()).toEqual([14, 15, 16]);
    expect(x.permute(1, 0).shape).toEqual([3, 2]);
    expect(x.permute([1, 0]).shape).toEqual([3, 2]);
    expect(x.reshape([3, -1]).shape).toEqual([3, 2]);
    expect(x.T.toArray()).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    expect(x.matmul(x.t()).toArray()).toEqual([
      [14, 32],
      [32, 77],
    ]);
  });

  test('as functions and in namespaces', () => {
    expect(cat([arange(2), arange(3)]).toArray()).toEqual([0, 1, 0, 1, 2]);
    expect(where(tensor([true, false]), 1, 2).toArray()).toEqual([1, 2]);
    expect(eye(2).toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(linspace(0, 1, 3).toArray()).toEqual([0, 0.5, 1]);
    expect(nn.functional.relu(tensor([-1, 2])).toArray()).toEqual([0, 2]);
    const [values, indices] = tensor([3, 1, 2]).max(0);
    expect([values.item(), indices.item()]).toEqual([3, 0]);
  });

  test('scalars take part in promotion by their category', () => {
    const x = tensor([1, 2], { dtype: 'i32' });
    expect(x.add(2).dtype).toBe('i32');
    expect(x.add(0.5).dtype).toBe('f32');
    expect(x.add(float(2)).dtype).toBe('f32');
    expect(x.add(2n).dtype).toBe('i32');
    expect(tensor([1], { dtype: 'f16' }).mul(2.5).dtype).toBe('f16');
    expect(x.to(f32).dtype).toBe('f32');
  });

  test('mistakes are coded, and name the line', () => {
    const code = (expected: string): unknown => expect.objectContaining({ code: expected });
    expect(() => zeros([2, 3]).add(zeros([4]))).toThrow(code('SHAPE_MISMATCH'));
    expect(() => zeros([2, 3]).add(zeros([4]))).toThrow(/eager\.test\.ts:\d+/);
    expect(() => zeros([2]).sum({ dimension: 1 } as never)).toThrow(code('ARGUMENT_UNKNOWN'));
    expect(() => zeros([2]).sum(3)).toThrow(code('DIM_OUT_OF_RANGE'));
    expect(() => zeros([2]).add('1' as never)).toThrow(code('ARGUMENT_TYPE'));
    expect(() => cat(zeros([2]) as never)).toThrow(code('ARGUMENT_TYPE'));
    expect(() => arange(3).gather(0, tensor([5]))).toThrow(code('INDEX_OUT_OF_RANGE'));
    expect(() => zeros([2]).item()).toThrow(code('NOT_A_SCALAR'));
  });

  test('empty tensors', () => {
    expect(zeros([0, 3]).sum(0).toArray()).toEqual([0, 0, 0]);
    expect(zeros([0]).add(1).shape).toEqual([0]);
    expect(cat([zeros([0]), ones([2])]).toArray()).toEqual([1, 1]);
  });
});

describe('views', () => {
  test('share memory', () => {
    const x = arange(6).reshape([2, 3]);
    const [first, rest] = [x.at(0), x.at(slice(1, null), slice(0, 2))];
    x.add_(10);
    expect(first.toArray()).toEqual([10, 11, 12]);
    expect(rest.toArray()).toEqual([[13, 14]]);
    rest.fill_(0);
    expect(x.toArray()).toEqual([
      [10, 11, 12],
      [0, 0, 15],
    ]);
    x.t().at(2).mul_(2);
    expect(x.toArray()).toEqual([
      [10, 11, 24],
      [0, 0, 30],
    ]);
    expect(x.at(ellipsis, 2).storageOffset).toBe(2);
  });

  test('a reshape shares where it can and copies where it must', () => {
    const x = arange(6).reshape([2, 3]);
    x.reshape([6]).at(0).fill_(7);
    expect(x.at(0, 0).item()).toBe(7);
    const copy = x.t().reshape([6]);
    copy.zero_();
    expect(x.at(0, 0).item()).toBe(7);
    expect(() => x.t().view([6])).toThrow(expect.objectContaining({ code: 'VIEW_IMPOSSIBLE' }));
  });

  test('contiguous() and to() of what is so already share memory', () => {
    const x = zeros([2]);
    x.contiguous().add_(1);
    expect(x.toArray()).toEqual([1, 1]);
    x.clone().add_(1);
    expect(x.toArray()).toEqual([1, 1]);
  });

  test('several results of one view operator', () => {
    const x = arange(4);
    const [left, right] = x.split(2) as [Tensor, Tensor];
    right.zero_();
    left.add_(1);
    expect(x.toArray()).toEqual([1, 2, 0, 0]);
  });
});

describe('in-place operations', () => {
  test('keep shape and dtype', () => {
    const x = tensor([1, 2], { dtype: 'f32' });
    expect(x.add_(tensor([1, 1]))).toBe(x);
    expect(x.toArray()).toEqual([2, 3]);
    const code = (expected: string): unknown => expect.objectContaining({ code: expected });
    expect(() => x.add_(zeros([3, 2]))).toThrow(code('SHAPE_MISMATCH'));
    expect(() => tensor([1, 2]).add_(0.5)).toThrow(code('DTYPE_MISMATCH'));
    expect(() => tensor([true]).add_(1)).toThrow(code('DTYPE_MISMATCH'));
    expect(() => zeros([1]).expand([3]).add_(arange(3))).toThrow(code('WRITE_OVERLAP'));
    const one = zeros([1]);
    one.expand([3]).fill_(4);
    expect(one.toArray()).toEqual([4]);
  });

  test('read before they write where memory overlaps', () => {
    const x = arange(4);
    x.at(slice(1, 4)).copy_(x.at(slice(0, 3)));
    expect(x.toArray()).toEqual([0, 0, 1, 2]);
    const square = arange(4).reshape([2, 2]);
    square.copy_(square.t());
    expect(square.toArray()).toEqual([
      [0, 2],
      [1, 3],
    ]);
    square.add_(square.t());
    expect(square.toArray()).toEqual([
      [0, 3],
      [3, 6],
    ]);
  });

  test('copy_ broadcasts and casts', () => {
    const x = zeros([2, 2], { dtype: 'i32' });
    x.copy_(tensor([1.9, -2.9]));
    expect(x.toArray()).toEqual([
      [1, -2],
      [1, -2],
    ]);
  });

  test('set writes through subscripts of every kind', () => {
    const x = zeros([3, 3]);
    x.set([0], 1);
    x.set([slice(1, 3), 0], tensor([5, 6]));
    x.set([tensor([1, 2]), tensor([2, 2])], 9);
    x.set([x.eq(6)], -6);
    expect(x.toArray()).toEqual([
      [1, 1, 1],
      [5, 0, 9],
      [-6, 0, 9],
    ]);
  });

  test('functions with an inplace option write into their argument', () => {
    const x = tensor([-1, 2], { dtype: 'f32' });
    expect(nn.functional.leakyRelu(x, { inplace: true, negativeSlope: 0.5 })).toBe(x);
    expect(x.toArray()).toEqual([-0.5, 2]);
  });

  test('out takes the result', () => {
    const out = zeros([2]);
    expect(add(tensor([1, 2]), 3, { out })).toBe(out);
    expect(out.toArray()).toEqual([4, 5]);
    const code = (expected: string): unknown => expect.objectContaining({ code: expected });
    expect(() => add(out, zeros([3, 2]), { out })).toThrow(code('SHAPE_MISMATCH'));
    expect(() => add(out, 1, { out: tensor([1, 2]) })).toThrow(code('DTYPE_MISMATCH'));
    expect(() => split(out, 1, { out } as never)).toThrow(code('ARGUMENT_VALUE'));
  });

  test("asStridedScatter stays inside its input, and its source has the layout's shape", () => {
    const [x, src] = [zeros([3, 9]), ones([3, 3])];
    const code = (expected: string): unknown => expect.objectContaining({ code: expected });
    const value = code('ARGUMENT_VALUE');
    expect(() => x.asStridedScatter(src, [3, -1], [3, 9])).toThrow(value);
    expect(() => x.asStridedScatter(src, [3, 3], [3, 20])).toThrow(value);
    expect(() => x.asStridedScatter(src, [3, 3], [3, -1])).toThrow(value);
    expect(() => x.asStridedScatter(src, [3, 3], [3])).toThrow(value);
    expect(() => x.asStridedScatter(src, [3, 3], [3, 1], { storageOffset: -1 })).toThrow(value);
    expect(() => x.asStridedScatter(ones([1, 3]), [3, 3], [3, 1])).toThrow(code('SHAPE_MISMATCH'));
    expect(
      zeros([2, 2])
        .asStridedScatter(ones([2]), [2], [2], { storageOffset: 1 })
        .toArray(),
    ).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  test('losses of classes want a weight for each class', () => {
    const [x, labels] = [tensor([[1, 2]], { dtype: 'f32' }), tensor([0])];
    const code = expect.objectContaining({ code: 'SHAPE_MISMATCH' });
    for (const weight of [ones([]), ones([1]), ones([1, 2]), ones([3])]) {
      expect(() => nn.functional.crossEntropy(x, labels, { weight })).toThrow(code);
      expect(() => nn.functional.crossEntropy(x, ones([1, 2]), { weight })).toThrow(code);
      expect(() => nn.functional.multiMarginLoss(x, labels, { weight })).toThrow(code);
    }
    // As PyTorch 1.13 gives it: the mean over both classes of 3 * (1 - 1 + 2).
    const weight = tensor([3, 5], { dtype: 'f32' });
    expect(nn.functional.multiMarginLoss(x, labels, { weight }).item()).toBe(3);
  });

  test('batchNorm moves the running statistics in training', () => {
    const [mean, variance] = [zeros([2]), ones([2])];
    const x = tensor(
      [
        [1, 10],
        [3, 30],
      ],
      { dtype: 'f32' },
    );
    nn.functional.batchNorm(x, mean, variance, { training: true, momentum: 0.5 });
    expect(mean.toArray()).toEqual([1, 10]);
    expect(variance.toArray()).toEqual([1.5, 100.5]);
  });
});

test('a mask selects', () => {
  const x = tensor([
    [1, 2],
    [3, 4],
  ]);
  expect(x.at(x.gt(2)).toArray()).toEqual([3, 4]);
  expect(x.at(0, tensor([false, true])).toArray()).toEqual([2]);
});
