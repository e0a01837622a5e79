// Products whose first operand no cache holds: units of many columns, in short blocks, with packed rows; they compute what the product is.
import { expect, test } from '@jest/globals';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { differencesOf } from '../../test-support/native-differences.ts';

/** The case as if its first operand were large. */
const wide = (one: Case): Case => ({
  ...one,
  schedule: {
    ...one.schedule,
    groups: one.schedule.groups.map((group) => ({ ...group, choices: { wideUnitBytes: 0 } })),
  },
});

const textOf = ({ schedule }: Case): string =>
  generateCpp(schedule, { isa: 'avx2', threads: 1 })
    .units.map(({ source }) => source)
    .join('\n');

test('rows and panels are packed in short blocks', () => {
  const one = cases.product({ m: 130, n: 400, k: 1024 });
  expect(textOf(one)).toContain('block_start += 512');
  expect(textOf(one)).not.toContain('f32 block[');
  expect(textOf(wide(one))).toContain('block_start += 344');
  expect(textOf(wide(one))).toContain('f32 block[');
});

test('few columns: as before', () => {
  const one = cases.product({ m: 130, n: 64, k: 768 });
  expect(textOf(wide(one))).toBe(textOf(one));
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('wide units in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('results are those of the product on %s', (isa) => {
  const all = [3, 97, 130].flatMap((m) => [
    cases.product({ m, n: 403, k: 470 }),
    cases.product({ m, n: 300, k: 390, dtype: 'bf16' }),
    cases.product({ m, n: 331, k: 400, dtype: 'f64', batch: 2 }),
    cases.product({ m, n: 320, k: 48, transposed: 'a' }),
    cases.product({ m, n: 417, k: 50, transposed: 'both', followed: true }),
  ]);
  expect(differencesOf(all.map(wide), { isa, threads: 2 })).toEqual([]);
});
