// The rows of the benchmark by which choices and rules of generated C++ are measured: each is there, and a rule decides something in
// each of its own.
import { describe, expect, test } from '@jest/globals';
import { get } from '@tsinductor/base';
import { choiceTable, generateCpp, trafficRules } from '@tsinductor/codegen-cpp';
import type { CpuTarget } from '@tsinductor/codegen-cpp';
import type { Schedule } from '@tsinductor/ir';
import { suites } from '../benchmarks/src/suites.ts';
import { benchCases } from './goldens/bench-cases.ts';

const rows: readonly string[] = Object.entries(suites).flatMap(([suite, workloads]) =>
  workloads.map(({ name }) => `${suite}: ${name}`),
);

test('names of rows are names of one', () => {
  expect(new Set(rows).size).toBe(rows.length);
});

test.each([
  ...Object.entries(choiceTable).map(([name, { measure }]) => [`the choice ${name}`, measure] as const),
  ...trafficRules.map(({ name, measure }) => [`the rule "${name}"`, measure] as const),
])('%s is measured by rows of the benchmark', (_, measure) => {
  expect(measure.length).toBeGreaterThan(0);
  expect(measure.filter((row) => !rows.includes(row))).toEqual([]);
});

describe('on some family of processors', () => {
  const targets: readonly CpuTarget[] = (['zen', 'rapids', 'other'] as const).map((family) => ({
    isa: 'avx512',
    family,
    threads: 2,
  }));
  const schedules = new Map(
    Object.keys(suites).flatMap((suite) =>
      benchCases(suite).map((one) => [`${suite}: ${one.name}`, one.schedules] as const),
    ),
  );
  const decided = (made: readonly Schedule[], rule: string): boolean =>
    targets.some((target) =>
      made.some((schedule) =>
        generateCpp(schedule, target).kernels.some(({ decisions = [] }) =>
          decisions.some((it) => it.kind === 'traffic' && it.rule === rule),
        ),
      ),
    );

  test.each(trafficRules.map(({ name, measure }) => [name, measure] as const))(
    'the rule "%s" decides something in each of its rows',
    (rule, measure) => {
      expect(measure.filter((row) => !decided(get(schedules, row)(), rule))).toEqual([]);
    },
  );
});
