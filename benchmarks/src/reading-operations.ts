// Our own contender's operations that read values while they run, as a user would write them: a compiled function goes from one
// read to the next in segments. Beside it the same in two compiled functions, with the read between them by hand.
import { compile } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { Operation } from './our-operations.ts';
import type { Params } from './protocol.ts';

const steps = 30;
/** Of the largest residual: a float of the size of the operands has no closer root. */
const close = 2e-6;

const normOf = (x: Tensor): Tensor => x.mul(x).sum().sqrt();
const scaledBy = (x: Tensor, norm: number): Tensor => x.div(norm);
const residualOf = (x: Tensor, a: Tensor): Tensor => x.mul(x).sub(a);
const isClose = (residual: Tensor): boolean => Number(residual.abs().amax().item()) < close;

/** Divides by the norm where it is more than 1. */
const clip = (x: Tensor): Tensor => {
  const norm = Number(normOf(x).item());
  return norm > 1 ? x.div(norm) : x.mul(1);
};

function clipByTwo(): (x: Tensor) => Tensor {
  const [first, second] = [compile(normOf), compile(scaledBy)];
  return (x) => {
    const norm = first(x);
    const value = Number(norm.item());
    norm.dispose();
    return value > 1 ? second(x, value) : x.mul(1);
  };
}

/** Square roots, until all of them are close. */
const newton = (a: Tensor): Tensor => {
  let x = a;
  for (let step = 0; step < steps; step += 1) {
    const residual = residualOf(x, a);
    if (isClose(residual)) break;
    x = x.sub(residual.div(x.mul(2)));
  }
  return x;
};

const newtonInPlace = (x: Tensor, a: Tensor): Tensor => {
  x.copy_(a);
  for (let step = 0; step < steps; step += 1) {
    const residual = residualOf(x, a);
    if (isClose(residual)) break;
    x.sub_(residual.div(x.mul(2)));
  }
  return x.clone();
};

export const readingOperations: Readonly<Record<string, (params: Params) => Operation>> = {
  clip: ({ n = 0 }) => ({ shapes: [[n]], fn: clip }),
  // The function itself runs as it is, and calls two that are compiled.
  clipByTwo: ({ n = 0 }) => ({ shapes: [[n]], fn: clipByTwo(), options: { disable: true } }),
  newton: ({ n = 0 }) => ({ shapes: [[n]], fn: newton }),
  newtonInPlace: ({ n = 0 }) => ({ shapes: [[n], [n]], fn: newtonInPlace }),
};
