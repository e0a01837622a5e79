// Attention in compiled code beside eager mode: two products and the loops over rows between them, a block of rows at a time.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { arange, compile, full, manualSeed, randn, valueAndGrad, where } from 'tsinductor';
import type { CompileOptions, DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

/** However little is between the products. */
const always = { 'cpp.attentionFusionBytes': 0 };

type Given = [query: Tensor, key: Tensor, value: Tensor];
type Attention = (...given: Given) => Tensor;

/** The largest difference, by the largest value. */
function difference(made: Tensor, wanted: Tensor): number {
  const [a, b] = [made.to('f64'), wanted.to('f64')];
  return a.sub(b).abs().amax().item() / b.abs().amax().item();
}

interface Sizes {
  readonly batch?: readonly number[];
  readonly rows: number;
  readonly columns?: number;
  readonly width?: number;
  readonly values?: number;
  readonly dtype?: DType;
}

function given({ batch = [2, 3], rows, columns = rows, width = 8, values = width, dtype = 'f32' }: Sizes): Given {
  manualSeed(5);
  const make = (...shape: number[]): Tensor => randn([...batch, ...shape]).to(dtype);
  return [make(rows, width), make(columns, width), make(columns, values)];
}

const plain: Attention = (q, k, v) => q.scaledDotProductAttention(k, v);
const causal: Attention = (q, k, v) => q.scaledDotProductAttention(k, v, { isCausal: true });

const spelt: Attention = (q, k, v) => q.matmul(k.transpose(-1, -2)).mul(0.3).softmax(-1).matmul(v);

/** Columns from some places before the row to some behind it. */
const window =
  (before: number, behind: number): Attention =>
  (q, k, v) => {
    const scores = q.matmul(k.transpose(-1, -2));
    const [row, column] = [arange(q.size(-2)).unsqueeze(1), arange(k.size(-2))];
    const isSeen = column.le(row.add(behind)).logicalAnd(column.ge(row.sub(before)));
    return where(isSeen, scores, -Infinity).softmax(-1).matmul(v);
  };

/** Scores that fall with the distance, up to the row itself. */
const alibi: Attention = (q, k, v) => {
  const distance = arange(k.size(-2)).sub(arange(q.size(-2)).unsqueeze(1));
  const scores = q.matmul(k.transpose(-1, -2)).add(distance.mul(0.1));
  return where(distance.le(0), scores, -Infinity).softmax(-1).matmul(v);
};

const capped: Attention = (q, k, v) => q.matmul(k.transpose(-1, -2)).div(5).tanh().mul(5).softmax(-1).matmul(v);

/** As a layer goes on: heads side by side again, and a residual. */
const layer: Attention = (q, k, v) => {
  const heads = causal(q, k, v).transpose(-2, -3).flatten(-2);
  return heads.add(heads.mean().mul(0)).relu();
};

const cases: readonly (readonly [string, Attention, Sizes])[] = [
  ['plain', plain, { rows: 40 }],
  ['of rows that fill no block, columns that fill no panel', plain, { rows: 37, columns: 53, width: 5, values: 19 }],
  ['of wide values', plain, { rows: 48, columns: 64, width: 16, values: 70 }],
  ['of many columns', plain, { batch: [1], rows: 20, columns: 1500, width: 16 }],
  ['of so many columns that no stack has them', causal, { batch: [2], rows: 30, columns: 50_000, width: 4 }],
  ['without a batch', causal, { batch: [], rows: 64, width: 16 }],
  ['of a batch of one', causal, { batch: [1, 1], rows: 64, width: 16 }],
  ['causal', causal, { rows: 128, width: 16 }],
  ['causal, of rows that fill no block', causal, { rows: 101, width: 12 }],
  ['causal, more columns than rows', causal, { rows: 33, columns: 80 }],
  ['causal, more rows than columns', causal, { rows: 80, columns: 33 }],
  ['causal, of long rows', causal, { batch: [1], rows: 700, width: 8 }],
  ['as a program spells it', spelt, { rows: 40, columns: 24 }],
  ['a sliding window', window(5, 0), { rows: 70 }],
  ['some columns ahead', window(90, 7), { rows: 70 }],
  ['scores that fall with the distance', alibi, { rows: 70 }],
  ['capped scores', capped, { rows: 40 }],
  ['with what follows it', layer, { rows: 64, width: 16 }],
  ['f64', causal, { rows: 40, dtype: 'f64' }],
];

/** Gradients for all operands, compiled, beside those of eager mode. */
function checkGradients(how: CompileOptions): void {
  const inputs = given({ rows: 24 });
  const loss = (...parts: Given): Tensor =>
    causal(...parts)
      .square()
      .sum();
  const both = valueAndGrad(loss, { argnums: [0, 1, 2] });
  const [[, made], [, wanted]] = [compile(both, how)(...inputs), both(...inputs)];
  made.forEach((gradient, position) => {
    expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
  });
}

describe('attention', () => {
  test.each(cases)('%s', (_, attention, sizes) => {
    const inputs = given(sizes);
    const compiled = compile(attention, { fullgraph: true, options: always });
    expect(difference(compiled(...inputs), attention(...inputs))).toBeLessThan(2e-6);
    expect(compiled.explain(...inputs).toString()).toMatch(/from one product to the other/);
  });

  test.each(['f16', 'bf16'] as const)('%s', (dtype) => {
    const inputs = given({ rows: 40, columns: 96, dtype });
    for (const attention of [plain, causal])
      expect(difference(compile(attention, { options: always })(...inputs), attention(...inputs))).toBeLessThan(
        dtype === 'f16' ? 2e-3 : 2e-2,
      );
  });

  test('masks that are given', () => {
    const [q, k, v] = given({ rows: 40, columns: 50 });
    const isSeen = randn([40, 50]).gt(-0.5);
    const bias = randn([2, 1, 40, 50]);
    const masked = (mask: Tensor, ...[query, key, value]: Given): Tensor =>
      query.scaledDotProductAttention(key, value, { attnMask: mask });
    for (const mask of [isSeen, bias])
      expect(difference(compile(masked, { options: always })(mask, q, k, v), masked(mask, q, k, v))).toBeLessThan(2e-6);
  });

  test('heads that share keys and values, which lie beside one another', () => {
    manualSeed(5);
    const grouped: Attention = (q, k, v) => {
      const inHeads = (x: Tensor, heads: number): Tensor => x.unflatten(-1, [heads, 8]).transpose(1, 2);
      const shared = (x: Tensor): Tensor => inHeads(x, 2).repeatInterleave(3, 1);
      return causal(inHeads(q, 6), shared(k), shared(v)).transpose(1, 2).flatten(2);
    };
    const inputs: Given = [randn([2, 50, 48]), randn([2, 50, 16]), randn([2, 50, 16])];
    expect(difference(compile(grouped, { options: always })(...inputs), grouped(...inputs))).toBeLessThan(2e-6);
  });

  test('rows that a mask excludes whole are undefined', () => {
    const [q, k, v] = given({ batch: [1], rows: 20 });
    const mask = arange(20).unsqueeze(1).gt(3).expand(20, 20);
    const masked = (query: Tensor): Tensor => query.scaledDotProductAttention(k, v, { attnMask: mask });
    const isUndefined = compile(masked, { options: always })(q).isnan().all(-1).squeeze(0).toArray();
    expect(isUndefined).toEqual(Array.from({ length: 20 }, (_, row) => row <= 3));
  });

  test.each([NaN, Infinity])('values behind a mask that are %s are multiplied by 0', (value) => {
    const [q, k, v] = given({ batch: [2], rows: 96 });
    const isLate = arange(96)
      .unsqueeze(1)
      .ge(80)
      .logicalAnd(arange(2).view(2, 1, 1).eq(1));
    const broken = where(isLate, value, v);
    const [made, wanted] = [compile(causal, { options: always })(q, k, broken), causal(q, k, broken)];
    expect(difference(made.select(0, 0), wanted.select(0, 0))).toBeLessThan(2e-6);
    for (const rows of [made, wanted]) expect(rows.select(0, 1).narrow(0, 0, 80).isnan().all().item()).toBe(true);
  });

  /** By the numbers themselves, and by another sum than their own: 0 times infinity is among them. */
  const ofNumbers: Attention = (q, k, v) => {
    const scores = q.matmul(k.transpose(-1, -2));
    const isSeen = arange(k.size(-2)).le(arange(q.size(-2)).unsqueeze(1));
    const seen = where(isSeen, scores, 0);
    return seen.div(seen.sum(-1, true)).matmul(v);
  };
  const ofAnother: Attention = (q, k, v) => {
    const scores = q.matmul(k.transpose(-1, -2));
    const isSeen = arange(k.size(-2)).le(arange(q.size(-2)).unsqueeze(1));
    const seen = where(isSeen, scores, -Infinity);
    const weights = seen.sub(seen.amax(-1, true)).exp();
    return weights.div(weights.mul(0).sum(-1, true)).matmul(v);
  };

  test.each([ofNumbers, ofAnother])('weights that are no softmax', (attention) => {
    const inputs = given({ batch: [2], rows: 96 });
    const [made, wanted] = [compile(attention, { options: always })(...inputs), attention(...inputs)];
    expect(made.isnan().eq(wanted.isnan()).all().item()).toBe(true);
    expect(made.isinf().eq(wanted.isinf()).all().item()).toBe(true);
    const finite = (x: Tensor): Tensor => where(x.isfinite(), x, 0);
    const far = finite(made).sub(finite(wanted)).abs().div(finite(wanted).abs().add(1));
    expect(far.amax().item()).toBeLessThan(1e-3);
  });

  test('gradients', () => {
    checkGradients({ options: always });
  });
});

describe('sizes that a call decides', () => {
  const dynamic = (attention: Attention) => compile(attention, { fullgraph: true, dynamic: true });

  test.each(cases)('%s', (_, attention, sizes) => {
    const inputs = given(sizes);
    const compiled = dynamic(attention);
    expect(difference(compiled(...inputs), attention(...inputs))).toBeLessThan(2e-6);
    expect(compiled.explain(...inputs).toString()).toMatch(/from one product to the other/);
  });

  test.each([
    ['plain', plain],
    ['causal', causal],
  ])('one kernel for all of them: %s', (_, attention) => {
    const compiled = dynamic(attention);
    const all: readonly Sizes[] = [
      { rows: 40 },
      { rows: 2, columns: 3, values: 5 },
      { rows: 3, columns: 2, values: 33 },
      { rows: 2, columns: 700 },
      { rows: 700, columns: 3, values: 5 },
      { batch: [7, 2], rows: 65, columns: 129, values: 24 },
      { batch: [2, 2], rows: 20, columns: 9001 },
    ];
    for (const sizes of all) {
      const inputs = given(sizes);
      expect(difference(compiled(...inputs), attention(...inputs))).toBeLessThan(2e-6);
    }
    expect(compiled.explain(...given({ rows: 40 })).recompiles).toEqual([]);
  });

  test.each(['f16', 'bf16'] as const)('%s', (dtype) => {
    const inputs = given({ rows: 40, columns: 600, dtype });
    for (const attention of [plain, causal])
      expect(difference(dynamic(attention)(...inputs), attention(...inputs))).toBeLessThan(
        dtype === 'f16' ? 2e-3 : 2e-2,
      );
  });

  test('values behind a mask that are infinite are multiplied by 0', () => {
    const [q, k, v] = given({ batch: [2, 2], rows: 96 });
    const broken = where(arange(96).unsqueeze(1).ge(80), Infinity, v);
    const [made, wanted] = [dynamic(causal)(q, k, broken), causal(q, k, broken)];
    for (const rows of [made, wanted]) expect(rows.narrow(-2, 0, 80).isnan().all().item()).toBe(true);
    expect(made.isnan().eq(wanted.isnan()).all().item()).toBe(true);
  });

  test('on any number of threads the results are the same, to the bit', () => {
    const inputs = given({ batch: [3, 3], rows: 150 });
    const [one, three] = [1, 3].map((threads) =>
      compile(causal, { dynamic: true, options: { 'cpp.threads': threads } })(...inputs),
    );
    expect(
      one
        ?.eq(three ?? 0)
        .all()
        .item(),
    ).toBe(true);
  });

  test('the gradients have sizes that are known', () => {
    checkGradients({ dynamic: true, options: always });
  });
});

describe('memory', () => {
  const workspaceOf = (rows: number, patch = {}): number => {
    const inputs = given({ batch: [2], rows, width: 16 });
    const text = compile(causal, { options: { ...always, ...patch } })
      .explain(...inputs)
      .toString();
    return Number(/workspace: (\d+) bytes/.exec(text)?.[1]);
  };

  test('grows as the rows do', () => {
    const [short, long] = [workspaceOf(256), workspaceOf(1024)];
    expect(short).toBeGreaterThan(0);
    expect(long).toBeLessThanOrEqual(4 * short);
  });

  test('and as their square where products are kernels of their own', () => {
    const apart = { 'cpp.attentionFusion': false };
    expect(workspaceOf(1024, apart)).toBeGreaterThan(8 * workspaceOf(256, apart));
  });
});

describe('kernels of their own', () => {
  const kernelsOf = (attention: Attention, inputs: Given): number => {
    const text = compile(attention, { options: always })
      .explain(...inputs)
      .toString();
    return Number(/became (\d+) kernel/.exec(text)?.[1]);
  };

  test('where the weights are a result as well', () => {
    const both = (q: Tensor, k: Tensor, v: Tensor): [Tensor, Tensor] => {
      const weights = q.matmul(k.transpose(-1, -2)).softmax(-1);
      return [weights.matmul(v), weights];
    };
    const inputs = given({ rows: 40 });
    const [made, wanted] = [compile(both, { options: always })(...inputs), both(...inputs)];
    made.forEach((result, position) => {
      expect(difference(result, at(wanted, position))).toBeLessThan(2e-6);
    });
  });

  test('for few rows', () => {
    expect(kernelsOf(plain, given({ rows: 4, columns: 40 }))).toBeGreaterThan(1);
    expect(kernelsOf(plain, given({ rows: 40 }))).toBe(1);
  });

  test('where rows are summed with what is full of them', () => {
    const twice: Attention = (q, k, v) => {
      const weights = q.matmul(k.transpose(-1, -2)).softmax(-1);
      return weights.matmul(v).add(weights.sum(-1, true).mul(full([1], 2)));
    };
    const inputs = given({ rows: 40 });
    expect(difference(compile(twice, { options: always })(...inputs), twice(...inputs))).toBeLessThan(2e-6);
  });
});
