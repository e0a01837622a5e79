// Softmax in one pass over memory: a program instance takes a row whole, so that maximum, exponentials and sum never leave
// the processor.
import type { Tensor } from 'tsinductor';
import { emptyLike } from 'tsinductor';
import { constexpr, f32, i32, kernel, nextPowerOf2, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const softmaxKernel = kernel(
  'softmax',
  { x: ptr(f32), out: ptr(f32), columns: i32, BLOCK: constexpr },
  ({ x, out, columns, BLOCK }, tl) => {
    const row = tl.programId(0) * columns;
    const offs = tl.arange(0, BLOCK);
    const mask = offs < columns;
    const values = tl.load(x + row + offs, mask, -Infinity);
    const numerator = tl.exp(values - tl.max(values, { axis: 0 }));
    tl.store(out + row + offs, numerator / tl.sum(numerator, { axis: 0 }), mask);
  },
);

/** Softmax over the rows of a contiguous matrix. */
export function softmax(x: Tensor, options: LaunchOptions = {}): Tensor {
  const out = emptyLike(x);
  const [rows, columns] = [x.size(0), x.size(1)];
  softmaxKernel.launch([rows], { x, out, columns, BLOCK: nextPowerOf2(columns) }, options);
  return out;
}
