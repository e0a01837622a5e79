// Jacobians and Hessians of functions of one tensor to one tensor: all rows or all columns at once, by vmap.
import { at, isTsInductorError } from '@tsinductor/base';
import { derivedFrom } from '../derived-function.ts';
import { dispatchOne } from '../dispatch.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { vmap } from '../mapping/vmap.ts';
import { resultNotTensor } from './errors.ts';
import { grad, linearize, vjp } from './transforms.ts';

type TensorFunction = (x: Tensor, ...rest: never[]) => Tensor;

/** The tensors of `shape` that are 1 in one place and 0 elsewhere, in row-major order, along a first axis. */
const units = ({ shape, numel, dtype }: Tensor): Tensor =>
  dispatchOne('reshape', [dispatchOne('eye', [numel], { dtype }), [numel, ...shape]]);

/**
 * What a linear function gives for each unit of `like`, along an axis. All at once, unless a step on the way reads values, as the
 * gradient of a program's own may: then one after the other.
 */
function ofUnits(fn: (unit: Tensor) => Tensor, like: Tensor, axis: 0 | -1): Tensor {
  const all = units(like);
  try {
    return vmap(fn, { outAxes: axis, randomness: 'same' })(all);
  } catch (error) {
    if (!isTsInductorError(error) || error.code !== 'VMAP_VALUE') throw error;
    const each = Array.from({ length: like.numel }, (_, k) => fn(dispatchOne('select', [all, 0, k])));
    return dispatchOne('stack', [each, axis]);
  }
}

/**
 * The Jacobian by reverse mode: the work of a pass for each element of the result, so for functions to few numbers. Its shape is the shape of
 * the result, then the shape of the first argument.
 *
 * ```ts
 * jacrev((x: Tensor) => x.square())(x); // a diagonal matrix of 2 x
 * ```
 */
export function jacrev<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  const jacobian = (...args: Parameters<Fn>): Tensor => {
    const [x, ...rest] = args as unknown as [Tensor, ...never[]];
    const [y, pull] = vjp((own: Tensor) => fn(own, ...rest), x);
    if (!isTensor(y)) throw resultNotTensor('jacrev');
    const shape = [...y.shape, ...x.shape];
    if (y.numel === 0) return dispatchOne('zeros', [shape], { dtype: x.dtype });
    const rows = ofUnits((unit) => at(pull(unit as never) as readonly Tensor[], 0), y, 0);
    return dispatchOne('reshape', [rows, shape]);
  };
  return derivedFrom(jacobian, [fn]);
}

/** The Jacobian by forward mode: the work of a pass for each element of the argument, so for functions of few numbers. As `jacrev` otherwise. */
export function jacfwd<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  const jacobian = (...args: Parameters<Fn>): Tensor => {
    const [x, ...rest] = args as unknown as [Tensor, ...never[]];
    const [y, push] = linearize((own: Tensor) => fn(own, ...rest), x);
    if (!isTensor(y)) throw resultNotTensor('jacfwd');
    const shape = [...y.shape, ...x.shape];
    if (x.numel === 0) return dispatchOne('zeros', [shape], { dtype: y.dtype });
    const columns = ofUnits((unit) => push(...([unit] as never)), x, -1);
    return dispatchOne('reshape', [columns, shape]);
  };
  return derivedFrom(jacobian, [fn]);
}

/** The second derivatives of a function to one number: shape of the first argument twice. Forward over reverse. */
export function hessian<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  const gradient = grad(fn as unknown as (x: Tensor, ...rest: readonly unknown[]) => Tensor);
  return jacfwd(gradient as unknown as TensorFunction);
}
