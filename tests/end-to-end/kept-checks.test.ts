// An index out of range is an error, whether or not anybody uses what it leads to; and what a program has done before an error has
// happened, as in eager mode: writes, and random numbers that were drawn.
import { describe, expect, test } from '@jest/globals';
import {
  arange,
  cat,
  compile,
  manualSeed,
  nn,
  ones,
  onesLike,
  rand,
  segmentReduce,
  tensor,
  where,
  zeros,
  zerosLike,
} from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

type Program = (x: Tensor, index: Tensor) => unknown;

const far = (): Tensor => tensor([100], { dtype: 'i64' });
const refusal = expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' });

const programs: Readonly<Record<string, Program>> = {
  'of a constant': (_, i) => zeros([5]).gather(0, i),
  'of nothing but constants': () => zeros([5]).gather(0, far()),
  'that nobody uses': (x, i) => {
    x.gather(0, i);
    return x.add(1);
  },
  'in a function that returns nothing': (x, i) => {
    x.indexSelect(0, i);
  },
  'of which the shape alone is used': (x, i) => zerosLike(x.gather(0, i)).add(onesLike(x.at(i))),
  'times nothing': (x, i) => x.gather(0, i).mul(0),
  'minus itself': (x, i) => {
    const taken = x.gather(0, i);
    return taken.sub(taken);
  },
  'that a choice leaves out': (x, i) => where(zeros([1]).gt(1), x.gather(0, i), 3),
  'of elements that are written over': (x, i) => {
    x.set([i], 7);
    return x.fill_(0);
  },
  'scattered, and written over': (_, i) => {
    const made = zeros([5]);
    made.scatter_(0, i, 1);
    return made.zero_();
  },
  'into slices without elements': (_, i) => zeros([3, 0]).indexSelect(0, i),
  'into nothing': (_, i) => zeros([0, 3]).indexSelect(0, i),
  'of bags that nobody uses': (x, i) => {
    nn.functional.embeddingBag(i.reshape([1, 1]), x.reshape([5, 1]));
    return x;
  },
  'behind a read': (x, i) => {
    const total = x.sum().item();
    x.gather(0, i);
    return total;
  },
};

/** Kernels compute what their readers use: these leave the element out. */
const partly: Readonly<Record<string, Program>> = {
  'of which a part is used': (x, i) => x.gather(0, cat([tensor([1]), i])).narrow(0, 0, 1),
  'of which another part is used': (x, i) => cat([x.gather(0, i), tensor([3])]).narrow(0, 1, 1),
  'of which no part is used': (x, i) => x.gather(0, i).narrow(0, 0, 0).sum(),
  'that padding cuts off': (x, i) => nn.functional.pad(x.gather(0, i), [-1, 1]),
};

describe('an index out of range', () => {
  test.each(Object.entries({ ...programs, ...partly }))('%s', (_, program) => {
    for (const backend of ['eager', 'aot_eager'] as const)
      expect(() => compile(program, { backend })(arange(5), far())).toThrow(refusal);
  });

  test.each(Object.entries(partly))('%s, in native code', (_, program) => {
    expect(() => compile(program)(arange(5), far())).toThrow(refusal);
  });
});

const { functional } = nn;
const rows = ones([5, 2]);
const i64 = (...values: number[]): Tensor => tensor(values, { dtype: 'i64' });
const logs = zeros([4, 1, 3]).logSoftmax(2);
const segments = (how: { lengths?: Tensor; offsets?: Tensor; unsafe?: boolean }): Tensor =>
  segmentReduce(ones([5]), 'sum', how);
const padded = tensor([[1, -1]]);

const runs: readonly (readonly [what: string, call: (values: Tensor) => Tensor, refused: Tensor, answered: Tensor])[] =
  [
    ['offsets of bags that go back', (o) => functional.embeddingBag(i64(0, 1, 2), rows, o), i64(0, 2, 1), i64(0, 1, 1)],
    ['a negative offset', (o) => functional.embeddingBag(i64(0, 1, 2), rows, o), i64(0, -1), i64(0, 0)],
    ['lengths beyond the rows', (lengths) => segments({ lengths }), i64(2, 9), i64(2, 3)],
    ['lengths that leave rows out', (lengths) => segments({ lengths }), i64(2, 2), i64(5)],
    ['negative lengths', (lengths) => segments({ lengths }), i64(-1, 6), i64(0, 5)],
    ['offsets beyond the rows', (offsets) => segments({ offsets }), i64(0, 9), i64(1, 4)],
    ['offsets that go back', (offsets) => segments({ offsets }), i64(0, 3, 2), i64(0, 2, 3)],
    ['input lengths beyond the steps', (l) => functional.ctcLoss(logs, padded, l, i64(1)), i64(5), i64(4)],
    ['negative input lengths', (l) => functional.ctcLoss(logs, padded, l, i64(1)), i64(-1), i64(0)],
    ['target lengths beyond the row', (l) => functional.ctcLoss(logs, padded.abs(), i64(4), l), i64(3), i64(2)],
    ['lengths of other targets', (l) => functional.ctcLoss(logs, i64(1, 2), i64(4), l), i64(3), i64(2)],
  ];

test.each(runs.map(([what, ...row]) => [what, row] as const))('%s are refused', (_, [call, refused, answered]) => {
  for (const backend of ['eager', 'aot_eager'] as const) {
    const run = compile(call, { backend });
    expect(() => run(refused)).toThrow(expect.objectContaining({ code: 'ARGUMENT_VALUE' }));
    expect(() => run(answered)).not.toThrow();
  }
});

test('unsafe segments leave rows out', () => {
  expect(segments({ lengths: i64(2, 2), unsafe: true }).toArray()).toEqual([2, 2]);
});

test.each<[string, () => unknown]>([
  ['expand', () => ones([1, 1]).expand([2 ** 27, 2 ** 27])],
  ['asStrided', () => ones([1]).asStrided([2 ** 40, 2 ** 40], [0, 0])],
  ['broadcasting', () => ones([2 ** 27, 1]).add(ones([1, 2 ** 27]))],
])('%s to more elements than numbers can count is refused', (_, call) => {
  for (const backend of ['eager', 'aot_eager'] as const)
    expect(compile(call, { backend })).toThrow(expect.objectContaining({ code: 'SIZE_OVERFLOW' }));
  expect(ones([1, 1, 0]).expand([2 ** 40, 2 ** 40, 0]).numel).toBe(0);
});

test('an index within range is none', () => {
  const without = ['into nothing', 'of nothing but constants'];
  const fitting = Object.entries({ ...programs, ...partly }).filter(([name]) => !without.includes(name));
  for (const [, program] of fitting) {
    const compiled = compile(program, { backend: 'aot_eager' });
    expect(() => compiled(arange(5), tensor([1]))).not.toThrow();
  }
});

describe('what comes before an error has happened', () => {
  const outcome = (call: Program, index: Tensor): unknown => {
    manualSeed(3);
    const x = arange(5).to('f32');
    expect(() => call(x, index)).toThrow();
    return [x.toArray(), rand([2]).toArray()];
  };
  const throwing: Readonly<Record<string, Program>> = {
    'an error of its own': (x) => {
      x.add_(rand([5]));
      throw new RangeError('no');
    },
    'shapes that do not fit': (x) => {
      x.add_(rand([5]));
      x.matmul(zeros([3, 3]));
      x.mul_(2);
    },
    'a write to memory that several elements share': (x) => {
      x.mul_(3);
      x.unsqueeze(0).expand([2, 5]).add_(1);
    },
    'a check that fails': (x, i) => {
      x.add_(rand([5]));
      const taken = x.gather(0, i);
      rand([3]);
      return x.mul_(2).add(taken);
    },
    'a check that fails behind a read': (x, i) => {
      x.add_(x.sum().item());
      rand([1]);
      x.gather(0, i);
      x.mul_(2);
    },
  };
  test.each(Object.entries(throwing))('%s', (_, program) => {
    const wanted = outcome(program, far());
    const compiled = compile(program, { backend: 'aot_eager' });
    expect([outcome(compiled, far()), outcome(compiled, far())]).toEqual([wanted, wanted]);
  });

  test('of compiled code, too, and the error says what eager mode says', () => {
    const program: Program = (x, i) => {
      x.add_(rand([5]));
      return x.mul_(2).gather(0, i);
    };
    const compiled = compile(program);
    expect(outcome(compiled, far())).toEqual(outcome(program, far()));
    expect(() => compiled(arange(5).to('f32'), far())).toThrow(/index 100 of dim 0 is out of range for a size of 5/);
  });

  test('nothing is run where a function is only compiled', async () => {
    const x = arange(3);
    const compiled = compile(
      (y: Tensor) => {
        y.add_(1);
        throw new RangeError('no');
      },
      { backend: 'aot_eager' },
    );
    await expect(compiled.warmup(x)).rejects.toThrow(RangeError);
    expect(() => compiled.explain(x)).toThrow(RangeError);
    expect(x.toArray()).toEqual([0, 1, 2]);
  });
});
