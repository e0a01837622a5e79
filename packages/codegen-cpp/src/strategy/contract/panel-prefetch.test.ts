// Products by matrices that lie in panels, as frozen weights do: the next block of a panel is fetched while rows are done.
import { expect, test } from '@jest/globals';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { differencesOf } from '../../test-support/native-differences.ts';

const textOf = ({ schedule }: Case): string =>
  generateCpp(schedule, { isa: 'avx512', threads: 2 })
    .units.map(({ source }) => source)
    .join('\n');

/** Where the second operand is prefetched: text behind its name. */
const prefetches = (one: Case): readonly string[] =>
  [...textOf(one).matchAll(/__builtin_prefetch\(in1 \+ ([^,]+), 0, 2\)/g)].map(([, place = '']) => place);

test('a block is fetched while the one before it is used, a part by each step of each tile', () => {
  // 48 rows are four tiles of 12: each of 64 steps fetches a quarter of the 32 columns of a point, and one more, as GCC spills sums for steps of 8.
  expect(prefetches(cases.product({ m: 48, n: 32, k: 64, batch: 5 }))).toEqual([
    'h * 2048 + k * 9 + m * 43 + n + 2048',
  ]);
});

test('what a kernel does says so', () => {
  const described = (one: Case): string =>
    generateCpp(one.schedule, { isa: 'avx512', threads: 2 })
      .kernels.flatMap(({ notes }) => notes)
      .join();
  const note = /the next block of a panel is prefetched/;
  expect(described(cases.product({ m: 48, n: 32, k: 64, batch: 5 }))).toMatch(note);
  expect(described(cases.product({ m: 48, n: 32, k: 64 }))).not.toMatch(note);
});

test('few rows fetch whole points, of two lines each', () => {
  expect(prefetches(cases.product({ m: 8, n: 32, k: 64, batch: 5 }))).toHaveLength(2);
});

test.each([
  ['many rows use each panel', cases.product({ m: 600, n: 32, k: 64, batch: 5 })],
  ['panels are not as wide as the matrix', cases.product({ m: 48, n: 96, k: 64, batch: 5 })],
  ['there is one matrix', cases.product({ m: 48, n: 32, k: 64 })],
  ['the matrix lies across', cases.product({ m: 48, n: 32, k: 64, batch: 5, transposed: 'b' })],
])('nothing is fetched where %s', (_, one) => {
  expect(prefetches(one)).toEqual([]);
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('panels in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('results are those of the product on %s', (isa) => {
  const n = isa === 'avx512' ? 32 : 16;
  const all = [4, 12, 13, 49, 101, 200].flatMap((m) => [
    cases.product({ m, n, k: 1100, batch: 3 }),
    cases.product({ m, n: isa === 'avx512' ? 16 : 8, k: 40, dtype: 'f64', batch: 2 }),
  ]);
  expect(differencesOf(all, { isa, threads: 2 })).toEqual([]);
});
