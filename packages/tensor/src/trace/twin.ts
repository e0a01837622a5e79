// A second tensor over memory that exists, for whoever has to hold it while the first one may be disposed.
import { outsideScopes } from '../scope.ts';
import { placedTensor, placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';

/** Another tensor over the same elements, which holds the memory for itself. */
export function twinOf(tensor: Tensor): Tensor {
  const { storage, layout } = placeOf(tensor, 'a recorded call');
  return outsideScopes(() => placedTensor(tensor.dtype, storage, layout));
}
