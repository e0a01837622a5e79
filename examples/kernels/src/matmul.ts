// A matrix product with tuned block sizes: an instance computes one tile of the result, and walks along the inner axis with
// pointers that it moves.
import type { Tensor } from 'tsinductor';
import { empty } from 'tsinductor';
import { cdiv, constexpr, f32, i32, kernel, ptr } from 'tsinductor/dsl';
import type { LaunchOptions } from 'tsinductor/dsl';

export const matmulKernel = kernel(
  'matmul',
  {
    a: ptr(f32),
    b: ptr(f32),
    c: ptr(f32),
    M: i32,
    N: i32,
    K: i32,
    BM: constexpr,
    BN: constexpr,
    BK: constexpr,
  },
  ({ a, b, c, M, N, K, BM, BN, BK }, tl) => {
    const rows = tl.expandDims(tl.programId(0) * BM + tl.arange(0, BM), 1);
    const columns = tl.expandDims(tl.programId(1) * BN + tl.arange(0, BN), 0);
    const depth = tl.arange(0, BK);
    let left = a + rows * K + tl.expandDims(depth, 0);
    let right = b + tl.expandDims(depth, 1) * N + columns;
    let sum = tl.zeros([BM, BN], tl.f32);
    for (const k of tl.range(0, K, BK)) {
      const x = tl.load(left, rows < M && tl.expandDims(depth, 0) < K - k, 0);
      const y = tl.load(right, tl.expandDims(depth, 1) < K - k && columns < N, 0);
      sum = tl.dot(x, y, sum);
      left += BK;
      right += BK * N;
    }
    tl.store(c + rows * N + columns, sum, rows < M && columns < N);
  },
);

/** Tiles to choose from; the fastest is measured once for each shape. */
export const configurations = [
  { BM: 32, BN: 64, BK: 64 },
  { BM: 64, BN: 64, BK: 128 },
  { BM: 64, BN: 128, BK: 128 },
  { BM: 128, BN: 128, BK: 128 },
] as const;

/** The kernel with the best tiles for its shape. */
export const tunedMatmul = matmulKernel.autotune({
  configs: configurations,
  key: ['M', 'N', 'K'],
  bench: { warmup: 5, rep: 20 },
});

/** a @ b of contiguous matrices, with the best tiles for their shape. */
export function matmul(a: Tensor, b: Tensor, options: LaunchOptions = {}): Tensor {
  const [M, K, N] = [a.size(0), a.size(1), b.size(1)];
  const c = empty([M, N]);
  tunedMatmul.launch(({ BM, BN }) => [cdiv(M, BM), cdiv(N, BN)], { a, b, c, M, N, K }, options);
  return c;
}

export type Tile = (typeof configurations)[number];

/** The same with given tiles: for where measuring has no place. */
export function matmulWith(tile: Tile, [a, b]: readonly [Tensor, Tensor], options: LaunchOptions = {}): Tensor {
  const [M, K, N] = [a.size(0), a.size(1), b.size(1)];
  const c = empty([M, N]);
  matmulKernel.launch(({ BM, BN }) => [cdiv(M, BM), cdiv(N, BN)], { a, b, c, M, N, K, ...tile }, options);
  return c;
}
