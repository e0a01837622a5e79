// Calls that PyTorch refuses, and calls beside them that it answers: eagerly, compiled, and compiled once for sizes that vary.
// The codes are what programs can rely on.
import { describe, expect, test } from '@jest/globals';
import { bincount, cat, cdist, compile, float, full, histc, linalg, nn, ones, rand, tensor, zeros } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { functional } = nn;
const f32 = (...values: number[]): Tensor => tensor(values, { dtype: 'f32' });
const square = f32(1, 2, 3, 4).reshape([2, 2]);
const [whole, mask] = [tensor([1, 2]), tensor([true, false])];
const rows = ones([3, 2]);

type Call = (x: Tensor, y: Tensor) => unknown;
type Row = readonly [what: string, call: Call, given: readonly [Tensor, Tensor]];

const modes = [{}, { dynamic: true }] as const;

const refused: Readonly<Record<string, readonly Row[]>> = {
  ARGUMENT_VALUE: [
    ['integers to a negative power', (x) => x.pow(-1), [whole, whole]],
    ['integers to a negative power in place', (x) => x.clone().pow_(-2), [whole, whole]],
    ['levels beyond 1', (x, q) => x.quantile(q), [f32(1, 2), f32(0, 1.5)]],
    ['a level that is NaN', (x, q) => x.quantile(q), [f32(1, 2), f32(NaN)]],
    ['a negative variance', (x, v) => functional.gaussianNllLoss(x, x, v), [f32(1, 2), f32(-1, 1)]],
    ['a class below -1', (x, y) => functional.multilabelMarginLoss(x, y), [f32(1, 2, 3), tensor([0, -2, 1])]],
    ['a class beyond the last', (x, y) => functional.multilabelMarginLoss(x, y), [f32(1, 2, 3), tensor([0, 3, 1])]],
    ['bags that begin late', (i, o) => functional.embeddingBag(i, rows, o), [whole, tensor([1])]],
    ['bags that begin beyond the end', (i, o) => functional.embeddingBag(i, rows, o), [whole, tensor([0, 3])]],
    ['smoothing beyond 1', (x, y) => functional.crossEntropy(x, y, { labelSmoothing: 1.5 }), [square, whole.sub(1)]],
    ['padding beyond a table', (i) => functional.embedding(i, rows, 3), [whole, whole]],
    ['padding before a table', (i) => functional.embedding(i, rows, -4), [whole, whole]],
    ['scatter that means', (x, i) => x.scatter(0, i, x, { reduce: 'mean' as 'add' }), [f32(1, 2), tensor([0, 1])]],
    ['distances of a negative order', (x) => cdist(x, x, { p: -1 }), [square, square]],
    ['no sizes', (x) => x.unflatten(0, []), [ones([1]), whole]],
    ['a layout that leaves its tensor', (x) => x.add(1).asStrided([2, 2], [2, 1]), [ones([3]), whole]],
    ['a negative stride', (x) => x.add(1).asStrided([2], [-1]), [ones([3]), whole]],
    ['weights of another length', (x, w) => bincount(x, w), [whole, f32(1)]],
    ['a negative length', (x) => bincount(x, { minlength: -1 }), [whole, whole]],
    ['bounds the other way round', (x) => x.clone().uniform_(2, 1), [ones([2]), whole]],
    ['a bound that is a string', (x) => x.clone().uniform_('0' as unknown as number, 1), [ones([2]), whole]],
    ['probabilities beyond 1', (x, p) => x.clone().bernoulli_(p), [ones([2]), f32(0, 2)]],
  ],
  SHAPE_MISMATCH: [
    ['more cut off than there is', (x) => functional.pad(x, [-3, 0]), [ones([2]), whole]],
    ['the norm of a matrix over a vector', (x) => linalg.norm(x, 'fro'), [ones([3]), whole]],
    ['no columns back', (x, i) => functional.maxUnpool2d(x, i, 3, [1, 2]), [zeros([8, 8, 0]), zeros([8, 8, 0]).long()]],
  ],
  EMPTY_REDUCTION: [['the largest of nothing', (x) => linalg.vectorNorm(x, Infinity), [zeros([0]), whole]]],
  DTYPE_UNSUPPORTED: [
    ['masks that are subtracted', (x, y) => x.sub(y), [f32(1, 2), mask]],
    ['numbers from a mask', (x) => x.sub(1), [mask, mask]],
    ['a boolean from numbers', (x) => x.sub(true), [whole, mask]],
    ['means of whole losses', (x) => functional.l1Loss(x, x), [whole, whole]],
    ['maxima of windows of a mask', (x) => functional.maxPool1d(x, 1), [mask.reshape([1, 2]), mask]],
    ['means of windows of a mask', (x) => functional.avgPool1d(x, 1), [mask.reshape([1, 2]), mask]],
    ['maxima of groups of a mask', (x) => functional.adaptiveMaxPool1d(x, 2), [mask.reshape([1, 2]), mask]],
    ['means of groups of a mask', (x) => functional.adaptiveAvgPool1d(x, 2), [mask.reshape([1, 2]), mask]],
  ],
  DIM_OUT_OF_RANGE: [
    ['a dim that a 0-d tensor does not have', (x) => x.median(1), [full([], 2.5), whole]],
    ['the most frequent along it', (x) => x.mode(-2), [full([], 2.5), whole]],
  ],
  SCALAR_RANGE: [
    ['bounds that u8 cannot hold', (x) => functional.hardtanh(x, 0, 300), [whole.to('u8'), whole]],
    ['a threshold that f32 cannot hold', (x) => functional.threshold(x, 1e300, 0), [f32(1), whole]],
  ],
  OPTION_UNKNOWN: [
    ['an option of rand', () => rand([2], { dtyp: 'f64' } as object), [whole, whole]],
    ['an option of unique', (x) => x.unique({ inverse: true } as object), [whole, whole]],
  ],
};

describe.each(Object.entries(refused))('%s', (code, calls) => {
  test.each(calls)('%s', (_, call, given) => {
    for (const run of [call, ...modes.map((options) => compile(call, options))])
      for (const _again of [1, 2]) expect(() => run(...given)).toThrow(expect.objectContaining({ code }));
  });
});

const plain = (value: unknown): unknown => (value as Tensor).toArray();

const answered: readonly (readonly [...Row, unknown])[] = [
  ['integers to a power that is 0', (x) => x.pow(0), [whole, whole], [1, 1]],
  ['integers to negative powers that a tensor holds', (x, y) => x.pow(y), [whole, whole.neg()], [1, 0]],
  ['integers to a negative float', (x) => x.pow(float(-1)), [whole, whole], [1, 0.5]],
  ['sums of whole losses', (x, y) => functional.l1Loss(x, y, { reduction: 'sum' }), [whole, whole.add(2)], 4],
  ['a range of no width', (x) => histc(x, 4, 1, 1), [f32(1, 2), whole], [1, 0, 0, 1]],
  ['weights in the second place', (x, w) => bincount(x, w, 4), [whole, f32(0.5, 2)], [0, 0.5, 2, 0]],
  [
    'bags that begin where they may',
    (i, o) => functional.embeddingBag(i, rows, o),
    [whole, tensor([0, 2])],
    [
      [1, 1],
      [0, 0],
    ],
  ],
  ['probabilities of 0 and 1', (x, p) => x.clone().bernoulli_(p), [f32(5, 5), f32(0, 1)], [0, 1]],
  ['parameters that are float()', (x) => x.clone().uniform_(float(1), float(1)), [f32(5, 5), whole], [1, 1]],
  ['no batch back', (x, i) => functional.maxUnpool2d(x, i, 2), [zeros([0, 1, 2, 2]), zeros([0, 1, 2, 2]).long()], []],
];

test.each(answered.map(([what, call, given, answer]) => [what, call, { given, answer }] as const))(
  'answered: %s',
  (_, call, { given, answer }) => {
    for (const run of [call, ...modes.map((options) => compile(call, options))])
      expect(plain(run(...given))).toEqual(answer);
  },
);

test.each<[string, Call, readonly [Tensor, Tensor]]>([
  [
    'padded',
    (x) => functional.pad(functional.binaryCrossEntropy(x, x, { reduction: 'none' }), [1, 1]),
    [f32(0, 1), whole],
  ],
  ['joined', (x, i) => cat([x.gather(0, i.add(1)), x, x.indexSelect(0, i.add(1))]), [f32(7), tensor([-1])]],
  ['joined twice', (x, q) => cat([cat([x.quantile(q), x]), x.quantile(q)]), [f32(1, 2, 3), f32(0.5)]],
])('what is checked and then %s is checked where it is made, and nowhere else', (_, call, given) => {
  for (const options of modes) expect(plain(compile(call, options)(...given))).toEqual(plain(call(...given)));
});

describe('a size that varies', () => {
  test('stays within what a layout was traced for', () => {
    const even = compile((x: Tensor) => x.add(1).asStrided([2, 2], [2, 1]), { dynamic: true });
    expect(even(zeros([6])).toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(() => even(zeros([3]))).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
  });
  test('is not cut below nothing', () => {
    const cut = compile((x: Tensor) => functional.pad(x, [-3, 0]), { dynamic: true });
    expect(cut(ones([5])).toArray()).toEqual([1, 1]);
    expect(() => cut(ones([2]))).toThrow(expect.objectContaining({ code: 'SHAPE_MISMATCH' }));
  });
});

test.each<[DType, number]>([
  ['f16', 0.1],
  ['bf16', 0.3],
])('a number that is compared with %s is rounded to it first', (dtype, value) => {
  const x = full([2], value, { dtype });
  const calls: readonly ((t: Tensor, other: Tensor) => Tensor)[] = [
    (t) => t.eq(value),
    (t) => t.ge(value),
    (t, other) => t.eq(other),
    (t) => full([2], value, { dtype: t.dtype }).eq(value),
  ];
  for (const call of calls)
    for (const run of [call, compile(call)])
      expect(run(x, tensor(value, { dtype: 'f64' })).toArray()).toEqual([true, true]);
});

test('a number that the dtype beside it cannot hold is compiled for alone', () => {
  const calls: readonly ((x: Tensor, y: number) => Tensor)[] = [
    (x, y) => x.add(y),
    (x, y) => x.lt(y),
    (x, y) => x.mul(y),
  ];
  for (const call of calls)
    for (const dtype of ['u8', 'i32'] as const) {
      const [x, compiled] = [tensor([1, 200], { dtype }), compile(call)];
      for (const y of [1, 2, -2, 10_000_000_000, 3]) expect(plain(compiled(x, y))).toEqual(plain(call(x, y)));
    }
});

test('a read whose error the program would catch is answered', () => {
  const caught: readonly ((x: Tensor) => unknown)[] = [
    (x) => {
      try {
        return x.sum().item();
      } catch {
        return 'caught';
      }
    },
    (x) => {
      try {
        return x.add(1).toArray();
      } catch {
        throw new Error('caught');
      }
    },
    (x) => {
      try {
        return x.nonzero().shape[0];
      } catch {
        return 'caught';
      }
    },
    (x) => {
      try {
        x.sum().item();
      } catch {
        /* as if it were nothing */
      }
      return x.ndim;
    },
  ];
  const x = f32(1, 2);
  for (const call of caught) {
    const compiled = compile(call);
    for (const _again of [1, 2]) expect(compiled(x)).toEqual(call(x));
    expect(() => compile(call, { fullgraph: true })(x)).toThrow(expect.objectContaining({ code: 'GRAPH_BREAK' }));
  }
});
