// What a clock may choose among: every candidate of a product computes what the product is.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, hasCompiler, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateBatch } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { differencesOf } from '../../test-support/native-differences.ts';
import { contractCandidates } from './candidates.ts';

const groupOf = ({ schedule }: Case) => at(schedule.groups, 0);

/** The case with other choices. */
const patched = (one: Case, choices: Readonly<Record<string, unknown>>): Case => ({
  ...one,
  name: `${one.name} under ${JSON.stringify(choices)}`,
  schedule: { ...one.schedule, groups: one.schedule.groups.map((group) => ({ ...group, choices })) },
});

describe('candidates', () => {
  const product = cases.product({ m: 67, n: 130, k: 70 });
  const target = { isa: 'avx512', threads: 2 } as const;

  test('begin with what all groups have, and are more in a larger space', () => {
    const [few, many] = (['DEFAULT', 'EXHAUSTIVE'] as const).map((space) =>
      contractCandidates(groupOf(product), target, space),
    );
    expect([few?.[0], many?.[0]]).toEqual([{}, {}]);
    expect(many?.length).toBeGreaterThan(2 * (few?.length ?? 0));
  });

  test('there are none of small products, unknown sizes, and what is no product', () => {
    const none = [
      cases.product({ m: 7, n: 37, k: 19 }),
      cases.product({ m: cases.symbolic('s0', 301).extent, n: 70, k: 70 }),
      cases.softmax('rows', [300, 200]),
    ];
    for (const one of none) expect(contractCandidates(groupOf(one), target, 'EXHAUSTIVE')).toEqual([]);
  });

  test('make kernels of their own', () => {
    const { programs } = generateBatch(
      contractCandidates(groupOf(product), target, 'DEFAULT').map((choices) => patched(product, choices).schedule),
      target,
    );
    const names = new Set(programs.map(({ kernels }) => kernels.map(({ name }) => name).join()));
    expect(names.size).toBeGreaterThan(6);
  });
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('candidates in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('every candidate computes the same on %s', (isa) => {
  const target = { isa, threads: 2 };
  const products = [
    cases.product({ m: 67, n: 130, k: 70 }),
    cases.product({ m: 67, n: 70, k: 600, transposed: 'both', dtype: 'f64' }),
    cases.product({ m: 5, n: 203, k: 300, transposed: 'b' }),
  ];
  const all = products.flatMap((one) =>
    contractCandidates(groupOf(one), target, 'DEFAULT').map((choices) => patched(one, choices)),
  );
  expect(all.length).toBeGreaterThan(30);
  expect(differencesOf(all, target)).toEqual([]);
});
