// Sorting and what follows from it, compiled against eager execution, bit for bit: all dtypes, elements that are equal, NaN, zeros of
// both signs, infinities; rows of no element, of one, short ones and ones that threads share; rows that are not side by side.
//
// The C++ that sorts elements of a dtype is long, and what a test takes is the compiler's time on it: so the cases of a dtype are
// one compiled function, and the C++ compiler takes fewer pains than for users.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { compile, isin, markDynamic, randint, randn, searchsorted, setConfig, tensor, unique, zeros } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();
beforeAll(() => {
  setConfig({ cpp: { optimizationFlag: '-O1' } });
});

type Sorting = (x: Tensor) => Tensor | Tensor[];

/** Bytes as a text; of many their hash. */
const textOf = (bytes: Buffer): string =>
  bytes.length > 4096 ? createHash('sha256').update(bytes).digest('hex') : bytes.toString('hex');

const bytesOf = (result: Tensor | readonly Tensor[]): unknown =>
  [result].flat().map((x) => {
    const array = x.toTypedArray();
    return {
      dtype: x.dtype,
      shape: x.shape,
      bytes: textOf(Buffer.from(array.buffer, array.byteOffset, array.byteLength)),
    };
  });

/** What is sorted, and how: cases of one compiled function. */
type Case = readonly [x: Tensor, fn: Sorting];

function expectSame(...cases: readonly Case[]): void {
  const inputs = cases.map(([x]) => x);
  const fn = (...tensors: readonly Tensor[]): Tensor[] =>
    cases.flatMap(([, sorting], position) => sorting(at(tensors, position)));
  expect(bytesOf(compile(fn)(...inputs))).toEqual(bytesOf(fn(...inputs)));
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
    const numbers = (
      isFloat ? tensor(special) : tensor(special.map((x) => (Number.isFinite(x) ? Math.round(x) : 7)))
    ).to(dtype);
    const quantiles: Sorting = (x) => [x.quantile(0.3, -1), x.nanquantile(0.7, -1), x.quantile(0.5), x.nanmedian()];
    expectSame(
      [numbers.repeat([2, 3]), along(-1, 5)],
      [numbers.repeat([40]), (x) => [...x.sort(), ...x.topk(9)]],
      // So many that few wanted ones are looked for about where a sample says that they lie: in vain, with so few different ones.
      [numbers.repeat([300]), (x) => [...x.topk(400), x.median(), ...x.kthvalue(4000)]],
      ...(dtype === 'f32' || dtype === 'f64' ? [[numbers.repeat([2, 2]), quantiles] as const] : []),
    );
  });

  test('integers of 64 bits whose range needs all of them, or few', () => {
    const far = tensor([2n ** 62n, -(2n ** 62n), 5n, 2n ** 62n, -5n, 2n ** 40n, 0n]);
    expectSame(...[far, far.repeat([60]), randint(0, 50, [300])].map((x) => [x, along(0, 3)] as const), [
      randint(0, 2 ** 50, [5000]).mul(2 ** 13),
      (x) => [...x.topk(600), ...x.topk(600, 0, false), x.median()],
    ]);
  });
});

describe('shapes', () => {
  test('of no element, and of one', () => {
    const inRows: Sorting = (x) => [...x.sort(0), ...x.sort(1, true)];
    expectSame(
      [zeros([0]), (x) => [...x.sort(), ...x.topk(0)]],
      [zeros([3, 0]), (x) => [...x.sort(), ...x.topk(0)]],
      [zeros([0, 3]), inRows],
      [tensor([[7]]), inRows],
      [tensor(3), (x) => [...x.sort(), ...x.topk(1), x.median()]],
    );
    expect(() => zeros([0]).median(0)).toThrow();
  });

  test('along each dim of three, whether or not its elements lie side by side', () => {
    expectSame(
      ...[0, 1, 2].flatMap((dim) =>
        [randn([5, 30, 4]), randn([4, 30, 5]).transpose(0, 2)].map((x) => [x, along(dim, 2)] as const),
      ),
    );
  });

  test('rows of 25, 128, 5000 and 70,000', () => {
    expectSame(
      ...[25, 128, 5000, 70_000].flatMap((n): readonly Case[] => [
        [randn([n]), along(0, 7)],
        [randn([n]), (x) => x.topk(Math.floor(n / 8))[0]],
        [randn([n]), (x) => [x.quantile(0.25), x.quantile(tensor([0, 0.1, 0.5, 0.9, 1]))]],
        [randint(-4, 4, [n]).to('i32'), along(0, 7)],
      ]),
      [randn([5000]), (x) => [...x.topk(400), ...x.topk(250, 0, false), ...x.kthvalue(4999), x.median()]],
      // The sample is wrong of rows that repeat themselves as it does.
      [
        tensor(Float32Array.from({ length: 10_240 }, (_, k) => (k % 20 === 0 ? 0 : k))),
        (x) => [...x.topk(1000), x.median()],
      ],
    );
  });

  test('more than a million elements, in parts by digits of 11 bits', () => {
    expectSame([randn([1_100_000]), (x) => [...x.sort()]]);
  });

  test('many rows, and elements that are all one', () => {
    expectSame(
      [randn([300, 100]), along(-1, 10)],
      [zeros([40_000]), along(0, 3)],
      [zeros([3]).expand([50, 3]).t().at(0), along(0, 3)],
    );
  });
});

test('adversarial orders: ascending, descending, all but one alike', () => {
  const n = 50_000;
  const rising = Float32Array.from({ length: n }, (_, k) => k);
  const one = Float32Array.from({ length: n }, (_, k) => (k === 777 ? -1 : 1e-40 * (k % 3)));
  const compiled = (x: Tensor): Tensor[] => [
    ...x.sort(),
    ...x.topk(20),
    ...x.topk(20, 0, false),
    ...x.kthvalue((x.shape[0] ?? 0) - 3),
  ];
  expectSame(
    ...[rising, rising.toReversed(), one].flatMap((all) =>
      [all, all.subarray(0, 10_000)].map((row) => [tensor(row), compiled] as const),
    ),
  );
});

test('sizes that change are symbols', () => {
  const fn: Sorting = (x) => [...x.sort(-1, true), ...x.topk(3), x.median(), ...x.kthvalue(2), x.quantile(0.4, -1)];
  const compiled = compile(fn, { dynamic: true });
  for (const [rows, columns] of [
    [3, 40],
    [5, 700],
    [40, 9],
    [2, 40_000],
    [9, 33_000],
    [3, 6000],
  ] as const) {
    const x = randn([rows, columns]);
    markDynamic(x, 0);
    markDynamic(x, 1);
    expect(bytesOf(compiled(x))).toEqual(bytesOf(fn(x)));
  }
  expect(compiled.explain().graphs.length).toBeLessThanOrEqual(2);
});

test('what is computed before and after a sort, and searches', () => {
  const sequence = randn([500]).sort()[0];
  expectSame(
    [
      randn([6, 50]),
      (x) => {
        const [values, indices] = x.mul(2).sub(1).abs().sort(-1);
        return [values.exp(), indices.add(1), values.amax(), x.gather(-1, indices)];
      },
    ],
    [randn([300]), (x) => [searchsorted(sequence, x), searchsorted(sequence, x, { right: true }), isin(x, sequence)]],
  );
});

describe('distinct elements', () => {
  const distinct: Sorting = (x) => unique(x, { returnInverse: true, returnCounts: true });

  test.each<readonly [string, () => Tensor]>([
    ['of a matrix', () => randint(0, 9, [6, 7]).to('i32')],
    ['floats, with NaN and zeros of both signs', () => tensor([2, NaN, -0, 0, NaN])],
    ['of one', () => tensor([4])],
  ])('%s', (_, input) => {
    const x = input();
    expect(bytesOf(compile(distinct)(x))).toEqual(bytesOf(distinct(x)));
  });

  test('counted where their range is small, which changes nothing about what is compiled', () => {
    const compiled = compile(distinct);
    const inputs = [5, 900, 31, 4000, 900].map((range) => randint(-range, 7, [20_000]));
    for (const x of [...inputs, randint(0, 2 ** 40, [20_000])])
      expect(bytesOf(compiled(x))).toEqual(bytesOf(distinct(x)));
    const known = compiled.graphs().length;
    expect(bytesOf(compiled(randint(3, 500, [20_000])))).toEqual(expect.anything());
    expect(compiled.graphs()).toHaveLength(known);
  });

  test('beside each other', () => {
    const consecutive: Sorting = (x) => x.uniqueConsecutive({ returnCounts: true });
    const x = randint(0, 2, [40]);
    expect(bytesOf(compile(consecutive)(x))).toEqual(bytesOf(consecutive(x)));
  });
});
