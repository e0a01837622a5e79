// Which tensors of a module are its parameters: those that `parameter` marked, and those that require gradients. All others are buffers,
// which belong to its state and are not trained.
import { isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { isTensor, zeros } from '@tsinductor/tensor';
import type { DeviceName, Tensor } from '@tsinductor/tensor';
import { badInput } from './errors.ts';

const mark: unique symbol = Symbol.for('tsinductor.nn.parameter') as never;

interface Marked {
  readonly [mark]?: true;
}

/**
 * A tensor as a parameter of the module whose field it becomes: it requires gradients, and remains a parameter where it no longer does.
 *
 * ```ts
 * class Scale extends Module {
 *   readonly factor = parameter(ones([1]));
 *   forward(x: Tensor): Tensor {
 *     return x.mul(this.factor);
 *   }
 * }
 * ```
 *
 * @throws UserError NN_INPUT for what is no tensor of floats
 */
export function parameter(data: Tensor, { requiresGrad = true }: { readonly requiresGrad?: boolean } = {}): Tensor {
  if (!isTensor(data) || !isFloat(data.dtype))
    throw badInput('parameter', 'what was given is no tensor of floats', 'convert it: x.to("f32")');
  const leaf = data.isLeaf ? data : data.detach();
  Object.defineProperty(leaf, mark, { value: true, configurable: true });
  return leaf.requiresGrad_(requiresGrad);
}

export const isParameter = (tensor: Tensor): boolean => (tensor as Marked)[mark] === true || tensor.requiresGrad;

/** What every layer with parameters may be given besides its own options. */
export interface Placement {
  /** Of the parameters; f32, if absent. */
  readonly dtype?: DType;
  /** Where they lie; on the CPU, if absent. */
  readonly device?: DeviceName;
}

/** A new parameter of zeros, to be initialised. */
export function blank(shape: readonly number[], { dtype = 'f32', device = 'cpu' }: Placement): Tensor {
  return parameter(zeros([...shape], { dtype }).to(device));
}
