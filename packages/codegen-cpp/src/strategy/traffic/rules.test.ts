// Every rule of memory traffic: where it plans something it says so and why, and it can be left out by its name.
import { describe, expect, test } from '@jest/globals';
import type { TrafficRuleName } from '@tsinductor/config';
import { printDecision } from '@tsinductor/ir';
import { cases } from '@tsinductor/testing/loops';
import type { Case } from '@tsinductor/testing/loops';
import { generateCpp } from '../../generate.ts';
import type { CppProgram } from '../../generate.ts';
import type { CpuTarget } from '../../machine/target.ts';
import { trafficRules } from './rules.ts';

type Family = NonNullable<CpuTarget['family']>;

/** For each rule a program and a family of processors for which it plans something. */
const planned: Readonly<Record<TrafficRuleName, readonly [Case, Family]>> = {
  'next row': [cases.softmax('rows', [1024, 1024]), 'other'],
  'rows below': [cases.scanned(1003, 1500, 'columns'), 'other'],
  'lines further on': [cases.broadcasts(2048, 1024), 'other'],
  'long rows': [cases.summed('nothing', [2100, 1024]), 'other'],
  'rows further on': [cases.summed('rows', [40000, 128]), 'other'],
  windows: [cases.halved(2048, 512), 'rapids'],
  'row runs': [cases.heads([2, 8192, 8, 64]), 'rapids'],
  'adjacent rows': [cases.rotated(65536, 64), 'zen'],
  'column rows in order': [cases.summed('columns', [16384, 1024]), 'zen'],
  tiles: [cases.transposed(4096, 4096), 'rapids'],
  'prefetched results': [cases.broadcasts(4096, 4096), 'other'],
  'non-temporal results': [cases.broadcasts(4096, 4096), 'zen'],
  'narrow loads': [cases.summed('rows', [2100, 1024]), 'zen'],
  'row streams': [cases.summed('rows', [1024, 8192]), 'other'],
  'scattered rows': [cases.added(4096, 1024, 40), 'other'],
  'scatter targets': [cases.added(300, 700, 40), 'zen'],
};

const programOf = ({ schedule }: Case, family: Family, withoutRules: readonly string[] = []): CppProgram =>
  generateCpp(schedule, { isa: 'avx512', threads: 2, family, withoutRules });
const textOf = ({ units }: CppProgram): string => units.map(({ source }) => source).join('\n');
const rulesOf = ({ kernels }: CppProgram): readonly string[] =>
  kernels.flatMap(({ decisions = [] }) => decisions.flatMap((it) => (it.kind === 'traffic' ? [it.rule] : [])));

describe.each(Object.entries(planned))('%s', (rule, [one, family]) => {
  const program = programOf(one, family);
  const without = programOf(one, family, [rule]);

  test('is among the decisions, with its reason and the stage', () => {
    const [decision] = program.kernels.flatMap(({ decisions = [] }) =>
      decisions.filter((it) => it.kind === 'traffic' && it.rule === rule),
    );
    const { doc } = trafficRules.find(({ name }) => name === rule) ?? {};
    expect(decision).toMatchObject({ kind: 'traffic', rule, stage: 'bind', reason: doc });
    expect(decision === undefined ? '' : printDecision(decision)).toContain(`${rule}: `);
  });

  test('is left out by its name, and the code is another', () => {
    expect(rulesOf(without)).not.toContain(rule);
    expect(textOf(without)).not.toBe(textOf(program));
  });
});

test('there is a program for every rule', () => {
  expect(Object.keys(planned).sort()).toEqual(trafficRules.map(({ name }) => name).sort());
});

test('a decision is told once for a kernel, and none of non-temporal stores where nothing is written so', () => {
  const halves = programOf(cases.converted(16 << 20, 'bf16'), 'other');
  expect(textOf(halves)).not.toContain('non_temporal_store_');
  expect(rulesOf(halves)).not.toContain('non-temporal results');
  const narrow = programOf(cases.converted(16 << 20, 'bf16'), 'zen');
  expect(rulesOf(narrow).filter((name) => name === 'non-temporal results')).toHaveLength(1);
});
