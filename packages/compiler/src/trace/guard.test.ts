import { expect, test } from '@jest/globals';
import { markDynamic, tensor, Tensor } from '@tsinductor/tensor';
import { meetsTensor } from './guard.ts';
import type { TensorGuard } from './guard.ts';

const shape = [2, 3];
const strides = [3, 1];
const guardOf = (): TensorGuard => ({ dtype: 'f32', device: 'cpu', shape: [2, 3], strides: [3, 1] });

/** A tensor over memory of its own, with lists that others share. */
function sharing(lists: Pick<Tensor, 'shape' | 'strides'>, dtype: 'f32' | 'i32' = 'f32'): Tensor {
  const { backing } = tensor([0, 1, 2, 3, 4, 5], { dtype });
  if (backing.kind !== 'placed') throw new Error('a new tensor has memory');
  return new Tensor(dtype, lists, backing);
}

test('what met a guard before meets it by its lists; everything else of a tensor is looked at each time', () => {
  const guard = guardOf();
  expect(meetsTensor(sharing({ shape, strides }), guard)).toBe(true);
  expect(guard.met).toEqual({ shape, strides });
  expect(guard.met?.shape).toBe(shape);
  expect(meetsTensor(sharing({ shape, strides }), guard)).toBe(true);
  expect(meetsTensor(sharing({ shape, strides }, 'i32'), guard)).toBe(false);
  expect(meetsTensor(sharing({ shape, strides: [1, 2] }), guard)).toBe(false);
  expect(meetsTensor(sharing({ shape: [3, 2], strides }), guard)).toBe(false);
  const marked = sharing({ shape, strides });
  markDynamic(marked, 0);
  expect(meetsTensor(marked, guard)).toBe(false);
});

test('what did not meet a guard is not remembered; other lists of the same content are looked into', () => {
  const guard = guardOf();
  const wrong = { shape: [2, 4], strides: [4, 1] };
  expect(meetsTensor(sharing(wrong), guard)).toBe(false);
  expect(meetsTensor(sharing(wrong), guard)).toBe(false);
  expect(guard.met).toBeUndefined();
  expect(meetsTensor(sharing({ shape: [2, 3], strides: [3, 1] }), guard)).toBe(true);
  expect(meetsTensor(sharing({ shape, strides }), guard)).toBe(true);
  expect(guard.met?.strides).toBe(strides);
});
