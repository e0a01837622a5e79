// What a clock may choose among for maps and reductions: every candidate computes what the loops do, and packs are told from chains of loops.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { cases, differences, expected, hasCompiler, inputsOf, runnable } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { bindSchedule, generateBatch } from '../../generate.ts';
import type { Isa } from '../../machine/isa.ts';
import { runKernels } from '../../test-support/kernel-run.ts';
import { differencesOf } from '../../test-support/native-differences.ts';
import { loopParameters, packKind } from './loops.ts';
import { candidatesOf } from './parameter.ts';

const groupOf = ({ schedule }: Case) => at(schedule.groups, 0);
const target = { isa: 'avx512', threads: 2 } as const;
const everything = { tiles: true, size: 'any' } as const;

/** The case with each of its candidates. */
const patched = (one: Case, isa: Isa): readonly Case[] =>
  candidatesOf(loopParameters(groupOf(one), { ...target, isa }, everything)).map((choices) => ({
    ...one,
    name: `${one.name} under ${JSON.stringify(choices)}`,
    schedule: { ...one.schedule, groups: one.schedule.groups.map((group) => ({ ...group, choices })) },
  }));

const small: readonly Case[] = [
  cases.broadcasts(37, 203),
  cases.transposed(67, 130),
  cases.permuted(70, 35),
  cases.summed('rows', [37, 301]),
  cases.summed('columns', [301, 67]),
  cases.summed('nothing', [301, 670]),
  cases.softmax('rows', [19, 203]),
  cases.sines(1003),
  cases.converted(1003, 'bf16'),
  cases.doubledAndSummed('twice and summed', [37, 130]),
];

describe('candidates', () => {
  test('are offered where a clock can tell them apart', () => {
    const counts = [
      cases.broadcasts(300, 400),
      cases.broadcasts(30, 40),
      cases.broadcasts(cases.symbolic('s0', 301).extent, 4000, new Map([['s0', 301]])),
      cases.scanned(300, 400),
      cases.product({ m: 128, n: 128, k: 128 }),
    ].map((one) => loopParameters(groupOf(one), target, { tiles: true }).length > 0);
    expect(counts).toEqual([true, false, false, false, false]);
  });

  test('make kernels of their own, of tiles where these are asked for', () => {
    const distinct = (one: Case, tiles: boolean): number => {
      const patches = candidatesOf(loopParameters(groupOf(one), target, { tiles }));
      const schedules = patches.map((choices) => ({
        ...one.schedule,
        groups: one.schedule.groups.map((group) => ({ ...group, choices })),
      }));
      const { programs } = generateBatch(schedules, target);
      return new Set(programs.map(({ kernels }) => kernels.map(({ name }) => name).join())).size;
    };
    expect(distinct(cases.broadcasts(300, 400), true)).toBeGreaterThan(3);
    expect(distinct(cases.summed('columns', [3000, 700]), true)).toBeGreaterThan(3);
    const transposed = cases.transposed(700, 700);
    expect(distinct(transposed, true)).toBeGreaterThan(distinct(transposed, false) + 2);
  });

  test.each(small)('of $name compute the same in the interpreter of kernels', (one) => {
    const inputs = inputsOf(one);
    const wanted = expected(one, inputs);
    const seen = new Set<string>();
    for (const { schedule } of patched(one, 'avx512')) {
      const kernels = bindSchedule(schedule, { ...target, threads: 1 });
      const text = JSON.stringify(
        kernels.map(({ body }) => body),
        (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
      );
      if (seen.has(text)) continue;
      seen.add(text);
      expect(differences(one, runKernels(schedule, kernels, { inputs, sizes: one.sizes, chunk: 4 }), wanted)).toEqual(
        [],
      );
    }
    expect(seen.size).toBeGreaterThan(1);
  });
});

const isas = hasCompiler() ? runnable<Isa>(['avx512', 'avx2'], (isa) => isa) : [];
if (isas.length === 0) process.stderr.write('candidates in compiled code skipped: no g++, or no vectors\n');

test.each(isas)('every candidate computes the same on %s', (isa) => {
  const all = small.flatMap((one) => patched(one, isa));
  expect(all.length).toBeGreaterThan(100);
  expect(differencesOf(all, { isa, threads: 2 })).toEqual([]);
});

test('packs are several loops of which none reads another’s results', () => {
  const [pack, chain] = [cases.doubledAndSummed('twice and summed', [37, 130]), cases.softmax('rows', [19, 203])].map(
    groupOf,
  );
  expect([pack && packKind(pack), chain && packKind(chain)]).toEqual(['mixed', undefined]);
});
