// A sample of `npm run conformance:dsl`: some entries of every module of the language, a few programs each; and that no entry
// is without cases.
import { expect, test } from '@jest/globals';
import { coreLanguage } from '@tsinductor/dsl';
import { coreCases } from '../conformance/dsl-cases.mjs';
import { runDsl } from '../conformance/dsl-run.mjs';

test('every operation beside the pointwise ones has cases', () => {
  const cases: Readonly<Record<string, readonly unknown[]>> = coreCases;
  expect(Object.keys(coreLanguage).filter((name) => (cases[name] ?? []).length === 0)).toEqual([]);
  expect(Object.keys(cases).filter((name) => !Object.hasOwn(coreLanguage, name))).toEqual([]);
});

test.each(['cpp', 'cuda-emulated'] as const)('a sample agrees bit for bit: %s', async (backend) => {
  const entries = [
    'add',
    'where',
    'cast',
    'load',
    'trans',
    'gather',
    'sum',
    'argmin',
    'cumsum',
    'dot',
    'atomicAdd',
    'range',
  ];
  const totals = await runDsl(entries, { backend, runs: 1, perText: 2, batch: 100 });
  expect(totals.flatMap(({ mismatches }) => mismatches)).toEqual([]);
  expect(totals.every(({ cases }) => cases > 0)).toBe(true);
});
