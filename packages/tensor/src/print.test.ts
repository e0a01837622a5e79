import { expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { arange, tensor, zeros } from './index.ts';

test('prints like PyTorch, with shape and dtype', () => {
  expect(
    String(
      tensor([
        [1, 2],
        [30, 4],
      ]),
    ),
  ).toBe('tensor([[ 1,  2],\n        [30,  4]], shape=[2, 2], dtype=i64)');
  expect(String(tensor([1, 2.5, NaN, -Infinity]))).toBe(
    'tensor([1.0000, 2.5000,    nan,   -inf], shape=[4], dtype=f32)',
  );
  expect(String(tensor([1, -2, 30], { dtype: 'f32' }))).toBe('tensor([ 1., -2., 30.], shape=[3], dtype=f32)');
  expect(String(tensor([1e-10, 1]))).toBe('tensor([1.0000e-10, 1.0000e+00], shape=[2], dtype=f32)');
  expect(String(tensor([true, false]))).toBe('tensor([ true, false], shape=[2], dtype=bool)');
  expect(String(tensor(3.5))).toBe('tensor(3.5000, shape=[], dtype=f32)');
  expect(String(tensor([]))).toBe('tensor([], shape=[0], dtype=f32)');
  expect(inspect({ x: tensor(1) })).toBe('{ x: tensor(1, shape=[], dtype=i64) }');
});

test('blocks of higher ranks are set apart, long lines are wrapped', () => {
  expect(String(zeros([2, 1, 2]))).toBe('tensor([[[0., 0.]],\n\n        [[0., 0.]]], shape=[2, 1, 2], dtype=f32)');
  const lines = String(arange(40)).split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

test('large tensors are summarised', () => {
  expect(String(arange(2000))).toBe('tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000], dtype=i64)');
  expect(String(arange(10000).reshape([100, 100])).split('\n')).toHaveLength(7);
});

test('a tensor is no number', () => {
  expect(() => Number(tensor(1))).toThrow(/TENSOR|number/);
  expect(() => (tensor(1) as never as number) + 1).toThrow(/x\.add\(y\)/);
  expect(String(tensor(1))).toContain('tensor(1');
});
