// What PyTorch refuses is refused, and what it answers is answered so: conditions, masks, scalars, values that only a running
// program knows. The right values are PyTorch's; each call is made eagerly and compiled.
import { describe, expect, test } from '@jest/globals';
import {
  bernoulli,
  broadcastShapes,
  compile,
  floatPower,
  full,
  histc,
  histogram,
  isTensor,
  linalg,
  nn,
  ones,
  slice,
  special,
  tensor,
  where,
  zeros,
} from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { functional } = nn;
const f32 = (...values: number[]): Tensor => tensor(values, { dtype: 'f32' });
const u8 = (...values: number[]): Tensor => tensor(values, { dtype: 'u8' });
const plain = (value: unknown): unknown => (isTensor(value) ? [value.dtype, value.toArray()] : value);

type Call = (x: Tensor, y: Tensor) => unknown;

const expectBoth = (call: Call, [x, y]: readonly [Tensor, Tensor], answer: unknown): void => {
  for (const run of [call, compile(call)]) expect(plain(run(x, y))).toEqual(answer);
};

/** Eagerly, compiled, and compiled again. */
function expectRefused(call: Call, [x, y]: readonly [Tensor, Tensor], code: string): void {
  const compiled = compile(call);
  for (const run of [call, compiled, compiled]) expect(() => run(x, y)).toThrow(expect.objectContaining({ code }));
}

describe('a mask', () => {
  const mask = tensor([true, false]);
  test.each<[string, Call, Tensor]>([
    ['too short for `at`', (x, m) => x.at(m), ones([3])],
    ['too long for `at`', (x, m) => x.at(m), ones([1])],
    ['of another dim than the one it stands for', (x, m) => x.at(slice(), m), ones([2, 3])],
    ['behind an ellipsis', (x, m) => x.at({ ellipsis: true }, m), ones([2, 3])],
    ['of u8', (x, m) => x.at(m.to('u8')), ones([3])],
    ['that sets', (x, m) => x.clone().set([m], 5), ones([3])],
    ['that sets several values', (x, m) => x.clone().set([m], f32(1, 2)), ones([3])],
    ['of indexPut', (x, m) => x.indexPut([m], f32(1)), ones([3])],
  ])('of a wrong shape is refused: %s', (_, call, x) => {
    expectRefused(call, [x, mask], 'SHAPE_MISMATCH');
  });

  test('of the right shape chooses, also as u8 and without dims', () => {
    const x = f32(1, 2);
    expectBoth((a, m) => a.at(m), [x, mask], ['f32', [1]]);
    expectBoth((a, m) => a.at(m), [x, u8(0, 1)], ['f32', [2]]);
    expectBoth((a, m) => a.at(m), [x, tensor(true)], ['f32', [[1, 2]]]);
    expectBoth((a, m) => a.at(m), [x, tensor(false)], ['f32', []]);
    expectBoth((a, m) => a.clone().set([m], 9), [x, tensor(true)], ['f32', [9, 9]]);
  });
});

describe('a condition', () => {
  const [x, condition] = [f32(1, 2), tensor([true, false])];
  test('of x.where(condition, other) chooses between x and other', () => {
    expectBoth((a, c) => a.where(c, a.mul(10)), [x, condition], ['f32', [1, 20]]);
    expectBoth((a, c) => a.where(c, 7), [x, condition], ['f32', [1, 7]]);
    expectBoth((a, c) => where(c, a, 7), [x, u8(0, 1)], ['f32', [7, 2]]);
  });
  test('that is neither bool nor u8 is refused', () => {
    expectRefused((a, c) => where(c, a, a), [x, f32(1, 0)], 'DTYPE_MISMATCH');
    expectRefused((a, c) => a.where(c, a), [x, tensor([1, 0])], 'DTYPE_MISMATCH');
  });
  test('is a boolean where PyTorch answers with one', () => {
    expectBoth(
      (a, b) => [a.equal(a), a.equal(b), a.equal(b.at(0)), a.allclose(a.add(1e-9)), a.allclose(b)],
      [x, f32(1, 3)],
      [true, false, false, true, false],
    );
    expectBoth((a, b) => (a.equal(b) ? a : a.neg()), [x, f32(1, 3)], ['f32', [-1, -2]]);
    expect(() => compile((a: Tensor) => a.equal(a), { fullgraph: true })(x)).toThrow(
      expect.objectContaining({ code: 'GRAPH_BREAK' }),
    );
  });
  test('that is a tensor compared by JavaScript is ambiguous', () => {
    const compares = (a: unknown): boolean => (a as number) < 1;
    expectRefused((a) => compares(a), [x, x], 'TENSOR_AS_PRIMITIVE');
    expect(() => compares(x)).toThrow(/truth value is ambiguous/);
  });
});

describe('numbers', () => {
  const integers = tensor([1, 2]);
  test('beyond 64 bits are floats', () => {
    expectBoth((x) => x.lt(2 ** 63), [integers, integers], ['bool', [true, true]]);
    expectBoth((x) => x.gt(-1e30), [integers, integers], ['bool', [true, true]]);
    expectBoth((x) => x.add(1e30), [integers, integers], ['f32', [Math.fround(1e30), Math.fround(1e30)]]);
    expectBoth(() => tensor([1e30]), [integers, integers], ['f32', [Math.fround(1e30)]]);
    expectBoth((x) => x.gt(-(2 ** 63)), [integers, integers], ['bool', [true, true]]);
  });
  test.each<[string, Call]>([
    ['a bigint beyond 64 bits', (x) => x.lt(2n ** 63n)],
    ['a bigint beyond 64 bits beside floats', (x) => x.double().add(-(2n ** 64n))],
    ['one that a fill cannot hold', (x) => x.clone().fill_(1e30)],
    ['NaN as an integer', (x) => x.maskedFill(x.gt(1), NaN)],
    ['infinity as an integer', () => full([1], Infinity, { dtype: 'i64' })],
    ['300 as u8', () => full([1], 300, { dtype: 'u8' })],
    ['300 as a bound of i8', (x) => x.to('i8').clamp(0, 300)],
    ['1e6 as f16', () => full([1], 1e6, { dtype: 'f16' })],
    ['1e300 as f32', () => zeros([1]).fill_(1e300)],
  ])('are refused: %s', (_, call) => {
    expectRefused(call, [integers, integers], 'SCALAR_RANGE');
  });
  test('below zero wrap where they fill u8', () => {
    expectBoth((x) => x.clone().fill_(-1), [u8(1), u8(1)], ['u8', [255]]);
  });

  test.each<[DType]>([['f32'], ['f64'], ['f16']])('0.5 and -0.5 as exponents are roots: %s', (dtype) => {
    const x = tensor([-Infinity, -0, 4], { dtype });
    expectBoth((a) => a.pow(0.5), [x, x], [dtype, [NaN, -0, 2]]);
    expectBoth((a) => a.pow(-0.5), [x, x], [dtype, [NaN, -Infinity, 0.5]]);
    expectBoth((a, e) => a.pow(e), [x, tensor([0.5], { dtype })], [dtype, [Infinity, 0, 2]]);
    expectBoth((a) => floatPower(a, 0.5), [x, x], ['f64', [NaN, -0, 2]]);
  });
  test('an exponent that changes from call to call is a root where it is 0.5', () => {
    const f = compile((x: Tensor, exponent: number) => x.pow(exponent * ones([1]).item()));
    const x = f32(-Infinity, -0);
    for (const exponent of [1, 2, 3, 0.5, -0.5, 2]) expect(f(x, exponent).toArray()).toEqual(x.pow(exponent).toArray());
  });
  test('of typed arrays in arrays keep their dtype', () => {
    expect(tensor([new Int32Array([1, 2]), new Int32Array([3, 4])]).dtype).toBe('i32');
    expect(tensor([[new Uint8Array([1])]]).dtype).toBe('u8');
    expect(tensor([new Float64Array([1]), [2]]).dtype).toBe('f64');
    expect(plain(tensor([new Int32Array([1]), [2.5]]))).toEqual(['f32', [[1], [2.5]]]);
    expect(tensor([new Float32Array([1]), new Float64Array([2])]).dtype).toBe('f64');
    expect(tensor([new Int32Array([1])], { dtype: 'f32' }).dtype).toBe('f32');
    expect(() => tensor([new Uint32Array([1])])).toThrow(expect.objectContaining({ code: 'ARRAY_TYPE' }));
  });
});

describe('values that an operator cannot take are refused', () => {
  const [half, singular] = [f32(0.5, 0.5), zeros([2, 2])];
  test.each<[string, Call, readonly [Tensor, Tensor]]>([
    ['bernoulli of 2', (x) => bernoulli(x), [f32(2), half]],
    ['bernoulli of NaN', (x) => bernoulli(x), [f32(NaN), half]],
    ['bernoulli with a probability of 2', (x) => bernoulli(x, 2), [half, half]],
    ['cross entropy of 2', (x, y) => functional.binaryCrossEntropy(x, y), [f32(2, 0.5), half]],
    ['cross entropy of -0.1', (x, y) => functional.binaryCrossEntropy(x, y), [f32(-0.1, 0.5), half]],
    ['inv of a singular matrix', (x) => linalg.inv(x), [singular, half]],
    ['solve with a singular matrix', (x, y) => linalg.solve(x, y), [singular, half]],
    ['matrixPower -1 of a singular matrix', (x) => linalg.matrixPower(x, -1), [singular, half]],
    ['cholesky of what is not positive definite', (x) => linalg.cholesky(x), [f32(1, 2, 2, 1).reshape([2, 2]), half]],
    ['cholesky of NaN', (x) => linalg.cholesky(x), [full([2, 2], NaN), half]],
    ['histc of infinity', (x) => histc(x, 4), [f32(1, Infinity), half]],
    ['histogram of NaN', (x) => histogram(x, 4), [f32(1, NaN), half]],
    ['histogram of a range that is not finite', (x) => histogram(x, 4, { range: [0, Infinity] }), [half, half]],
    ['histogram of a range the other way round', (x) => histogram(x, 4, { range: [3, 1] }), [half, half]],
    ['histogram of no bins', (x) => histogram(x, 0), [half, half]],
    ['histogram of one edge', (x, edges) => histogram(x, edges), [half, f32(1)]],
    ['histogram of no edge', (x, edges) => histogram(x, edges), [half, zeros([0])]],
  ])('%s', (_, call, given) => {
    expectRefused(call, given, 'ARGUMENT_VALUE');
  });
  test('batch norm in training with one value for each channel', () => {
    const trained: Call = (x) => functional.batchNorm(x, null, null, { training: true });
    expectRefused(trained, [ones([1, 3]), half], 'SHAPE_MISMATCH');
    expectRefused(trained, [ones([1, 3, 1, 1]), half], 'SHAPE_MISMATCH');
    expectBoth(
      (x) => functional.batchNorm(x, zeros([3]), ones([3]), { eps: 0 }),
      [ones([1, 3]), half],
      ['f32', [[1, 1, 1]]],
    );
  });
  test('and what they can take is not', () => {
    expectBoth(
      (x) => linalg.inv(x),
      [f32(2, 0, 0, 4).reshape([2, 2]), half],
      [
        'f32',
        [
          [0.5, 0],
          [0, 0.25],
        ],
      ],
    );
    expectBoth((x) => linalg.inv(x), [full([1, 1], NaN), half], ['f32', [[NaN]]]);
    expectBoth((x) => bernoulli(x), [f32(0, 1), half], ['f32', [0, 1]]);
    expectBoth((x) => bernoulli(x, 1), [f32(7), half], ['f32', [1]]);
    expectBoth((x) => histogram(x, 4, { range: [2, 2] })[0], [f32(1, 2, 3), half], ['f32', [0, 0, 1, 0]]);
    expectBoth((x) => special.logNdtr(x), [f32(-Infinity, -1e30, Infinity), half], ['f32', [-Infinity, -Infinity, -0]]);
  });
});

test('broadcastShapes takes sizes alone as shapes of one dim', () => {
  expect([broadcastShapes(3, [2, 3]), broadcastShapes(1, [4]), broadcastShapes(3, 3), broadcastShapes(0, [1])]).toEqual(
    [[2, 3], [4], [3], [0]],
  );
  expect(() => broadcastShapes(-1)).toThrow(expect.objectContaining({ code: 'INVALID_SHAPE' }));
});

describe('pools that give indices', () => {
  const pooled = (call: (x: Tensor) => unknown, x: Tensor): unknown =>
    (compile(call, { backend: 'aot_eager' })(x) as Tensor[]).map((each) => each.flatten().toArray());
  const square = tensor(
    [
      [
        [
          [1, NaN, 3],
          [NaN, 2, 5],
          [7, 8, 9],
        ],
      ],
    ],
    { dtype: 'f32' },
  );
  test('name the last NaN of a window, and else the first of equal maxima', () => {
    const indices = { returnIndices: true } as const;
    expect(pooled((x) => functional.maxPool1d(x, 3, 1, indices), f32(1, NaN, 3, NaN, 2, 5).reshape([1, 1, 6]))).toEqual(
      [
        [NaN, NaN, NaN, NaN],
        [1, 3, 3, 3],
      ],
    );
    expect(pooled((x) => functional.maxPool2d(x, 2, 1, indices), square)).toEqual([
      [NaN, NaN, NaN, 9],
      [3, 1, 3, 8],
    ]);
    expect(pooled((x) => functional.adaptiveMaxPool2d(x, 2, indices), square)).toEqual([
      [NaN, NaN, NaN, 9],
      [3, 1, 3, 8],
    ]);
    expect(pooled((x) => functional.maxPool2d(x, 2, 1, { ...indices, padding: 1 }), square)).toEqual([
      [1, NaN, NaN, 3, NaN, NaN, NaN, 5, NaN, NaN, 9, 9, 7, 8, 9, 9],
      [0, 1, 1, 2, 3, 3, 1, 5, 3, 3, 8, 8, 6, 7, 8, 8],
    ]);
  });
  test('never name the padding, and find maxima below 0 beside it', () => {
    const indices = { returnIndices: true, padding: 1 } as const;
    const low = full([1, 1, 3], -Infinity);
    expect(pooled((x) => functional.maxPool1d(x, 2, 1, indices), low)).toEqual([
      [-Infinity, -Infinity, -Infinity, -Infinity],
      [0, 0, 1, 2],
    ]);
    expect(pooled((x) => functional.maxPool1d(x, 2, 1, indices), tensor([[[-3, -2, -1]]]))).toEqual([
      [-3, -2, -1, -1],
      [0, 1, 2, 2],
    ]);
  });
});

test('where(condition) gives places, as nonzero in a tuple does', () => {
  const places = (call: (x: Tensor) => unknown, x: Tensor): unknown =>
    (compile(call, { backend: 'aot_eager' })(x) as Tensor[]).map((each) => each.toArray());
  const condition = tensor([
    [1, 0],
    [0, 1],
  ]);
  for (const call of [(x: Tensor) => where(x), (x: Tensor) => x.nonzero({ asTuple: true })])
    expect([condition, condition.gt(0), tensor(5), tensor(0)].map((x) => places(call, x))).toEqual([
      [
        [0, 1],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 1],
      ],
      [[0]],
      [[]],
    ]);
});

test('products of long vectors at f64 are as close as pairwise sums', () => {
  const count = 100_000;
  const numbers = Float64Array.from({ length: count }, (_, k) => Math.sin(k * k) + 1e-3);
  const exact = numbers.reduce((sum, x) => sum + BigInt(Math.round(x * 2 ** 60)), 0n);
  const x = tensor(numbers, { dtype: 'f64' });
  const rest = (sum: Tensor): number =>
    Math.abs(Number(exact - BigInt(Math.round(Number(sum.item()) * 2 ** 60)))) / 2 ** 60;
  const [weights, bound] = [ones([count], { dtype: 'f64' }), 64 * count ** 0.5 * 2 ** -53];
  for (const sum of [x.dot(weights), x.reshape([1, count]).matmul(weights), x.sum()])
    expect(rest(sum)).toBeLessThan(bound);
  expect(
    full([300], Infinity, { dtype: 'f64' })
      .dot(ones([300], { dtype: 'f64' }))
      .item(),
  ).toBe(Infinity);
});
