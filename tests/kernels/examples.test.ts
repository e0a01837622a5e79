// The example kernels: interpreter, C++ and emulated CUDA give the same bits, and what PyTorch's operators give.
import { describe, expect, test } from '@jest/globals';
import { manualSeed, randn, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { dropout } from '../../examples/kernels/src/dropout.ts';
import { softmax } from '../../examples/kernels/src/fused-softmax.ts';
import { histogram } from '../../examples/kernels/src/histogram.ts';
import { layerNorm } from '../../examples/kernels/src/layer-norm.ts';
import { compare } from '../../examples/kernels/src/main.ts';
import { configurations, matmulWith } from '../../examples/kernels/src/matmul.ts';
import { prefixSum } from '../../examples/kernels/src/prefix-sum.ts';
import { add } from '../../examples/kernels/src/vector-add.ts';

test('the same bits in the interpreter, in C++ and as emulated CUDA', () => {
  expect(compare()).toEqual([]);
});

describe('against the operators', () => {
  manualSeed(7);
  const distance = (left: Tensor, right: Tensor): number => Number(left.sub(right).abs().max().item());
  const [x, y] = [randn([3000]), randn([3000])];
  const matrix = randn([5, 200]);
  test.each<[string, () => Tensor, () => Tensor, number]>([
    ['add', () => add(x, y), () => x.add(y), 0],
    ['softmax', () => softmax(matrix), () => matrix.softmax(-1), 1e-6],
    [
      'layer norm',
      () => layerNorm(matrix, { weight: x.slice(0, 0, 200), bias: y.slice(0, 0, 200) }),
      () => matrix.layerNorm([200], x.slice(0, 0, 200), y.slice(0, 0, 200)),
      1e-5,
    ],
    [
      'matmul',
      () => matmulWith(configurations[0], [matrix, matrix.t().contiguous()]),
      () => matrix.matmul(matrix.t()),
      1e-3,
    ],
    ['prefix sum', () => prefixSum(x), () => x.cumsum(0), 1e-3],
  ])('%s', (...[, own, reference, tolerance]) => {
    expect(distance(own(), reference())).toBeLessThanOrEqual(tolerance);
  });

  test('histogram', () => {
    const values = tensor([0, 1, 1, 5, 9, 3, 1], { dtype: 'i32' });
    expect(histogram(values, 6).toArray()).toEqual([1, 3, 0, 1, 0, 1]);
  });

  test('dropout keeps about the right share, scaled, and the same again', () => {
    const kept = dropout(x.abs().add(1), { p: 0.25, seed: 3 });
    const zeros = (kept.toArray() as number[]).filter((value) => value === 0).length;
    expect(Math.abs(zeros / 3000 - 0.25)).toBeLessThan(0.03);
    expect(distance(kept, dropout(x.abs().add(1), { p: 0.25, seed: 3 }))).toBe(0);
  });
});
