// Attention as one kernel: what the loop interpreter computes, it computes; its tiles, what it leaves out and what it takes of memory; and
// for what is no attention, why not.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { evaluateIndex } from '@tsinductor/ir';
import { cases, hasCompiler } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { sharedLimits } from '../../block/block-binder.ts';
import { generateCuda } from '../../generate.ts';
import type { CudaProgram } from '../../generate.ts';
import { wrongInEmulation } from '../../test-support/emulated-run.ts';

const target = { architecture: 'sm_80', inputAlignment: 16 } as const;
const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

const generated = (one: Case): CudaProgram => generateCuda(one.schedule, target);
const notesOf = (one: Case): readonly string[] => generated(one).kernels.flatMap(({ notes }) => notes);

const dtypes: readonly DType[] = ['f16', 'bf16', 'f32'];

const attentions: readonly Case[] = [
  ...dtypes.flatMap((dtype) => [
    cases.attention({ rows: 20, columns: 33, width: 16, dtype, batch: 2 }),
    cases.attention({ rows: 70, columns: 150, width: 32, dtype, isCausal: true }),
    cases.attention({ rows: 40, columns: 64, width: 33, dtype, isCausal: true }),
  ]),
  cases.attention({ rows: 130, columns: 65, width: 64, dtype: 'bf16', isCausal: true }),
];

describe('one kernel', () => {
  test.each(attentions.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const { kernels, workspaceBytes } = generated(one);
    expect(kernels).toHaveLength(1);
    expect(evaluateIndex(workspaceBytes, {})).toBe(0);
    expect(at(at(kernels, 0).notes, 0)).toMatch(/^attention, tiles of \d+ rows by \d+ keys: /);
  });

  test.each<readonly [string, Case, string]>([
    [
      'many rows',
      cases.attention({ rows: 2048, columns: 100, width: 64, dtype: 'bf16', batch: 8 }),
      'tiles of 128 rows by 64 keys: there are about 128 of them, which fill a device',
    ],
    [
      'a few',
      cases.attention({ rows: 2048, columns: 100, width: 64, dtype: 'bf16', batch: 4 }),
      'tiles of 64 rows by 64 keys: larger ones would leave parts of a device idle',
    ],
    [
      'wide heads in f32',
      cases.attention({ rows: 2048, columns: 100, width: 128, batch: 8 }),
      'tiles of 64 rows by 32 keys: larger ones would not fit into registers and shared memory',
    ],
    [
      'few rows',
      cases.attention({ rows: 17, columns: 100, width: 64, dtype: 'bf16' }),
      'tiles of 32 rows by 32 keys: there are few rows',
    ],
    [
      'a causal mask',
      cases.attention({ rows: 17, columns: 100, width: 64, dtype: 'bf16', isCausal: true }),
      'tiles of 32 rows by 32 keys: there are few rows; keys that a mask leaves out are not multiplied',
    ],
  ])('%s', (_, one, choice) => {
    expect(notesOf(one)).toContain(`attention, ${choice}`);
  });

  test.each(['sm_80', 'sm_90a'] as const)('shared memory of %s suffices for heads up to 256', (architecture) => {
    for (const dtype of dtypes)
      for (const width of [16, 64, 128, 200, 256]) {
        const one = cases.attention({ rows: 4096, columns: 100, width, dtype, batch: 8, isCausal: true });
        const { kernels } = generateCuda(one.schedule, { ...target, architecture });
        expect(kernels).toHaveLength(1);
        expect(at(kernels, 0).sharedBytes).toBeLessThanOrEqual(sharedLimits[architecture]);
      }
  });

  test('the loop over keys ends at the diagonal, and keys are sent for while others are multiplied', () => {
    const { source } = generated(
      cases.attention({ rows: 128, columns: 128, width: 64, dtype: 'bf16', isCausal: true }),
    );
    expect(source).toMatch(/const i64 at_(\d+) = 128 - program0 \* 64;\s+const i64 minimum = min_i64\(at_\1, 128LL\);/);
    expect(source).toMatch(/const i64 turns = \(minimum \+ 63\) \/ 64;/);
    expect(source).toMatch(/copy_async_16\(/);
    expect(source).toMatch(/mma_m16n8k16_bf16\(/);
  });
});

describe('kernels of their own', () => {
  const shape = { rows: 20, columns: 33, width: 16 } as const;
  test.each<readonly [string, Case, string]>([
    [
      'weights that are not divided',
      cases.attention({ ...shape, weights: 'powers' }),
      'weights are not powers of scores less the largest, by a number of their row',
    ],
    [
      'weights of two terms',
      cases.attention({ ...shape, weights: 'doubled' }),
      'weights are not powers of scores less the largest, by a number of their row',
    ],
    [
      'powers of other scores than the largest is of',
      cases.attention({ ...shape, weights: 'of other scores' }),
      'weights are not powers of scores less the largest, by a number of their row',
    ],
    ['another sum', cases.attention({ ...shape, weights: 'of another sum' }), 'the sum is not that of the powers'],
    ['very wide heads', cases.attention({ ...shape, width: 257 }), 'heads are wider than 256'],
    ['f64', cases.attention({ ...shape, dtype: 'f64' }), 'products are not sums in f32 of f16, bf16 or f32'],
  ])('%s', (_, one, reason) => {
    expect(generated(one).kernels.length).toBeGreaterThan(1);
    expect(notesOf(one).join('\n')).toContain(reason);
  });
});

ring('in the emulation', () => {
  test('attention, and what is none', () => {
    const others = (['powers', 'doubled', 'of other scores', 'of another sum'] as const).map((weights) =>
      cases.attention({ rows: 20, columns: 33, width: 16, weights }),
    );
    expect(wrongInEmulation([...attentions, ...others], target)).toEqual([]);
  }, 240_000);
});
