// Units of products: rows that all panels of a matrix are multiplied by are taken in parts, where they exceed the cache.
import { describe, expect, test } from '@jest/globals';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { differencesOf } from '../../test-support/native-differences.ts';

const textOf = ({ schedule }: Case): string =>
  generateCpp(schedule, { isa: 'avx512', threads: 2 })
    .units.map(({ source }) => source)
    .join('\n');

/** The case as if no more bytes of its first operand stayed in the cache. */
const keeping = (bytes: number, one: Case): Case => ({
  ...one,
  schedule: {
    ...one.schedule,
    groups: one.schedule.groups.map((group) => ({ ...group, choices: { keptRowBytes: bytes } })),
  },
});

describe('rows that all panels share', () => {
  // 192 rows of 64 points have 48 KB, five panels 40 KB.
  const shared = cases.product({ m: 192, n: 32, k: 64, batch: 5, repeated: true });

  test('are taken in parts, each through all panels', () => {
    const text = textOf(keeping(24_576, shared));
    expect(text).toContain('unit % 5');
    expect(text).toContain('(unit / 5) * 96');
  });

  test.each([
    ['they stay in the cache', keeping(65_536, shared)],
    ['panels would be read too often', keeping(4096, shared)],
    ['each panel has rows of its own', keeping(24_576, cases.product({ m: 192, n: 32, k: 64, batch: 5 }))],
  ])('are not where %s', (_, one) => {
    expect(textOf(one)).not.toContain('unit % 5');
  });
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('rows in parts in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('results are those of the product on %s', (isa) => {
  const n = isa === 'avx512' ? 32 : 16;
  const all = [12, 49, 101, 200].flatMap((m) => [
    keeping(8192, cases.product({ m, n, k: 70, batch: 7, repeated: true })),
    keeping(24_576, cases.product({ m, n, k: 70, batch: 7, repeated: true, followed: true })),
  ]);
  expect(differencesOf(all, { isa, threads: 2 })).toEqual([]);
});
