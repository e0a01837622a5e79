// Dropout without a mask in memory: whether an element stays is drawn from a seed and its position, so a backward pass draws
// the same again.
import type { Tensor } from 'tsinductor';
import { emptyLike } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const dropoutKernel = kernel(
  'dropout',
  { x: ptr(f32), out: ptr(f32), n: i32, p: f32, seed: i32, BLOCK: constexpr },
  ({ x, out, n, p, seed, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    const keeps = tl.rand(seed, offs) > p;
    tl.store(out + offs, keeps ? tl.load(x + offs, mask) / (1 - p) : 0, mask);
  },
);

export interface Dropping {
  /** The probability with which an element becomes 0. */
  readonly p: number;
  readonly seed: number;
}

/** x with elements dropped at random, the others scaled up. */
export function dropout(x: Tensor, { p, seed }: Dropping, options: LaunchOptions = {}): Tensor {
  const out = emptyLike(x);
  const n = x.numel;
  dropoutKernel.launch(({ BLOCK }) => [cdiv(n, BLOCK)], { x, out, n, p, seed, BLOCK: 1024 }, options);
  return out;
}
