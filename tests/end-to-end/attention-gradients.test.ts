// Gradients of attention in compiled code beside eager mode: products whose rows meet in the loops over rows, and products that sum over
// rows, a block of rows at a time.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { arange, compile, grad, manualSeed, nn, randn, valueAndGrad, where } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { flexAttention } = nn.functional;

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
  readonly shared?: readonly number[];
  readonly rows: number;
  readonly columns?: number;
  readonly width?: number;
  readonly values?: number;
  readonly dtype?: DType;
}

function given({
  batch = [2, 3],
  shared = batch,
  rows,
  columns = rows,
  width = 8,
  values = width,
  dtype,
}: Sizes): Given {
  manualSeed(5);
  const make = (...shape: number[]): Tensor => randn(shape).to(dtype ?? 'f32');
  return [make(...batch, rows, width), make(...shared, columns, width), make(...shared, columns, values)];
}

const plain: Attention = (q, k, v) => q.scaledDotProductAttention(k, v);
const causal: Attention = (q, k, v) => q.scaledDotProductAttention(k, v, { isCausal: true });
const capped: Attention = (q, k, v) => q.matmul(k.transpose(-1, -2)).div(5).tanh().mul(5).softmax(-1).matmul(v);
const shared: Attention = (q, k, v) => q.scaledDotProductAttention(k, v, { enableGqa: true });
const alibi: Attention = (q, k, v) =>
  flexAttention(q, k, v, {
    scoreMod: (score, ...[, , i, j]) => score.sub(i.sub(j).abs().mul(0.1)),
    maskMod: (...[, , i, j]) => i.ge(j),
  });
/** Scores are used both as they are, and as they become in the tiles of their product. */
const polynomial: Attention = (q, k, v) =>
  flexAttention(q, k, v, {
    scoreMod: (score) => [1, 2, 3].reduce((x) => x.mul(x).mul(0.1).add(x), score.mul(0.1)),
    maskMod: (...[, , i, j]) => i.ge(j),
  });
/** The first rows are masked whole. */
const late: Attention = (q, k, v) => flexAttention(q, k, v, { maskMod: (...[, , i, j]) => i.sub(10).gt(j) });

/** Columns from some places before the row up to itself. */
const window: Attention = (q, k, v) => {
  const [row, column] = [arange(q.size(-2)).unsqueeze(1), arange(k.size(-2))];
  const isSeen = column.le(row).logicalAnd(column.ge(row.sub(9)));
  return where(isSeen, q.matmul(k.transpose(-1, -2)), -Infinity)
    .softmax(-1)
    .matmul(v);
};

/** As a layer goes on: heads side by side again, and a product. */
const layer: Attention = (q, k, v) => causal(q, k, v).transpose(-2, -3).flatten(-2).relu();

const lossOf =
  (attention: Attention) =>
  (...parts: Given): Tensor =>
    attention(...parts)
      .square()
      .sum();

/** The gradients in compiled code and in eager mode. */
function both(attention: Attention, inputs: Given, argnums: readonly number[] = [0, 1, 2]) {
  const step = (...parts: Given) => valueAndGrad(lossOf(attention), { argnums })(...parts);
  const compiled = compile(step, { fullgraph: true, options: always });
  return { made: compiled(...inputs)[1], wanted: step(...inputs)[1], text: compiled.explain(...inputs).toString() };
}

const cases: readonly (readonly [string, Attention, Sizes])[] = [
  ['plain', plain, { rows: 40 }],
  ['of rows that fill no block, columns that fill no panel', plain, { rows: 37, columns: 53, width: 5, values: 19 }],
  ['of wide values', plain, { rows: 48, columns: 64, width: 16, values: 70 }],
  ['of many rows and few columns', plain, { rows: 300, columns: 24 }],
  ['of few rows and many columns', plain, { rows: 20, columns: 700, width: 16 }],
  ['of rows that fill a stack', plain, { batch: [4], rows: 64, columns: 4368, width: 16 }],
  ['causal', causal, { rows: 128, width: 16 }],
  ['causal, of rows that fill no block', causal, { rows: 101, width: 12 }],
  ['causal, more columns than rows', causal, { rows: 33, columns: 80 }],
  ['causal, more rows than columns', causal, { rows: 80, columns: 33 }],
  ['causal, of long rows', causal, { batch: [1, 4], rows: 700, width: 8 }],
  ['capped scores', capped, { rows: 40 }],
  ['scores that are used twice, of several blocks of rows', polynomial, { rows: 300 }],
  ['capped scores of several blocks of rows', capped, { rows: 300 }],
  ['a window', window, { rows: 70 }],
  ['scores that fall with the distance', alibi, { rows: 70 }],
  ['with what follows it', layer, { rows: 64, width: 16 }],
  ['heads that share keys and values', shared, { batch: [2, 6], shared: [2, 2], rows: 50 }],
  ['f64', causal, { rows: 40, dtype: 'f64' }],
];

const isOneKernel = /rows of several products meet in the loops over rows/;

describe('gradients of attention', () => {
  test.each(cases)('%s', (_, attention, sizes) => {
    const { made, wanted, text } = both(attention, given(sizes));
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
    expect(text).toMatch(isOneKernel);
    expect(text).toMatch(/recomputed bmm .*rows between matrix products stay in a cache/);
  });

  test.each(['f16', 'bf16'] as const)('%s', (dtype) => {
    const { made, wanted } = both(causal, given({ rows: 40, columns: 96, dtype }));
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(dtype === 'f16' ? 5e-3 : 4e-2);
    });
  });

  test.each([[[0]], [[1]], [[2]], [[0, 2]], [[1, 2]]])('of operands %j alone', (argnums) => {
    const { made, wanted } = both(causal, given({ rows: 70 }), argnums);
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
  });

  test('masks that are given', () => {
    const inputs = given({ rows: 40, columns: 50 });
    for (const attnMask of [randn([40, 50]).gt(-0.5), randn([2, 1, 40, 50])]) {
      const { made, wanted, text } = both((q, k, v) => q.scaledDotProductAttention(k, v, { attnMask }), inputs);
      made.forEach((gradient, position) => {
        expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
      });
      expect(text).toMatch(isOneKernel);
    }
  });

  test('rows that a mask excludes whole have none', () => {
    const { made, wanted } = both(late, given({ rows: 70 }));
    made.forEach((gradient, position) => {
      expect(gradient.isnan().any().item()).toBe(false);
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
    expect(at(made, 0).narrow(2, 0, 11).eq(0).all().item()).toBe(true);
  });

  test('of a gradient that is a function of its own', () => {
    const inputs = given({ rows: 70 });
    const alone = grad(lossOf(causal), { argnums: [0, 1, 2] });
    const made = compile(alone, { options: always })(...inputs);
    alone(...inputs).forEach((gradient, position) => {
      expect(difference(at(made, position), gradient)).toBeLessThan(1e-5);
    });
  });

  test('where a compiled call is differentiated', () => {
    const inputs = given({ rows: 70 });
    const wanted = grad(lossOf(causal), { argnums: [0, 1, 2] })(...inputs);
    const made = grad(compile(lossOf(causal), { options: always }), { argnums: [0, 1, 2] })(...inputs);
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
  });

  test('are the same bits on one thread and on two', () => {
    const inputs = given({ rows: 101, width: 12 });
    const step = grad(lossOf(causal), { argnums: [0, 1, 2] });
    const [one, two] = [1, 2].map((threads) =>
      compile(step, { options: { ...always, 'cpp.threads': threads } })(...inputs),
    );
    one?.forEach((gradient, position) => {
      expect(
        gradient
          .eq(at(two ?? [], position))
          .all()
          .item(),
      ).toBe(true);
    });
  });
});

describe('columns that a mask excludes', () => {
  /** How many kernels choose columns for each block of rows: the one of the forward pass, and the one of the gradients. */
  const choosing = (attention: Attention, inputs: Given): number => {
    const compiled = compile(grad(lossOf(attention), { argnums: [0, 1, 2] }), { options: always });
    compiled(...inputs);
    const text = compiled.graphs().map((graph) => graph.source?.() ?? '');
    return text.join('\n').match(/const i64 columns = \(/g)?.length ?? 0;
  };
  /** Reads one number for each head. */
  const sloped =
    (slopes: Tensor): Attention =>
    (q, k, v) =>
      flexAttention(q, k, v, {
        scoreMod: (score, ...[, h, i, j]) => score.sub(slopes.index([h]).mul(i.sub(j))),
        maskMod: (...[, , i, j]) => i.ge(j),
      });

  test.each([
    ['without a mask', plain, 0],
    ['causal', causal, 2],
    ['a window', window, 2],
    ['scores that fall with the distance', alibi, 2],
    // Numbers that are given may be such that a row is undefined.
    ['scores that depend on numbers that are given', sloped(arange(3).to('f32')), 1],
  ] as const)('%s', (_, attention, kernels) => {
    const inputs = given({ rows: 70 });
    expect(choosing(attention, inputs)).toBe(kernels);
    const { made, wanted } = both(attention, inputs);
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
  });

  const spoilt = [NaN, Infinity, 1e30].flatMap((value) => [0, 1, 2].map((operand) => [value, operand] as const));

  test.each(spoilt)('%p in operand %i: what is undefined in eager mode is so', (value, operand) => {
    const inputs = given({ batch: [4], rows: 96 });
    const isSpoilt = arange(96)
      .unsqueeze(1)
      .eq(50)
      .logicalAnd(arange(4).view(4, 1, 1).eq(1));
    inputs[operand] = where(isSpoilt, value, at(inputs, operand));
    const { made, wanted } = both(causal, inputs);
    made.forEach((gradient, position) => {
      const eager = at(wanted, position);
      expect(gradient.isfinite().eq(eager.isfinite()).all().item()).toBe(true);
      const others = (x: Tensor): Tensor => where(eager.isfinite(), x, 0);
      expect(difference(others(gradient), others(eager))).toBeLessThan(1e-5);
    });
  });
});

describe('memory', () => {
  const bytesOf = (attention: Attention, rows: number, patch = {}): number => {
    const inputs = given({ batch: [4], rows, width: 16 });
    const step = (...parts: Given) => valueAndGrad(lossOf(attention), { argnums: [0, 1, 2] })(...parts);
    const text = compile(step, { options: { ...always, ...patch } })
      .explain(...inputs)
      .toString();
    return Number(/workspace: (\d+) bytes/.exec(text)?.[1]);
  };

  test.each([plain, causal])('of a whole step grows as the rows do', (attention) => {
    const [short, long] = [bytesOf(attention, 512), bytesOf(attention, 1024)];
    expect(short).toBeGreaterThan(0);
    expect(long).toBeLessThanOrEqual(2.01 * short);
  });

  test('and as their square where products are kernels of their own', () => {
    const apart = { 'cpp.attentionFusion': false };
    expect(bytesOf(causal, 1024, apart)).toBeGreaterThan(3 * bytesOf(causal, 512, apart));
  });
});

describe('kernels of their own', () => {
  const kernels = (step: (...parts: Given) => unknown, inputs: Given): string =>
    compile(step, { options: always })
      .explain(...inputs)
      .toString();

  test('where the weights are a result as well', () => {
    const inputs = given({ rows: 40 });
    const step = (...[q, k, v]: Given) =>
      valueAndGrad(
        (...[a, b, c]: Given) => {
          const weights = a.matmul(b.transpose(-1, -2)).softmax(-1);
          return [weights.matmul(c).square().sum(), weights] as [Tensor, Tensor];
        },
        { argnums: [0, 1, 2], hasAux: true },
      )(q, k, v);
    const compiled = compile(step, { options: always });
    const [[, made], [, wanted]] = [compiled(...inputs), step(...inputs)];
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
    expect(compiled.explain(...inputs).toString()).not.toMatch(/recomputed bmm/);
  });

  test('where a bias of all scores has a gradient', () => {
    const inputs = given({ rows: 40 });
    const bias = randn([2, 3, 40, 40]);
    const loss = (attnMask: Tensor, ...[q, k, v]: Given): Tensor =>
      q.scaledDotProductAttention(k, v, { attnMask }).square().sum();
    const step = (mask: Tensor, ...parts: Given) => grad(loss, { argnums: [0, 1] })(mask, ...parts);
    const [made, wanted] = [compile(step, { options: always })(bias, ...inputs), step(bias, ...inputs)];
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
  });

  test('where the batch has few points', () => {
    const inputs = given({ batch: [2], rows: 40 });
    const { made, wanted } = both(causal, inputs);
    made.forEach((gradient, position) => {
      expect(difference(gradient, at(wanted, position))).toBeLessThan(1e-5);
    });
    const text = kernels(grad(lossOf(causal), { argnums: [0, 1, 2] }), inputs);
    expect(text).toMatch(/the batch has fewer than 4 points/);
  });

  test('where sizes are not known', () => {
    const step = grad(lossOf(causal), { argnums: [0, 1, 2] });
    const dynamic = compile(step, { dynamic: true, options: always });
    for (const rows of [40, 57]) {
      const inputs = given({ rows });
      step(...inputs).forEach((gradient, position) => {
        expect(difference(at(dynamic(...inputs), position), gradient)).toBeLessThan(1e-5);
      });
    }
  });
});
