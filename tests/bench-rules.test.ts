// `npm run bench -- --rules`: which rules are measured by which rows, how forms of a row are compared, and what is told of it.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { trafficRules } from '@tsinductor/codegen-cpp';
import { hasCompiler } from '@tsinductor/testing/loops';
import { compared, measureRules, pickRules, rowsOfRules } from '../benchmarks/src/rules-suite.ts';
import type { RuleRow } from '../benchmarks/src/rules-suite.ts';
import { rulesSummary, rulesTable } from '../benchmarks/src/rules-report.ts';
import { suites } from '../benchmarks/src/suites.ts';

const ring = hasCompiler() ? describe : describe.skip;
if (!hasCompiler()) process.stderr.write('host ring skipped: no g++\n');

describe('rules', () => {
  test('are all of them, or the one of a name', () => {
    expect(pickRules('')).toEqual(trafficRules);
    expect(pickRules('tiles').map(({ name }) => name)).toEqual(['tiles']);
    expect(() => pickRules('tile')).toThrow('there is no rule "tile"; did you mean "tiles"?');
    expect(() => pickRules('magic')).toThrow(/^there is no rule "magic"$/);
  });

  test('have rows, each of which is measured once', () => {
    const all = pickRules('');
    expect(new Set(rowsOfRules(all)).size).toBe(rowsOfRules(all).length);
    expect(rowsOfRules(all).length).toBeLessThan(all.flatMap(({ measure }) => measure).length);
  });
});

describe('a rule', () => {
  const tens = (...ratios: readonly number[]): readonly number[] => ratios.map((ratio) => 10 * ratio);
  const on = tens(1, 1, 1, 1, 1, 1, 1, 1);

  test.each([
    ['pays', tens(1.1, 1.2, 1.1, 1.3, 1.1, 1.2, 1.15, 1.2)],
    ['costs', tens(0.9, 0.8, 0.9, 0.7, 0.9, 0.85, 0.9, 0.95)],
    ['within noise', tens(1.2, 0.8, 1.1, 0.7, 0.9, 1.2, 1.3, 0.9)],
    // Certain, and too little to speak of.
    ['within noise', tens(1.001, 1.002, 1.001, 1.003, 1.001, 1.002, 1.001, 1.002)],
  ] as const)('%s where without it rounds take %j', (verdict, off) => {
    expect(compared(on, off).verdict).toBe(verdict);
  });

  test('is compared in each round', () => {
    const drift = [1, 2, 4, 8, 16, 32, 64, 128];
    const { verdict, ratio, interval } = compared(
      drift,
      drift.map((ms) => 1.25 * ms),
    );
    expect({ verdict, ratio, interval }).toEqual({ verdict: 'pays', ratio: 1.25, interval: [1.25, 1.25] });
  });
});

test('what was measured is a table, and what follows is said', () => {
  const measured = { onMs: 1, offMs: 1.25, ratio: 1.25, interval: [1.2, 1.3] } as const;
  const rows: readonly RuleRow[] = [
    { rule: 'tiles', row: 'a', verdict: 'pays', ...measured },
    { rule: 'tiles', row: 'b', verdict: 'costs', ...measured },
    { rule: 'windows', row: 'c', verdict: 'no part' },
    { rule: 'next row', row: 'd', verdict: 'within noise', ...measured },
  ];
  const table = stripVTControlCharacters(rulesTable(rows));
  expect(table).toMatch(/tiles +│ a +│ 1 ms +│ 1\.25 ms │ 1\.250× \(1\.200–1\.300\) +│ pays/);
  expect(table).toMatch(/windows +│ c +│ – +│ – +│ – +│ no part/);
  expect(rulesSummary(rows)).toEqual([
    expect.stringMatching(/^next row: pay on no row here/),
    expect.stringMatching(/^tiles: cost something/),
    expect.stringMatching(/^windows: have no part/),
  ]);
});

ring('on this machine', () => {
  test('a rule is measured where the code is another without it, on the same inputs, in turns', () => {
    const row = 'memory-bound: softmax in L3';
    const softmax = suites['memory-bound']?.find(({ name }) => name === 'softmax in L3');
    const told: string[] = [];
    const rows = measureRules({
      rules: [
        { name: 'next row', measure: [row] },
        { name: 'tiles', measure: [row] },
      ],
      workloads: new Map(softmax === undefined ? [] : [[row, softmax]]),
      ...{ threads: 1, rounds: 2, budgetMs: 1, progress: (index, text) => told.push(`${String(index)} ${text}`) },
    });
    expect(rows.map(({ rule }) => rule)).toEqual(['next row', 'tiles']);
    expect(rows[0]).toMatchObject({ row, onMs: expect.any(Number), offMs: expect.any(Number) });
    expect(rows[1]).toEqual({ rule: 'tiles', row, verdict: 'no part' });
    expect(told.at(-1)).toBe('0 memory-bound, softmax in L3: round 2 of 2');
  });
});
