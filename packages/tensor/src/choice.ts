// Methods whose tensor is not the first argument of their operator.
import { dispatchOne } from './dispatch.ts';
import type { Scalar } from './scalars.ts';
import type { Tensor } from './tensor.ts';

export interface ChoiceMethods {
  /** The tensor's elements where the condition is true, and elsewhere those of `other`. */
  where(condition: Tensor, other: Tensor | Scalar): Tensor;
}

export const choiceMethods = {
  where(this: Tensor, condition: Tensor, other: Tensor | Scalar): Tensor {
    return dispatchOne('where', [condition, this, other]);
  },
} as const;
