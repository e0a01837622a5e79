// Which products have a kernel for small and one for large sizes, and that both compute the product.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../generate.ts';
import { choicesFor } from '../machine/choices.ts';
import type { Isa } from '../machine/isa.ts';
import { differencesOf } from '../test-support/native-differences.ts';
import { sizeHintsOf } from './size-hints.ts';

const target = { isa: 'avx2', threads: 1 } as const;
const hintsOf = ({ schedule }: Case, sizeHints: readonly number[] = []): readonly number[] =>
  sizeHintsOf(at(schedule.groups, 0), { ...target, sizeHints });

/** A product of symbolic sizes, with these values. */
function symbolic(m: number, n: number, k: number): Case {
  const [rows, columns, depth] = [cases.symbolic('s0', m), cases.symbolic('s1', n), cases.symbolic('s2', k)];
  const sizes = new Map([...rows.sizes, ...columns.sizes, ...depth.sizes]);
  return cases.product({ m: rows.extent, n: columns.extent, k: depth.extent, sizes });
}

test('a product of symbolic sizes has two, and what the settings say comes first', () => {
  expect(hintsOf(symbolic(40, 30, 20))).toEqual(choicesFor({}).productHints);
  expect(hintsOf(symbolic(40, 30, 20), [7, 8])).toEqual([7, 8]);
  expect(hintsOf(cases.product({ m: 40, n: 30, k: 20 }))).toEqual([]);
});

test('large ones are packed, small ones are not', () => {
  const { kernels, units } = generateCpp(symbolic(40, 30, 20).schedule, target);
  const text = units.map(({ source }) => source).join('\n');
  expect(kernels.map(({ notes, group }) => [group, ...notes])).toEqual([
    [0, 'register tiles of 6 x 16', expect.stringMatching(/^for a geometric mean of s0, s1, s2 below 363$/)],
    [
      0,
      'register tiles of 6 x 16, panels packed',
      expect.stringMatching(/^for a geometric mean of s0, s1, s2 from 363 on$/),
    ],
  ]);
  expect(text.match(/if \(\(double\).* \{/g)).toHaveLength(2);
});

test('kernels that come out equal are one, and have one name whatever hints there are', () => {
  const namesFor = (sizeHints: readonly number[]): readonly string[] =>
    generateCpp(symbolic(40, 30, 20).schedule, { ...target, threads: 2, sizeHints }).kernels.map(({ name }) => name);
  expect(namesFor([1000, 1001])).toHaveLength(1);
  expect(namesFor([4096, 8192])).toEqual(namesFor([8192]));
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('kernels for sizes in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('results are those of the product on %s', (isa) => {
  const all = [3, 361, 365].map((size) => symbolic(size, size, 362));
  expect(differencesOf(all, { isa, threads: 2 })).toEqual([]);
});
