// Hand-written kernels that every target is tested with: a map with a tail, rows reduced by an instance each, a product of
// matrices. In: sizes. Out: cases, with what they know of their arguments.
import { constexpr, ptr } from '@tsinductor/dsl';
import { f16ToBits } from '@tsinductor/ops';
import { blockCase, floats } from './block-case.ts';
import type { BlockCase } from './block-case.ts';

interface AddSizes {
  readonly n: number;
  /** Elements of a program instance; 512 if left out. */
  readonly BLOCK?: number;
  /** What addresses and scalars are multiples of; 1 if left out. */
  readonly divisor?: number;
}

export function addCase({ n, BLOCK: block = 512, divisor = 1 }: AddSizes): BlockCase {
  return blockCase(
    'add',
    { x: ptr('f32'), y: ptr('f32'), out: ptr('f32'), n: 'i32', BLOCK: constexpr },
    {
      body: ({ x, y, out, n: count, BLOCK }, tl) => {
        const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
        const mask = offs < count;
        tl.store(out + offs, tl.load(x + offs, mask) + tl.load(y + offs, mask), mask);
      },
      constants: { BLOCK: block },
      grid: [Math.ceil(n / block), 1, 1],
      args: { x: floats(n), y: floats(n, 3), out: new Float32Array(n), n },
      divisor,
    },
  );
}

/** Rows of a matrix of at most 256 columns, each a program instance. */
export function softmaxCase({ rows, n }: { readonly rows: number; readonly n: number }): BlockCase {
  return blockCase(
    'softmax',
    { x: ptr('f32'), out: ptr('f32'), n: 'i32', BLOCK: constexpr },
    {
      body: ({ x, out, n: columns, BLOCK }, tl) => {
        const row = tl.programId(0) * columns;
        const offs = tl.arange(0, BLOCK);
        const values = tl.load(x + row + offs, offs < columns, -Infinity);
        const numerator = tl.exp(values - tl.max(values, { axis: 0 }));
        tl.store(out + row + offs, numerator / tl.sum(numerator, { axis: 0 }), offs < columns);
      },
      constants: { BLOCK: 256 },
      grid: [rows, 1, 1],
      args: { x: floats(rows * n), out: new Float32Array(rows * n), n },
    },
  );
}

interface ProductSizes {
  readonly dtype: 'f32' | 'f16';
  readonly precision: 'ieee' | 'tf32';
  /** Rows, columns, and the length of the inner axis. */
  readonly sizes: readonly [number, number, number];
  /** The same of a tile; 32, 32 and 16 if left out. */
  readonly tile?: readonly [number, number, number];
  /** What addresses and scalars are multiples of; 1 if left out. */
  readonly divisor?: number;
}

const halves = (count: number, scale = 1): Uint16Array =>
  Uint16Array.from(floats(count, scale), (value) => f16ToBits(value));

/** A product of matrices whose pointers move along the inner axis. */
export function productCase(product: ProductSizes): BlockCase {
  const { dtype, precision, sizes, tile = [32, 32, 16], divisor = 1 } = product;
  const [[M, N, K], [rowsOfTile, columnsOfTile, depthOfTile]] = [sizes, tile];
  const schema = {
    a: ptr(dtype),
    b: ptr(dtype),
    c: ptr('f32'),
    M: 'i32',
    N: 'i32',
    K: 'i32',
    BM: constexpr,
    BN: constexpr,
    BK: constexpr,
    TF32: constexpr,
  } as const;
  const fill = dtype === 'f16' ? halves : floats;
  return blockCase(`product_${dtype}_${precision}`, schema, {
    body: ({ a, b, c, M: rowsOf, N: columnsOf, K: depthOf, BM, BN, BK, TF32 }, tl) => {
      const rows = tl.expandDims(tl.programId(0) * BM + tl.arange(0, BM), 1);
      const columns = tl.expandDims(tl.programId(1) * BN + tl.arange(0, BN), 0);
      const ks = tl.arange(0, BK);
      let left = a + rows * depthOf + tl.expandDims(ks, 0);
      let right = b + tl.expandDims(ks, 1) * columnsOf + columns;
      let sum = tl.zeros([BM, BN], tl.f32);
      for (const k of tl.range(0, depthOf, BK)) {
        const x = tl.load(left, rows < rowsOf && tl.expandDims(ks, 0) < depthOf - k, 0);
        const y = tl.load(right, tl.expandDims(ks, 1) < depthOf - k && columns < columnsOf, 0);
        sum = TF32 === 1 ? tl.dot(x, y, sum, { precision: 'tf32' }) : tl.dot(x, y, sum);
        left += BK;
        right += BK * columnsOf;
      }
      tl.store(c + rows * columnsOf + columns, sum, rows < rowsOf && columns < columnsOf);
    },
    constants: { BM: rowsOfTile, BN: columnsOfTile, BK: depthOfTile, TF32: precision === 'tf32' ? 1 : 0 },
    grid: [Math.ceil(M / rowsOfTile), Math.ceil(N / columnsOfTile), 1],
    args: { a: fill(M * K), b: fill(K * N, 0.5), c: new Float32Array(M * N), M, N, K },
    divisor,
  });
}
