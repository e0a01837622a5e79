// What is run on every instruction set: maps, reductions, scans, transposes, products, narrow and wide dtypes, masks. Sizes
// are odd, so that every loop has a tail. `bound` is the largest relative difference where an order of summation is free;
// without it, results are the interpreter's bit for bit.
import type { DType } from '@tsinductor/base';
import { arange, cat, where } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';

export type Given = readonly number[] | { readonly shape: readonly number[]; readonly dtype: DType };

export interface Described {
  readonly run: (...inputs: readonly [Tensor, Tensor, Tensor]) => Tensor | readonly Tensor[];
  readonly inputs: readonly Given[];
  readonly bound?: number;
}

const of = (dtype: DType, ...shape: readonly number[]): Given => ({ shape, dtype });
const order = 2e-5;

const maps: Readonly<Record<string, Described>> = {
  arithmetic: { run: (x, y) => x.mul(y).add(x).sub(2).div(y), inputs: [[67], [67]] },
  'broadcast rows and columns': { run: (x, y, z) => x.add(y).mul(z), inputs: [[5, 19], [19], [5, 1]] },
  'exp, log, tanh': { run: (x) => [x.exp(), x.abs().log(), x.tanh()], inputs: [[131]] },
  'sin, cos, tan': { run: (x) => [x.sin(), x.cos(), x.mul(1e6).tan()], inputs: [[131]] },
  'erf, gelu, sigmoid': { run: (x) => [x.erf(), x.gelu(), x.sigmoid()], inputs: [[131]] },
  'pow, atan2, hypot': { run: (x, y) => [x.abs().pow(y), x.atan2(y), x.hypot(y)], inputs: [[67], [67]] },
  'rounding and remainders': {
    run: (x, y) => [x.floor(), x.ceil(), x.trunc(), x.round(), x.fmod(y), x.remainder(y)],
    inputs: [[67], [67]],
  },
  roots: { run: (x) => [x.abs().sqrt(), x.abs().rsqrt(), x.reciprocal()], inputs: [[67]] },
  'extremes with NaN': { run: (x, y) => [x.maximum(y), x.minimum(y), x.clamp(-1, 2), x.relu()], inputs: [[67], [67]] },
  f64: { run: (x, y) => [x.exp(), x.sin(), x.mul(y).log1p()], inputs: [of('f64', 35), of('f64', 35)] },
  i64: {
    run: (x, y) => [x.mul(y), x.add(y).bitwiseXor(x), x.floorDivide(y.abs().add(1)), x.lt(y)],
    inputs: [of('i64', 35), of('i64', 35)],
  },
  i32: { run: (x, y) => [x.mul(y), x.bitwiseLeftShift(y), x.maximum(y)], inputs: [of('i32', 35), of('i32', 35)] },
  'i16, i8, u8': {
    run: (x, y, z) => [x.mul(x), y.add(y).mul(17), z.sub(9)],
    inputs: [of('i16', 67), of('i8', 67), of('u8', 67)],
  },
  bool: { run: (x, y) => [x.logicalAnd(y), x.logicalXor(y), x.logicalNot()], inputs: [of('bool', 67), of('bool', 67)] },
  'where with an index': { run: (x, y) => where(arange(67).remainder(3).eq(0), x, y), inputs: [[67], [67]] },
  f16: { run: (x, y) => [x.mul(y), x.exp(), x.to('f32')], inputs: [of('f16', 67), of('f16', 67)] },
  bf16: { run: (x, y) => [x.mul(y), x.exp(), x.to('f32')], inputs: [of('bf16', 67), of('bf16', 67)] },
  'to f16 and bf16': { run: (x) => [x.to('f16'), x.to('bf16')], inputs: [[131]] },
  'to integers': { run: (x) => [x.to('i32'), x.to('i64'), x.clamp(-90, 90).to('i8'), x.to('bool')], inputs: [[131]] },
  'from integers': { run: (x, y) => [x.to('f32'), y.to('f32'), x.to('f64')], inputs: [of('i64', 67), of('u8', 67)] },
};

const layouts: Readonly<Record<string, Described>> = {
  'a.T + b': {
    run: (a, b) => a.t().add(b),
    inputs: [
      [37, 53],
      [53, 37],
    ],
  },
  'a.T + b, f64': { run: (a, b) => a.t().add(b), inputs: [of('f64', 21, 35), of('f64', 35, 21)] },
  'a.T + b, i16': { run: (a, b) => a.t().add(b), inputs: [of('i16', 37, 53), of('i16', 53, 37)] },
  permute: { run: (x) => x.permute([2, 0, 1]).add(1), inputs: [[5, 19, 23]] },
  'flip and stride': { run: (x) => [x.flip([0]).add(1), x.slice(0, 0, 67, 2).mul(3)], inputs: [[67]] },
  'pad and tril': { run: (x) => [x.pad([2, 3, 1, 0]), x.tril()], inputs: [[19, 21]] },
  cat: {
    run: (x, y) => cat([x, y], 1).mul(2),
    inputs: [
      [7, 19],
      [7, 5],
    ],
  },
  gather: {
    run: (x, y) => [
      x.indexSelect(0, y.remainder(7)).add(1),
      x.t().gather(1, y.remainder(7).reshape([1, 35]).expand([3, 35])),
    ],
    inputs: [[7, 3], of('i64', 35)],
  },
  'index add of wide rows': {
    run: (x, y, z) => x.indexAdd(0, y.remainder(7), z),
    inputs: [[7, 300], of('i64', 211), [211, 300]],
  },
  scatter: { run: (x, y, z) => x.indexAdd(0, y.remainder(7), z), inputs: [[7, 3], of('i64', 11), [11, 3]] },
};

const reductions: Readonly<Record<string, Described>> = {
  'sum of rows': { run: (x) => x.sum(1), inputs: [of('f64', 9, 131)], bound: 1e-13 },
  'extremes of rows': { run: (x) => [x.amax(1), x.amin(1), x.argmax(1), x.argmin(1)], inputs: [[9, 131]] },
  'extremes of columns': { run: (x) => [x.amax(0), x.argmax(0)], inputs: [[131, 19]] },
  'any, all': { run: (x) => [x.any(1), x.all(0)], inputs: [of('bool', 9, 67)] },
  'sum of integers': { run: (x, y) => [x.sum(1), x.sum(0), y.sum()], inputs: [of('i64', 9, 67), of('u8', 131)] },
  'mean and variance of halves': {
    run: (x) => [x.abs().clamp(0, 2).to('f32').mean(1), x.abs().clamp(0, 2).to('f32').var(1)],
    inputs: [of('f16', 9, 131)],
    bound: order,
  },
  softmax: { run: (x) => x.clamp(-3, 3).softmax(-1), inputs: [[9, 131]], bound: order },
  'softmax of columns': { run: (x) => x.clamp(-3, 3).softmax(0), inputs: [[131, 19]], bound: order },
  'layer norm': {
    run: (x, y, z) => x.clamp(-3, 3).layerNorm([67], y.clamp(-3, 3), z.clamp(-3, 3)),
    inputs: [[9, 67], [67], [67]],
    bound: order,
  },
  'column sums in blocks': { run: (x) => x.clamp(-3, 3).sum(0), inputs: [[150, 300]], bound: order },
  'full sum': { run: (x) => x.clamp(-3, 3).sum(), inputs: [[400, 401]], bound: order },
  'scans of integers': { run: (x) => [x.cumsum(1), x.cumsum(0)], inputs: [of('i64', 19, 67)] },
  'products along rows': { run: (x) => x.cumprod(1), inputs: [of('i64', 19, 67)] },
};

const products: Readonly<Record<string, Described>> = {
  matmul: {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [
      [37, 50],
      [50, 83],
    ],
    bound: order,
  },
  'matmul, several blocks of k': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [
      [19, 530],
      [530, 35],
    ],
    bound: 2e-4,
  },
  'matmul of transposes': {
    run: (a, b) => a.clamp(-3, 3).t().matmul(b.clamp(-3, 3).t()),
    inputs: [
      [50, 37],
      [83, 50],
    ],
    bound: order,
  },
  'batched matmul': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [
      [3, 17, 33],
      [3, 33, 21],
    ],
    bound: order,
  },
  'one row': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [
      [1, 67],
      [67, 300],
    ],
    bound: order,
  },
  'dot products': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3).t()),
    inputs: [
      [3, 67],
      [35, 67],
    ],
    bound: order,
  },
  'matmul of i64': { run: (a, b) => a.matmul(b), inputs: [of('i64', 19, 33), of('i64', 33, 21)] },
  'matmul of bf16': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [of('bf16', 19, 33), of('bf16', 33, 21)],
    bound: 2e-2,
  },
  'matmul of f16': {
    run: (a, b) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)),
    inputs: [of('f16', 19, 33), of('f16', 33, 21)],
    bound: 5e-3,
  },
  'bias and gelu': {
    run: (a, b, c) => a.clamp(-3, 3).matmul(b.clamp(-3, 3)).mul(0.02).add(c.clamp(-3, 3)).gelu(),
    inputs: [[37, 50], [50, 83], [83]],
    bound: order,
  },
  'product and epilogue, both kept': {
    run: (a, b) => {
      const product = a.matmul(b);
      return [product, product.mul(3).add(1)];
    },
    inputs: [of('i64', 19, 33), of('i64', 33, 21)],
  },
  'residual, batched': {
    run: (a, b, c) => a.matmul(b).add(c).relu(),
    inputs: [of('i64', 3, 17, 33), of('i64', 3, 33, 21), of('i64', 3, 17, 21)],
  },
  'epilogue after several blocks of k': {
    run: (a, b, c) => a.matmul(b).add(c).to('i32'),
    inputs: [of('i64', 9, 530), of('i64', 530, 35), of('i64', 35)],
  },
  'epilogue of one row': {
    run: (a, b, c) => a.matmul(b).add(c),
    inputs: [of('i64', 1, 67), of('i64', 67, 300), of('i64', 300)],
  },
  'epilogue by index': { run: (a, b) => a.matmul(b).tril(), inputs: [of('i64', 19, 33), of('i64', 33, 21)] },
};

export const kernels: Readonly<Record<string, Described>> = { ...maps, ...layouts, ...reductions, ...products };
