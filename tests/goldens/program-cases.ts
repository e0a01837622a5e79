// Functions over tensors for what the other suites leave out: products of every form with what is fused before and after them, sizes
// that are symbols, scatters of every mode.
import type { Tensor } from '@tsinductor/tensor';
import { where } from '@tsinductor/tensor';
import type { Given } from '../structure/expect-kernels.ts';
import { tracedCase } from './golden-case.ts';
import type { GoldenCase, Traced } from './golden-case.ts';

const indices = (...shape: readonly number[]): Given => ({ shape, dtype: 'i64' });
const of = (dtype: 'bf16' | 'f16' | 'f64' | 'i8' | 'i32' | 'i64', ...shape: readonly number[]): Given => ({
  shape,
  dtype,
});

const products: Readonly<Record<string, Traced>> = {
  'row times matrix, bias, relu': {
    run: (x, w, b) => x.matmul(w).add(b).relu(),
    inputs: [[1, 300], [300, 1000], [1000]],
  },
  'row times matrix of bf16': { run: (x, w) => x.matmul(w), inputs: [of('bf16', 1, 300), of('bf16', 300, 1000)] },
  'row times matrix of i32': { run: (x, w) => x.matmul(w), inputs: [of('i32', 1, 300), of('i32', 300, 1000)] },
  'row times weights of int8': {
    run: (x, w, scale) => x.matmul(w.to('f32').mul(scale)),
    inputs: [[1, 512], of('i8', 512, 512), [512]],
  },
  'few rows by rows, bias': { run: (x, w, b) => x.matmul(w.t()).add(b), inputs: [[3, 700], [500, 700], [500]] },
  'few rows by rows in a batch': {
    run: (x, w) => x.matmul(w.transpose(1, 2)),
    inputs: [
      [5, 3, 700],
      [5, 501, 700],
    ],
  },
  'few rows by rows of i32': { run: (x, w) => x.matmul(w.t()), inputs: [of('i32', 2, 700), of('i32', 50, 700)] },
  'small product, relu': {
    run: (x, w) => x.matmul(w).relu(),
    inputs: [
      [3, 4],
      [4, 5],
    ],
  },
  'small product of f16': { run: (x, w) => x.matmul(w), inputs: [of('f16', 3, 4), of('f16', 4, 5)] },
  'small product of a sum': {
    run: (x, y, w) => x.add(y).matmul(w),
    inputs: [
      [3, 4],
      [3, 4],
      [4, 5],
    ],
  },
  'product of a gelu': {
    run: (x, w) => x.gelu().matmul(w),
    inputs: [
      [200, 300],
      [300, 500],
    ],
  },
  'product of a gelu of columns': {
    run: (x, w) => x.t().gelu().matmul(w),
    inputs: [
      [300, 200],
      [300, 500],
    ],
  },
  'product with weights of int8': {
    run: (x, w, scale) => x.matmul(w.to('f32').mul(scale)),
    inputs: [[64, 512], of('i8', 512, 512), [512]],
  },
  'product with weights of int8 by rows': {
    run: (x, w, scale) => x.matmul(w.to('f32').mul(scale).t()),
    inputs: [[64, 512], of('i8', 512, 512), [512, 1]],
  },
  'product of bf16 with gelu': {
    run: (x, w) => x.matmul(w).gelu(),
    inputs: [of('bf16', 200, 300), of('bf16', 300, 500)],
  },
  'product of f64': { run: (x, w) => x.matmul(w), inputs: [of('f64', 100, 200), of('f64', 200, 300)] },
  'product with residual': {
    run: (x, w, r) => x.matmul(w).add(r),
    inputs: [
      [1024, 256],
      [256, 1024],
      [1024, 1024],
    ],
  },
  'product beyond the caches': {
    run: (x, w) => x.matmul(w),
    inputs: [
      [4096, 256],
      [256, 4096],
    ],
  },
  'product of few rows, relu': {
    run: (x, w) => x.matmul(w).relu(),
    inputs: [
      [4, 300],
      [300, 500],
    ],
  },
  'product to few columns, relu': {
    run: (x, w) => x.matmul(w).relu(),
    inputs: [
      [500, 300],
      [300, 3],
    ],
  },
  'outer product': {
    run: (x, y) => x.matmul(y),
    inputs: [
      [300, 1],
      [1, 500],
    ],
  },
  'scores of attention': {
    run: (q, k) => q.matmul(k.transpose(2, 3)).mul(0.125).softmax(-1),
    inputs: [
      [2, 4, 128, 64],
      [2, 4, 128, 64],
    ],
  },
};

const symbolic: Readonly<Record<string, Traced>> = {
  'product of any size, relu': {
    run: (x, w) => x.matmul(w).relu(),
    inputs: [
      [20, 30],
      [30, 50],
    ],
    isDynamic: true,
  },
  'product of any size with rows': {
    run: (x, w) => x.matmul(w.t()),
    inputs: [
      [20, 30],
      [50, 30],
    ],
    isDynamic: true,
  },
  'batch of products of any size': {
    run: (x, w) => x.matmul(w),
    inputs: [
      [4, 20, 30],
      [4, 30, 50],
    ],
    isDynamic: true,
  },
  'product of a gelu of any size': {
    run: (x, w) => x.gelu().matmul(w),
    inputs: [
      [20, 30],
      [30, 50],
    ],
    isDynamic: true,
  },
  'attention of any size': {
    run: (q, k, v) => q.scaledDotProductAttention(k, v, { isCausal: true }),
    inputs: [
      [2, 40, 8],
      [2, 50, 8],
      [2, 50, 16],
    ],
    isDynamic: true,
  },
  'softmax of any size': { run: (x) => x.softmax(-1), inputs: [[20, 300]], isDynamic: true },
  'column sum of any size': { run: (x) => x.sum(0), inputs: [[20, 300]], isDynamic: true },
  'sum of any size': { run: (x) => x.sum(), inputs: [[20, 300]], isDynamic: true },
  'transpose of any size': {
    run: (x, y) => x.t().add(y),
    inputs: [
      [20, 30],
      [30, 20],
    ],
    isDynamic: true,
  },
  'running sum of any size': { run: (x) => x.cumsum(1), inputs: [[20, 30]], isDynamic: true },
  'running sum of columns of any size': { run: (x) => x.cumsum(0), inputs: [[20, 30]], isDynamic: true },
  'gather of rows of any size': { run: (x, i) => x.indexSelect(0, i), inputs: [[20, 30], indices(7)], isDynamic: true },
  'index add of any size': {
    run: (x, i, s) => x.indexAdd(0, i, s),
    inputs: [[20, 30], indices(7), [7, 30]],
    isDynamic: true,
  },
};

const scattered: Readonly<Record<string, Traced>> = {
  'scatter of elements': { run: (x, i, s) => x.scatter(1, i, s), inputs: [[64, 100], indices(64, 30), [64, 30]] },
  'scatter add of elements': {
    run: (x, i, s) => x.scatterAdd(1, i, s),
    inputs: [[64, 100], indices(64, 30), [64, 30]],
  },
  'scatter add of f64': {
    run: (x, i, s) => x.scatterAdd(0, i, s),
    inputs: [of('f64', 64, 100), indices(64, 100), of('f64', 64, 100)],
  },
  'index add of bf16': {
    run: (x, i, s) => x.indexAdd(0, i, s),
    inputs: [of('bf16', 64, 1024), indices(4096), of('bf16', 4096, 1024)],
  },
  'index add of i64': {
    run: (x, i, s) => x.indexAdd(0, i, s),
    inputs: [of('i64', 64, 128), indices(16384), of('i64', 16384, 128)],
  },
  'index add of a product': {
    run: (x, i, s) => x.indexAdd(0, i, s.mul(2).exp()),
    inputs: [[64, 1024], indices(4096), [4096, 1024]],
  },
  'index copy of rows': { run: (x, i, s) => x.indexCopy(0, i, s), inputs: [[64, 1024], indices(32), [32, 1024]] },
  'greatest of each class': {
    run: (x, i, s) => x.scatterReduce(0, i, s, 'amax'),
    inputs: [[64, 100], indices(640, 100), [640, 100]],
  },
};

const others: Readonly<Record<string, Traced>> = {
  'gather of int8 rows of memory': {
    run: (x, i) => x.indexSelect(0, i),
    inputs: [of('i8', 65536, 1024), indices(16384)],
  },
  'gather of rows of memory, scaled': {
    run: (x, i, s) => x.indexSelect(0, i).mul(s),
    inputs: [[16384, 1024], indices(16384), [16384, 1]],
  },
  'embedding, summed over its bag': {
    run: (x, i) => x.indexSelect(0, i).reshape([1024, 16, 256]).sum(1),
    inputs: [[65536, 256], indices(16384)],
  },
  'where of a large mask': { run: (x, y) => where(x.gt(y), x, y.exp()), inputs: [[1 << 24], [1 << 24]] },
  'mean and variance of memory': { run: (x) => [x.mean(1), x.mul(x).mean(1)], inputs: [[16384, 1024]] },
  'sums both ways': { run: (x) => [x.sum(0), x.sum(1)], inputs: [[4096, 1024]] },
  'sum of everything after a chain': { run: (x) => x.mul(2).exp().sum(), inputs: [[1 << 24]] },
  'largest of everything and where': { run: (x) => [x.amax(), x.argmax()], inputs: [[1 << 22]] },
  'doubled beside its row sums': { run: (x) => [x.mul(2), x.sum(1)], inputs: [[1024, 4096]] },
  'flipped rows of memory': { run: (x) => x.flip([1]).mul(2), inputs: [[4096, 4096]] },
  'every other column of memory': { run: (x) => strided(x).mul(2), inputs: [[4096, 8192]] },
  'repeated rows': { run: (x) => x.repeatInterleave(4, 0).add(1), inputs: [[1024, 1024]] },
  'sort of rows': { run: (x) => x.sort(1), inputs: [[64, 300]] },
  'running products of rows': { run: (x) => x.cumprod(1), inputs: [[8192, 1024]] },
  'running maxima of rows': { run: (x) => x.cummax(1), inputs: [[300, 500]] },
  'running sums of bf16': { run: (x) => x.cumsum(1), inputs: [of('bf16', 8192, 1024)] },
  'transpose of f64 beyond the caches': { run: (x) => x.t().contiguous(), inputs: [of('f64', 2048, 4096)] },
  'transpose of a product of columns': {
    run: (x, y) => x.t().mul(y.t()).exp(),
    inputs: [
      [2048, 4096],
      [2048, 4096],
    ],
  },
  'images to channels last': { run: (x) => x.permute([0, 2, 3, 1]).contiguous(), inputs: [[8, 64, 128, 128]] },
  'images from channels last': { run: (x) => x.permute([0, 3, 1, 2]).contiguous(), inputs: [[8, 128, 128, 3]] },
};

const strided = (x: Tensor): Tensor => x.slice(1, 0, 8192, 2);

export const programCases: readonly GoldenCase[] = Object.entries({
  ...products,
  ...symbolic,
  ...scattered,
  ...others,
}).map(([name, traced]) => tracedCase(name, traced));
