// Layer normalisation: mean and variance of a row from one load of it.
import type { Tensor } from 'tsinductor';
import { emptyLike } from 'tsinductor';
import { constexpr, f32, i32, kernel, nextPowerOf2, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const layerNormKernel = kernel(
  'layer_norm',
  {
    x: ptr(f32),
    weight: ptr(f32),
    bias: ptr(f32),
    out: ptr(f32),
    columns: i32,
    epsilon: f32,
    BLOCK: constexpr,
  },
  ({ x, weight, bias, out, columns, epsilon, BLOCK }, tl) => {
    const row = tl.programId(0) * columns;
    const offs = tl.arange(0, BLOCK);
    const mask = offs < columns;
    const values = tl.load(x + row + offs, mask);
    const mean = tl.sum(values, { axis: 0 }) / columns;
    const centered = mask ? values - mean : 0;
    const variance = tl.sum(centered * centered, { axis: 0 }) / columns;
    const scaled = centered * tl.rsqrt(variance + epsilon);
    tl.store(out + row + offs, scaled * tl.load(weight + offs, mask) + tl.load(bias + offs, mask), mask);
  },
);

export interface Affine {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

/** Layer normalisation of the rows of a contiguous matrix. */
export function layerNorm(x: Tensor, { weight, bias }: Affine, options: LaunchOptions = {}): Tensor {
  const out = emptyLike(x);
  const [rows, columns] = [x.size(0), x.size(1)];
  const args = { x, weight, bias, out, columns, epsilon: 1e-5, BLOCK: nextPowerOf2(columns) };
  layerNormKernel.launch([rows], args, options);
  return out;
}
