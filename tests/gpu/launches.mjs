// Hand-written kernels that are compared between a device and the emulation: what binding blocks to threads does differently.
// In: nothing. Out: name, kernel, grid, arguments as tensors of the CPU and numbers, options; and `within`, a part of the largest
// result, where the hardware need not round as the emulation does.
import { manualSeed, randint, randn, zeros } from 'tsinductor';
import { constexpr, f16, f32, i32, kernel, ptr } from 'tsinductor/dsl';

const add = kernel(
  'add',
  { x: ptr(f32), y: ptr(f32), out: ptr(f32), n: i32, factor: f32, BLOCK: constexpr },
  ({ x, y, out, n, factor, BLOCK }, tl) => {
    const offs = tl.programId(0) * BLOCK + tl.arange(0, BLOCK);
    tl.deviceAssert(offs >= 0, 'offsets are not negative');
    tl.store(out + offs, tl.load(x + offs, offs < n) * factor + tl.load(y + offs, offs < n), offs < n);
  },
);
const softmax = kernel(
  'softmax',
  { x: ptr(f32), out: ptr(f32), n: i32, BLOCK: constexpr },
  ({ x, out, n, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    const row = tl.load(x + tl.programId(0) * n + offs, offs < n, -Infinity);
    const numerator = tl.exp(row - tl.max(row));
    tl.store(out + tl.programId(0) * n + offs, numerator / tl.sum(numerator), offs < n);
  },
);
const histogram = kernel('histogram', { x: ptr(i32), counts: ptr(i32), n: i32 }, ({ x, counts, n }, tl) => {
  const offs = tl.programId(0) * 256 + tl.arange(0, 256);
  tl.atomicAdd(counts + tl.load(x + offs, offs < n, 0), 1, offs < n);
});
const sums = kernel('sums', { x: ptr(f32), out: ptr(f32) }, ({ x, out }, tl) => {
  const rows = tl.expandDims(tl.arange(0, 16), 1) * 32;
  const offs = rows + tl.expandDims(tl.arange(0, 32), 0);
  tl.store(out + offs, tl.cumsum(tl.trans(tl.trans(tl.load(x + offs))), 1));
});
const product = kernel('product', { a: ptr(f16), b: ptr(f16), c: ptr(f32), K: i32 }, ({ a, b, c, K }, tl) => {
  const rows = tl.expandDims(tl.arange(0, 32), 1);
  const columns = tl.expandDims(tl.arange(0, 32), 0);
  const depth = tl.arange(0, 16);
  let left = a + rows * K + tl.expandDims(depth, 0);
  let right = b + tl.expandDims(depth, 1) * 32 + columns;
  let sum = tl.zeros([32, 32], tl.f32);
  for (const k of tl.range(0, K, 16)) {
    sum = tl.dot(tl.load(left, tl.expandDims(depth, 0) < K - k, 0), tl.load(right), sum);
    left += 16;
    right += 16 * 32;
  }
  tl.store(c + rows * 32 + columns, sum);
});

export function launches() {
  manualSeed(2);
  const [x, y] = [randn([1000]), randn([1000])];
  const [a, b] = [randn([32, 64]).to('f16'), randn([64, 32]).to('f16')];
  return [
    { name: 'add', kernel: add, grid: [4], args: { x, y, out: zeros([1000]), n: 1000, factor: -0.3, BLOCK: 256 } },
    { name: 'softmax', kernel: softmax, grid: [5], args: { x, out: zeros([1000]), n: 200, BLOCK: 256 } },
    {
      name: 'histogram',
      kernel: histogram,
      grid: [4],
      args: { x: randint(0, 10, [1000]).to('i32'), counts: zeros([10], { dtype: 'i32' }), n: 1000 },
    },
    { name: 'sums', kernel: sums, grid: [1], args: { x, out: zeros([512]) } },
    {
      name: 'product',
      kernel: product,
      grid: [1],
      args: { a, b, c: zeros([32, 32]), K: 64 },
      options: { numWarps: 2 },
      // PTX leaves open in which order `mma` adds its products and how it rounds between them.
      within: 2 ** -20,
    },
  ];
}
