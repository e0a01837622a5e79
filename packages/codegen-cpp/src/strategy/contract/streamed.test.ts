// Products of few rows whose second operand no cache holds: they read it along rows, pack nothing, and compute what the product is.
import { expect, test } from '@jest/globals';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { differencesOf } from '../../test-support/native-differences.ts';

/** The case as if its second operand were large. */
const streamed = (one: Case): Case => ({
  ...one,
  schedule: {
    ...one.schedule,
    groups: one.schedule.groups.map((group) => ({ ...group, choices: { streamedBytes: 0 } })),
  },
});

const textOf = ({ schedule }: Case): string =>
  generateCpp(schedule, { isa: 'avx512', threads: 2 })
    .units.map(({ source }) => source)
    .join('\n');

test('a large second operand is read a few points at a time, and not packed', () => {
  const bf16 = cases.product({ m: 8, n: 256, k: 512, dtype: 'bf16' });
  expect(textOf(bf16)).toContain('panel');
  expect(textOf(streamed(bf16))).not.toContain('panel');
  expect(textOf(streamed(bf16))).toContain('block_start += 16');
});

test.each([
  ['many rows', cases.product({ m: 64, n: 256, k: 512, dtype: 'bf16' })],
  ['a second operand that lies across', cases.product({ m: 8, n: 256, k: 512, dtype: 'bf16', transposed: 'b' })],
])('%s: as before', (_, one) => {
  expect(textOf(streamed(one))).not.toContain('block_start += 16');
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('streamed products in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('results are those of the product on %s', (isa) => {
  const all = [2, 3, 5, 7, 8, 9, 13, 16].flatMap((m) => [
    cases.product({ m, n: 203, k: 70 }),
    cases.product({ m, n: 96, k: 33, dtype: 'bf16' }),
    cases.product({ m, n: 131, k: 40, dtype: 'f64', batch: 2 }),
    cases.product({ m, n: 64, k: 48, transposed: 'a' }),
  ]);
  expect(differencesOf(all.map(streamed), { isa, threads: 2 })).toEqual([]);
});
