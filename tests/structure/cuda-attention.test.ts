// Attention as one kernel for CUDA: what the loops one by one compute, it computes in the emulation.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { generateCuda, refuseChain } from '@tsinductor/codegen-cuda';
import { resolveConfig } from '@tsinductor/config';
import { optimize } from '@tsinductor/graph';
import { evaluateIndex, verifySchedule } from '@tsinductor/ir';
import type { BufferId, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import { schedule } from '@tsinductor/scheduler';
import { arange, nn, where } from '@tsinductor/tensor';
import type { FlexAttentionOptions, Tensor } from '@tsinductor/tensor';
import { hasCompiler, makeElements } from '@tsinductor/testing/loops';
import type { Case, ElementArray } from '@tsinductor/testing/loops';
import { wrongInEmulation } from '../../packages/codegen-cuda/src/test-support/emulated-run.ts';
import { primitivesOf, tensorsIn } from './expect-kernels.ts';

const target = { architecture: 'sm_80', inputAlignment: 16 } as const;
const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

type Run = (...inputs: Tensor[]) => unknown;

interface Shape {
  readonly batch?: readonly number[];
  /** The batch of keys and values, where it is another. */
  readonly shared?: readonly number[];
  readonly rows: number;
  readonly columns?: number;
  readonly width?: number;
  readonly values?: number;
  readonly dtype?: DType;
  /** The axes whose sizes are symbols. */
  readonly symbols?: readonly number[];
  /** What is given besides. */
  readonly more?: readonly { readonly shape: readonly number[]; readonly dtype: DType }[];
}

const config = resolveConfig({ env: {} });
const chains = { operandBytes: Infinity, anySize: true, refuse: refuseChain };

function caseOf(name: string, run: Run, shape: Shape): Case {
  const { batch = [2], shared = batch, rows, columns = rows, width = 16, values = width, dtype = 'f32' } = shape;
  const inputs = [
    { shape: [...batch, rows, width], dtype },
    { shape: [...shared, columns, width], dtype },
    { shape: [...shared, columns, values], dtype },
    ...(shape.more ?? []),
  ];
  const isDynamic = shape.symbols ?? false;
  const graph = optimize(primitivesOf({ run: (...given) => tensorsIn(run(...given)), inputs, isDynamic }));
  const program = lowerGraph(graph);
  const plan: Schedule = schedule(program, { config, chains });
  verifySchedule(plan);
  const sizes = new Map(
    graph.sizes.map((size) => [size.name, at(at(inputs, size.placeholder).shape, size.axis)] as const),
  );
  return { name: `${name}, ${dtype}`, schedule: plan, sizes, tolerance: tolerances[dtype] ?? 1e-5 };
}

/** Weights and results are rounded once each. */
const tolerances: Partial<Record<DType, number>> = { f16: 2 ** -9, bf16: 2 ** -6 };

const encode: Partial<Record<DType, (value: number) => number>> = { f16: f16ToBits, bf16: toBfloat16Bits };
const decode: Partial<Record<DType, (bits: number) => number>> = { f16: f16FromBits, bf16: fromBfloat16Bits };

/** Numbers of both signs that no two rows share; every third is false. */
function numbersOf({ schedule: { program }, sizes }: Case): Map<BufferId, ElementArray> {
  return new Map(
    program.inputs.map((id) => {
      const { dtype, size } = at(program.buffers, id);
      const array = makeElements(dtype, evaluateIndex(size, { sizes }));
      for (let index = 0; index < array.length; index++) {
        const value = Math.sin(index * index * 0.37 + index * 1.7 + id) * 1.5;
        array[index] =
          dtype === 'bool' ? Number((index * 7 + (index >> 4)) % 3 > 0) : (encode[dtype]?.(value) ?? value);
      }
      return [id, array];
    }),
  );
}

function wrongElements(one: Case, actual: readonly ElementArray[], wanted: readonly ElementArray[]): readonly string[] {
  const { program } = one.schedule;
  return wanted.flatMap((want, output) => {
    const { dtype } = at(program.buffers, at(program.outputs, output));
    const numberOf = (value: number | bigint): number => decode[dtype]?.(Number(value)) ?? Number(value);
    const found = at(actual, output);
    for (let index = 0; index < want.length; index++) {
      const [is, should] = [numberOf(at<number | bigint>(found, index)), numberOf(at<number | bigint>(want, index))];
      if (Object.is(is, should) || Math.abs(is - should) <= one.tolerance * (1 + Math.abs(should))) continue;
      return [`${one.name}: output ${String(output)}[${String(index)}] is ${String(is)}, not ${String(should)}`];
    }
    return [];
  });
}

const attention =
  (isCausal: boolean): Run =>
  (...given) => {
    const [q, k, v] = given as [Tensor, Tensor, Tensor];
    return q.scaledDotProductAttention(k, v, { isCausal });
  };
const [plain, causal] = [attention(false), attention(true)];
const masked: Run = (...given) => {
  const [q, k, v, attnMask] = given as [Tensor, Tensor, Tensor, Tensor];
  return q.scaledDotProductAttention(k, v, { attnMask });
};
const flex =
  (options: FlexAttentionOptions & { readonly returnLse?: boolean }): Run =>
  (...given) => {
    const [q, k, v] = given as [Tensor, Tensor, Tensor];
    return nn.functional.flexAttention(q, k, v, options as FlexAttentionOptions);
  };

const window = (behind: number): FlexAttentionOptions => ({
  maskMod: (...[, , i, j]) => i.ge(j).logicalAnd(i.sub(j).le(behind)),
});

/** Scores that fall with the distance, by slopes that are other ones for each head. */
const alibi: FlexAttentionOptions = {
  scoreMod: (score, ...[, h, i, j]) => score.add(h.add(1).mul(-0.25).mul(i.sub(j).abs())),
};

/** Masks, and scores that a program changes. */
const changed: readonly (readonly [string, FlexAttentionOptions & { readonly returnLse?: boolean }])[] = [
  ['slopes', alibi],
  ['a window', window(9)],
  ['a wide window', window(90)],
  ['a window on both sides', { maskMod: (...[, , i, j]) => j.sub(i).lt(5).logicalAnd(i.sub(j).lt(3)) }],
  ['slopes and a window', { ...alibi, ...window(20) }],
  ['capped scores', { scoreMod: (score) => score.div(0.5).tanh().mul(0.5), scale: 0.5 }],
  ['rows without keys', { maskMod: (...[, , i, j]) => i.sub(10).gt(j) }],
  ['sums besides', { returnLse: true, maskMod: (...[, , i, j]) => i.gt(j) }],
  ['sums without a mask', { returnLse: true }],
];

/** Whole rows of a mask are false. */
const late: Run = (...given) => {
  const [q, k, v] = given as [Tensor, Tensor, Tensor];
  const attnMask = arange(q.size(-2))
    .unsqueeze(1)
    .gt(arange(k.size(-2)).mul(0).add(3));
  return q.scaledDotProductAttention(k, v, { attnMask });
};

/** Blocks of queries by keys, of which an input says whether they count. */
const inBlocks =
  (rows: number, columns: number): Run =>
  (...given) => {
    const [q, k, v, used] = given as [Tensor, Tensor, Tensor, Tensor];
    const each = used.repeatInterleave(rows, 1).repeatInterleave(columns, 2);
    const table = each.narrow(1, 0, q.size(-2)).narrow(2, 0, k.size(-2));
    return where(table, q.matmul(k.transpose(-1, -2)).mul(0.3), -Infinity)
      .softmax(-1)
      .matmul(v);
  };

const grouped: Run = (...given) => {
  const [q, k, v] = given as [Tensor, Tensor, Tensor];
  return q.scaledDotProductAttention(k, v, { isCausal: true, enableGqa: true });
};

/** What follows it at its elements. */
const followed: Run = (...given) => {
  const [q, k, v, x] = given as [Tensor, Tensor, Tensor, Tensor];
  return q.scaledDotProductAttention(k, v).relu().add(x).mul(2);
};

const spelt: Run = (...given) => {
  const [q, k, v] = given as [Tensor, Tensor, Tensor];
  return q.matmul(k.transpose(-1, -2)).mul(0.3).softmax(-1).matmul(v);
};

/** Weights that are scores by their sum. */
const quotients: Run = (...given) => {
  const [q, k, v] = given as [Tensor, Tensor, Tensor];
  const scores = q.matmul(k.transpose(-1, -2));
  return scores.div(scores.sum(-1, true).add(100)).matmul(v);
};

const dropped: Run = (...given) => {
  const [q, k, v] = given as [Tensor, Tensor, Tensor];
  const weights = q.matmul(k.transpose(-1, -2)).softmax(-1);
  return weights.mul(arange(k.size(-2)).remainder(2)).matmul(v);
};

const dtypes = ['f32', 'f16', 'bf16'] as const;
const heads = { batch: [1, 3] };

const attentions: readonly Case[] = [
  ...dtypes.flatMap((dtype) => [
    caseOf('plain', plain, { rows: 40, columns: 72, dtype }),
    caseOf('causal', causal, { rows: 70, columns: 100, dtype }),
    caseOf('a mask', masked, { rows: 40, columns: 90, dtype, more: [{ shape: [40, 90], dtype: 'bool' }] }),
    caseOf('a bias', masked, { ...heads, rows: 33, columns: 65, dtype, more: [{ shape: [3, 33, 65], dtype }] }),
    caseOf('a bias of rows', masked, { rows: 20, columns: 40, dtype, more: [{ shape: [2, 20, 1], dtype }] }),
    caseOf('shared heads', grouped, { batch: [2, 4], shared: [2, 2], rows: 48, columns: 48, dtype }),
    caseOf('rows without keys, plain', late, { rows: 20, dtype }),
  ]),
  caseOf('blocks', inBlocks(16, 32), {
    batch: [3],
    rows: 70,
    columns: 150,
    dtype: 'f32',
    more: [{ shape: [3, 5, 5], dtype: 'bool' }],
  }),
  caseOf('blocks', inBlocks(64, 64), {
    batch: [2],
    rows: 192,
    columns: 256,
    dtype: 'bf16',
    more: [{ shape: [2, 3, 4], dtype: 'bool' }],
  }),
  caseOf('blocks of all rows', inBlocks(128, 16), {
    batch: [3],
    rows: 40,
    columns: 90,
    dtype: 'f16',
    more: [{ shape: [3, 1, 6], dtype: 'bool' }],
  }),
  caseOf('blocks of few rows', inBlocks(4, 32), {
    batch: [2],
    rows: 40,
    columns: 90,
    dtype: 'f32',
    more: [{ shape: [2, 10, 3], dtype: 'bool' }],
  }),
  ...changed.flatMap(([name, options]) => [
    caseOf(name, flex(options), { ...heads, rows: 70, dtype: 'f32' }),
    caseOf(name, flex(options), { ...heads, rows: 70, columns: 100, dtype: 'bf16' }),
  ]),
  caseOf('one batch', causal, { batch: [1, 1], rows: 128, width: 32, dtype: 'bf16' }),
  caseOf('no batch', plain, { batch: [], rows: 64, columns: 128, width: 64, dtype: 'f16' }),
  caseOf('wide heads', plain, { rows: 20, columns: 70, width: 128, dtype: 'bf16' }),
  caseOf('the widest heads', causal, { batch: [1], rows: 70, width: 256, dtype: 'f32' }),
  caseOf('odd heads', causal, { rows: 33, width: 33, values: 19, dtype: 'bf16' }),
  caseOf('narrow heads', plain, { rows: 33, width: 5, values: 3, dtype: 'f16' }),
  caseOf('heads of 80', causal, { rows: 40, columns: 80, width: 80, dtype: 'f16' }),
  caseOf('more rows than keys', causal, { rows: 90, columns: 33, dtype: 'bf16' }),
  caseOf('many rows', causal, { batch: [8, 8], rows: 129, columns: 140, dtype: 'bf16' }),
  caseOf('sizes that are symbols', causal, { ...heads, rows: 70, columns: 90, dtype: 'bf16', symbols: [0, 2] }),
  caseOf('rows that are symbols', plain, { ...heads, rows: 33, columns: 90, dtype: 'f32', symbols: [2] }),
  caseOf('spelt', spelt, { rows: 40, columns: 24, dtype: 'bf16' }),
  caseOf('a residual', followed, {
    batch: [2, 3],
    rows: 40,
    dtype: 'bf16',
    more: [{ shape: [2, 3, 40, 16], dtype: 'bf16' }],
  }),
];

/** Some of the values, by their number among the keys: rows that see them, and those that a mask keeps from them. */
const spoilt: readonly (readonly [Case, { readonly keys: readonly number[]; readonly by: number }])[] = [
  [
    caseOf('infinity ahead', causal, { batch: [1], rows: 70, columns: 200, dtype: 'bf16' }),
    { keys: [190], by: Infinity },
  ],
  [caseOf('NaN ahead', causal, { batch: [1], rows: 70, columns: 200, dtype: 'f32' }), { keys: [199], by: NaN }],
  [caseOf('infinity seen', causal, { batch: [1], rows: 150, dtype: 'f16' }), { keys: [3, 100], by: -Infinity }],
  [caseOf('NaN behind', flex(window(5)), { ...heads, rows: 150, dtype: 'bf16' }), { keys: [0], by: NaN }],
  [
    caseOf('NaN in blocks', inBlocks(64, 64), {
      batch: [3],
      rows: 192,
      columns: 256,
      dtype: 'f32',
      more: [{ shape: [3, 3, 4], dtype: 'bool' }],
    }),
    { keys: [10, 250], by: NaN },
  ],
  [caseOf('infinity around', flex(window(5)), { ...heads, rows: 150, dtype: 'f32' }), { keys: [70], by: Infinity }],
];

/** The numbers of a case, with some elements of its third input in the place of others. */
function spoiltNumbers(one: Case): Map<BufferId, ElementArray> {
  const numbers = numbersOf(one);
  const { by = 0, keys = [] } = spoilt.find(([other]) => other === one)?.[1] ?? {};
  const { program } = one.schedule;
  const id = at(program.inputs, 2);
  const { dtype, strides } = at(program.buffers, id);
  const [values, step] = [numbers.get(id), evaluateIndex(at(strides, strides.length - 2), {})];
  for (const key of keys) if (values !== undefined) values[key * step + (key % step)] = encode[dtype]?.(by) ?? by;
  return numbers;
}

/** Programs that are no attention, and why they are kernels of their own. */
const others: readonly (readonly [string, Case, string])[] = [
  ['weights that are no softmax', caseOf('by their sum', quotients, { rows: 40 }), 'no row has a maximum and a sum'],
  [
    'weights that are scaled once more',
    caseOf('dropped', dropped, { rows: 40 }),
    'weights are not powers of scores less the largest, by a number of their row',
  ],
  ['wide heads', caseOf('wide', plain, { rows: 20, width: 300, dtype: 'bf16' }), 'heads are wider than 256'],
  ['f64', caseOf('f64', plain, { rows: 20, dtype: 'f64' }), 'products are not sums in f32 of f16, bf16 or f32'],
];

describe('attention', () => {
  test.each(attentions.map((one) => [one.name, one] as const))('%s: one kernel', (_, one) => {
    const { kernels, workspaceBytes } = generateCuda(one.schedule, target);
    expect(kernels).toHaveLength(1);
    expect(evaluateIndex(workspaceBytes, one)).toBe(0);
    expect(at(kernels, 0).notes.join()).toMatch(/^attention, tiles of/);
  });

  test.each(['f16', 'f32'] as const)('of long rows, %s: one kernel, without workspace', (dtype) => {
    const one = caseOf('long', causal, { batch: [1], rows: 100_000, width: 64, dtype });
    const { kernels, workspaceBytes } = generateCuda(one.schedule, target);
    expect(kernels.flatMap(({ notes }) => notes)).toContainEqual(
      expect.stringMatching(/^attention, tiles of 128 rows/),
    );
    expect([kernels.length, evaluateIndex(workspaceBytes, {})]).toEqual([1, 0]);
  });

  test.each(others)('%s: kernels of their own', (_, one, reason) => {
    expect(generateCuda(one.schedule, target).kernels.length).toBeGreaterThan(1);
    expect(one.schedule.decisions).toContainEqual(
      expect.objectContaining({ kind: 'rejected', stage: 'chain-products', reason: `not one kernel: ${reason}` }),
    );
  });
});

ring('in the emulation', () => {
  const comparing = { inputsOf: numbersOf, differences: wrongElements };

  test('all of them', () => {
    expect(wrongInEmulation(attentions, target, comparing)).toEqual([]);
  }, 240_000);

  test('infinite values and NaN, by weights that are 0 too', () => {
    const all = spoilt.map(([one]) => one);
    expect(all.flatMap(({ schedule: plan }) => generateCuda(plan, target).kernels)).toHaveLength(all.length);
    expect(wrongInEmulation(all, target, { ...comparing, inputsOf: spoiltNumbers })).toEqual([]);
  }, 120_000);

  test('what is no attention', () => {
    const all = others.filter(([name]) => name !== 'f64').map(([, one]) => one);
    expect(wrongInEmulation(all, target, comparing)).toEqual([]);
  }, 120_000);
});
