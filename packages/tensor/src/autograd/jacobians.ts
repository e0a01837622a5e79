// Jacobians and Hessians of functions of one tensor to one tensor, a row or a column at a time.
import { at } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import { isTensor } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { resultNotTensor } from './errors.ts';
import { grad, linearize, vjp } from './transforms.ts';

type TensorFunction = (x: Tensor, ...rest: never[]) => Tensor;

/** The tensors of `shape` that are 1 in one place and 0 elsewhere, in row-major order. */
function units({ shape, numel, dtype }: Tensor): readonly Tensor[] {
  const identity = dispatchOne('eye', [numel], { dtype });
  return Array.from({ length: numel }, (_, k) =>
    dispatchOne('reshape', [dispatchOne('select', [identity, 0, k]), [...shape]]),
  );
}

/**
 * The Jacobian by reverse mode: a pass for each element of the result, so for functions to few numbers. Its shape is the shape of
 * the result, then the shape of the first argument.
 *
 * ```ts
 * jacrev((x: Tensor) => x.square())(x); // a diagonal matrix of 2 x
 * ```
 */
export function jacrev<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  return (...args) => {
    const [x, ...rest] = args as unknown as [Tensor, ...never[]];
    const [y, pull] = vjp((own: Tensor) => fn(own, ...rest), x);
    if (!isTensor(y)) throw resultNotTensor('jacrev');
    const rows = units(y).map((unit) => at(pull(unit as never) as readonly Tensor[], 0));
    const shape = [...y.shape, ...x.shape];
    if (rows.length === 0) return dispatchOne('zeros', [shape], { dtype: x.dtype });
    return dispatchOne('reshape', [dispatchOne('stack', [rows, 0]), shape]);
  };
}

/** The Jacobian by forward mode: a pass for each element of the argument, so for functions of few numbers. As `jacrev` otherwise. */
export function jacfwd<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  return (...args) => {
    const [x, ...rest] = args as unknown as [Tensor, ...never[]];
    const [y, push] = linearize((own: Tensor) => fn(own, ...rest), x);
    if (!isTensor(y)) throw resultNotTensor('jacfwd');
    const columns = units(x).map((unit) => push(...([unit] as never)));
    const shape = [...y.shape, ...x.shape];
    if (columns.length === 0) return dispatchOne('zeros', [shape], { dtype: y.dtype });
    return dispatchOne('reshape', [dispatchOne('stack', [columns, -1]), shape]);
  };
}

/** The second derivatives of a function to one number: shape of the first argument twice. Forward over reverse. */
export function hessian<Fn extends TensorFunction>(fn: Fn): (...args: Parameters<Fn>) => Tensor {
  const gradient = grad(fn as unknown as (x: Tensor, ...rest: readonly unknown[]) => Tensor);
  return jacfwd(gradient as unknown as TensorFunction);
}
