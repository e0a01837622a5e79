// Which tensors lie in one memory. In: two tensors. Out: yes or no.
import { placeOf } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';

const storageOf = (tensor: Tensor): ReturnType<typeof placeOf>['storage'] => placeOf(tensor, 'a compiled call').storage;

export const isSameStorage = (a: Tensor, b: Tensor): boolean => storageOf(a) === storageOf(b);

/** Whether two tensors are the same elements of the same memory, in the same order. */
export function isSamePlace(a: Tensor, b: Tensor): boolean {
  const [first, second] = [placeOf(a, 'a compiled call').layout, placeOf(b, 'a compiled call').layout];
  const isEqual = (left: readonly number[], right: readonly number[]): boolean =>
    left.length === right.length && left.every((value, axis) => value === right[axis]);
  const isSame = first.offset === second.offset && isEqual(first.shape, second.shape);
  return isSameStorage(a, b) && isSame && isEqual(first.strides, second.strides);
}
