// A prefix sum of any length in three launches: sums within blocks, sums of the blocks' totals, and the totals added on.
import type { Tensor } from 'tsinductor';
import { empty, emptyLike } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, nextPowerOf2, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const scanKernel = kernel(
  'scan',
  { x: ptr(f32), out: ptr(f32), totals: ptr(f32), n: i32, BLOCK: constexpr },
  ({ x, out, totals, n, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    const values = tl.load(x + offs, offs < n, 0);
    tl.store(out + offs, tl.cumsum(values, 0), offs < n);
    tl.store(totals + tl.programId(0), tl.sum(values));
  },
);

export const addTotalsKernel = kernel(
  'add_totals',
  {
    out: ptr(f32),
    totals: ptr(f32),
    n: i32,
    blocks: i32,
    BLOCK: constexpr,
    BLOCKS: constexpr,
  },
  ({ out, totals, n, blocks, BLOCK, BLOCKS }, tl) => {
    const pid = tl.programId(0);
    const earlier = tl.arange(0, BLOCKS);
    const before = tl.sum(tl.load(totals + earlier, earlier < blocks && earlier < pid, 0));
    const offs = pid * BLOCK + tl.arange(0, BLOCK);
    tl.store(out + offs, tl.load(out + offs, offs < n) + before, offs < n);
  },
);

const block = 1024;

/** Sums of elements 0 to i of a contiguous vector. */
export function prefixSum(x: Tensor, options: LaunchOptions = {}): Tensor {
  const out = emptyLike(x);
  const n = x.numel;
  const blocks = cdiv(n, block);
  const totals = empty([blocks]);
  scanKernel.launch([blocks], { x, out, totals, n, BLOCK: block }, options);
  addTotalsKernel.launch([blocks], { out, totals, n, blocks, BLOCK: block, BLOCKS: nextPowerOf2(blocks) }, options);
  return out;
}
