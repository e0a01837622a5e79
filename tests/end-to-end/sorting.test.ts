// Sorting and what follows from it, compiled against eager execution, bit for bit: all dtypes, elements that are equal, NaN, zeros of
// both signs, infinities; rows of no element, of one, short ones and ones that threads share; rows that are not side by side.
import { describe, expect, test } from '@jest/globals';
import { compile, isin, markDynamic, randint, randn, searchsorted, tensor, unique, zeros } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

type Sorting = (x: Tensor) => Tensor | Tensor[];

const bytesOf = (result: Tensor | readonly Tensor[]): unknown =>
  [result].flat().map((x) => {
    const array = x.toTypedArray();
    return {
      dtype: x.dtype,
      shape: x.shape,
      bytes: Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex'),
    };
  });

function expectSame(fn: Sorting, ...inputs: readonly Tensor[]): void {
  const compiled = compile(fn);
  for (const x of inputs) expect(bytesOf(compiled(x))).toEqual(bytesOf(fn(x)));
}

/** Everything that sorts along a dim. */
const along =
  (dim: number, k: number): Sorting =>
  (x) => [
    ...x.sort(dim),
    ...x.sort(dim, true),
    x.argsort(dim),
    ...x.topk(k, dim),
    ...x.topk(k, dim, false),
    ...x.kthvalue(k, dim),
    ...(x.median(dim) as unknown as Tensor[]),
    ...x.mode(dim, true),
  ];

const special = [1, NaN, -0, 0, Infinity, -Infinity, -0, NaN, 0, 2, -3, 2, 1, 0.5, -0.5, 3];
const dtypes: readonly DType[] = ['f64', 'f32', 'f16', 'bf16', 'i64', 'i32', 'i16', 'i8', 'u8', 'bool'];

describe('dtypes', () => {
  test.each(dtypes)('%s, with elements that are equal', (dtype) => {
    const isFloat = dtype.includes('f');
    const numbers = isFloat ? tensor(special) : tensor(special.map((x) => (Number.isFinite(x) ? Math.round(x) : 7)));
    expectSame(along(-1, 5), numbers.to(dtype).repeat([2, 3]));
    expectSame((x) => [...x.sort(), ...x.topk(9)], numbers.to(dtype).repeat([40]));
    if (dtype === 'f32' || dtype === 'f64')
      expectSame(
        (x) => [x.quantile(0.3, -1), x.nanquantile(0.7, -1), x.quantile(0.5), x.nanmedian()],
        numbers.to(dtype).repeat([2, 2]),
      );
  });

  test('integers of 64 bits whose range needs all of them, or few', () => {
    const far = tensor([2n ** 62n, -(2n ** 62n), 5n, 2n ** 62n, -5n, 2n ** 40n, 0n]);
    expectSame(along(0, 3), far, far.repeat([60]), randint(0, 50, [300]));
  });
});

describe('shapes', () => {
  test('of no element, and of one', () => {
    expectSame((x) => [...x.sort(), ...x.topk(0)], zeros([0]), zeros([3, 0]));
    expectSame((x) => [...x.sort(0), ...x.sort(1, true)], zeros([0, 3]), tensor([[7]]));
    expectSame((x) => [...x.sort(), ...x.topk(1), x.median()], tensor(3));
    expect(() => zeros([0]).median(0)).toThrow();
  });

  test.each([0, 1, 2])('along dim %d of three', (dim) => {
    expectSame(along(dim, 2), randn([5, 30, 4]), randn([4, 30, 5]).transpose(0, 2));
  });

  test.each([25, 128, 5000, 70_000])('rows of %d', (n) => {
    expectSame(along(0, 7), randn([n]), randint(-4, 4, [n]).to('i32'));
    expectSame((x) => x.topk(Math.floor(n / 8))[0], randn([n]));
    expectSame((x) => [x.quantile(0.25), x.quantile(tensor([0, 0.1, 0.5, 0.9, 1]))], randn([n]));
  });

  test('more than a million elements, in parts by digits of 11 bits', () => {
    expectSame((x) => [...x.sort()], randn([1_100_000]));
  });

  test('many rows', () => {
    expectSame(along(-1, 10), randn([300, 100]));
  });

  test('elements that are all one', () => {
    expectSame(along(0, 3), zeros([40_000]), zeros([3]).expand([50, 3]).t().at(0));
  });
});

test('adversarial orders: ascending, descending, all but one alike', () => {
  const n = 50_000;
  const rising = Float32Array.from({ length: n }, (_, k) => k);
  const one = Float32Array.from({ length: n }, (_, k) => (k === 777 ? -1 : 1e-40 * (k % 3)));
  expectSame(
    (x) => [...x.sort(), ...x.topk(20), ...x.topk(20, 0, false), ...x.kthvalue(n - 3)],
    tensor(rising),
    tensor(rising.toReversed()),
    tensor(one),
  );
});

test('sizes that change are symbols', () => {
  const compiled = compile(
    (x: Tensor) => [...x.sort(-1, true), ...x.topk(3), x.median(), ...x.kthvalue(2), x.quantile(0.4, -1)],
    { dynamic: true },
  );
  const fn = (x: Tensor): Tensor[] => [
    ...x.sort(-1, true),
    ...x.topk(3),
    x.median(),
    ...x.kthvalue(2),
    x.quantile(0.4, -1),
  ];
  for (const [rows, columns] of [
    [3, 40],
    [5, 700],
    [40, 9],
    [2, 40_000],
    [9, 33_000],
  ] as const) {
    const x = randn([rows, columns]);
    markDynamic(x, 0);
    markDynamic(x, 1);
    expect(bytesOf(compiled(x))).toEqual(bytesOf(fn(x)));
  }
  expect(compiled.explain().graphs.length).toBeLessThanOrEqual(2);
});

test('what is computed before and after a sort', () => {
  expectSame(
    (x) => {
      const [values, indices] = x.mul(2).sub(1).abs().sort(-1);
      return [values.exp(), indices.add(1), values.amax(), x.gather(-1, indices)];
    },
    randn([6, 50]),
  );
});

test('searches', () => {
  const sequence = randn([500]).sort()[0];
  expectSame(
    (x) => [searchsorted(sequence, x), searchsorted(sequence, x, { right: true }), isin(x, sequence)],
    randn([300]),
  );
});

test('distinct elements', () => {
  for (const x of [
    randint(0, 9, [50]),
    randint(0, 9, [6, 7]).to('i32'),
    tensor([2, NaN, -0, 0, NaN]),
    randint(0, 5, [20_000]),
    tensor([4]),
  ])
    expectSame((y) => unique(y, { returnInverse: true, returnCounts: true }), x);
  expectSame((y) => y.uniqueConsecutive({ returnCounts: true }), randint(0, 2, [40]));
});
