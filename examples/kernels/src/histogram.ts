// A histogram: instances share the counts, so they add to them atomically.
import type { Tensor } from 'tsinductor';
import { zeros } from 'tsinductor';
import { cdiv, constexpr, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const histogramKernel = kernel(
  'histogram',
  { values: ptr(i32), counts: ptr(i32), n: i32, bins: i32, BLOCK: constexpr },
  ({ values, counts, n, bins, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const bin = tl.load(values + offs, offs < n, -1);
    tl.atomicAdd(counts + bin, 1, bin >= 0 && bin < bins);
  },
);

/** How often each of 0 to bins - 1 occurs. */
export function histogram(values: Tensor, bins: number, options: LaunchOptions = {}): Tensor {
  const counts = zeros([bins], { dtype: i32 });
  const n = values.numel;
  histogramKernel.launch(({ BLOCK }) => [cdiv(n, BLOCK)], { values, counts, n, bins, BLOCK: 512 }, options);
  return counts;
}
