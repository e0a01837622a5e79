// The first kernel: each program instance adds one block of elements, and masks what lies behind the end.
import type { Tensor } from 'tsinductor';
import { emptyLike } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const addKernel = kernel(
  'add',
  { x: ptr(f32), y: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr },
  ({ x, y, out, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const mask = offs < n;
    tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
  },
);

/** x + y, of two contiguous tensors of one shape. */
export function add(x: Tensor, y: Tensor, options: LaunchOptions = {}): Tensor {
  const out = emptyLike(x);
  const n = x.numel;
  addKernel.launch(({ BLOCK }) => [cdiv(n, BLOCK)], { x, y, out, n, BLOCK: 1024 }, options);
  return out;
}
