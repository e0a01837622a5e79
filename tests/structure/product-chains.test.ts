// Kernels of two products and the loops between them, for every instruction set: what the loops one by one compute, schedules and
// kernels compute in their interpreters.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { bindSchedule, generateCpp } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import { resolveConfig, withConfig } from '@tsinductor/config';
import { optimize } from '@tsinductor/graph';
import { interpretSchedule } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from '@tsinductor/scheduler';
import type { DType } from '@tsinductor/base';
import { arange, nn, where } from '@tsinductor/tensor';
import type { MaskMod, Tensor } from '@tsinductor/tensor';
import { differences, expected, inputsOf } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { runKernels } from '../../packages/codegen-cpp/src/test-support/kernel-run.ts';
import { primitivesOf } from './expect-kernels.ts';

interface Shape {
  readonly rows: number;
  readonly columns: number;
  readonly width: number;
  readonly dtype?: DType;
  readonly isCausal?: boolean;
  /** How far behind its row a column counts. */
  readonly behind?: number;
  /** Rows and columns of a block of which an input says whether it counts. */
  readonly blocks?: readonly [rows: number, columns: number];
}

function caseOf({ rows, columns, width, dtype = 'f32', isCausal = false, behind, blocks }: Shape): Case {
  const maskMod: MaskMod = (...[, , i, j]) =>
    isCausal ? i.ge(j).logicalAnd(i.sub(j).le(behind ?? 0)) : i.sub(j).le(behind ?? 0);
  const windowed = (...given: Tensor[]): Tensor => {
    const [q, k, v] = given.map((x) => x.unsqueeze(0)) as [Tensor, Tensor, Tensor];
    return nn.functional.flexAttention(q, k, v, { maskMod }).squeeze(0);
  };
  const inBlocks = ([q, k, v]: readonly [Tensor, Tensor, Tensor], used: Tensor): Tensor => {
    const each = blocks?.reduce((table, size, axis) => table.repeatInterleave(size, axis + 1), used) ?? used;
    const scores = where(each.narrow(1, 0, rows).narrow(2, 0, columns), q.matmul(k.transpose(1, 2)), -Infinity);
    const masked = isCausal ? where(arange(rows).unsqueeze(1).ge(arange(columns)), scores, -Infinity) : scores;
    return masked.softmax(-1).matmul(v).relu();
  };
  const table = blocks && [2, Math.ceil(rows / blocks[0]), Math.ceil(columns / blocks[1])];
  const run = (...[q, k, v, used]: [Tensor, Tensor, Tensor, Tensor?]): Tensor =>
    used !== undefined
      ? inBlocks([q, k, v], used)
      : (behind === undefined ? q.scaledDotProductAttention(k, v, { isCausal }) : windowed(q, k, v)).relu();
  const inputs = [
    { shape: [2, rows, width], dtype },
    { shape: [2, columns, width], dtype },
    { shape: [2, columns, width + 3], dtype },
    ...(table ? [{ shape: table, dtype: 'bool' as const }] : []),
  ];
  const program = lowerGraph(optimize(primitivesOf({ run, inputs })));
  const config = withConfig(resolveConfig({ env: {} }), { cpp: { attentionFusionBytes: 0 } });
  const plan: Schedule = schedule(program, { config, chains: true });
  const half = dtype === 'f16' || dtype === 'bf16';
  const name = `${isCausal ? 'causal ' : ''}${behind === undefined ? '' : `${String(behind)} behind, `}${blocks ? `blocks of ${blocks.join(' x ')}, ` : ''}${[rows, columns, width].join(' x ')} ${dtype}`;
  return { name, schedule: plan, sizes: new Map(), tolerance: half ? 0.02 : 1e-5 };
}

const cases: readonly Case[] = [
  caseOf({ rows: 18, columns: 16, width: 4 }),
  caseOf({ rows: 17, columns: 37, width: 5 }),
  caseOf({ rows: 20, columns: 33, width: 3, isCausal: true }),
  caseOf({ rows: 49, columns: 48, width: 2, isCausal: true }),
  caseOf({ rows: 16, columns: 20, width: 4, dtype: 'f64', isCausal: true }),
  caseOf({ rows: 16, columns: 20, width: 4, dtype: 'f16' }),
  caseOf({ rows: 100, columns: 101, width: 2, isCausal: true, behind: 19 }),
  caseOf({ rows: 112, columns: 100, width: 2, behind: 20 }),
  caseOf({ rows: 60, columns: 128, width: 3, blocks: [16, 32] }),
  caseOf({ rows: 100, columns: 101, width: 2, blocks: [7, 24] }),
  caseOf({ rows: 50, columns: 90, width: 2, dtype: 'bf16', blocks: [64, 16] }),
  caseOf({ rows: 96, columns: 96, width: 2, isCausal: true, blocks: [16, 16] }),
];

const targets: readonly CpuTarget[] = [
  { isa: 'avx512', threads: 2 },
  { isa: 'avx2', threads: 1 },
  { isa: 'neon', threads: 2 },
  { isa: 'scalar', threads: 2 },
];

describe.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
  const inputs = inputsOf(one);
  const wanted = expected(one, inputs);

  test('is one group, which computes what its loops do', () => {
    const { program, groups } = one.schedule;
    expect(groups).toHaveLength(1);
    const results = wanted.map((array) => array.slice());
    const buffers = new Map([...inputs, ...program.outputs.map((id, output) => [id, at(results, output)] as const)]);
    interpretSchedule(one.schedule, { buffers, sizes: one.sizes });
    expect(differences(one, results, wanted)).toEqual([]);
  });

  test.each(targets)('on $isa', (target) => {
    const kernels = bindSchedule(one.schedule, target);
    expect(at(kernels, 0).notes.join()).toMatch(/blocks of \d+ rows/);
    const actual = runKernels(one.schedule, kernels, { inputs, sizes: one.sizes, chunk: 1 });
    expect(differences(one, actual, wanted)).toEqual([]);
    expect(generateCpp(one.schedule, target).kernels).toHaveLength(1);
  });
});
