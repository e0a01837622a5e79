// Generated text against its digests: of each case some targets in turn, so that every target meets a good part of the cases. All of it
// takes about a minute: `npm run goldens`.
import { describe, expect, test } from '@jest/globals';
import { digestOf, keysOf, storedDigests, storedSuites, suites, textsOf } from './digests.ts';
import type { Suite } from './digests.ts';
import { advice } from './golden-mode.ts';

/** Of how many targets one is met by each case. */
const every = 9;

const sampled = ({ targets }: Suite, position: number): Suite['targets'] =>
  targets.filter((_, number) => (number + position) % every === 0);

process.stderr.write(`goldens: one in ${String(every)} texts is generated; npm run goldens generates all\n`);

describe.each(suites.map((suite) => [suite.name, suite] as const))('%s', (name, suite) => {
  const stored = storedDigests(name);

  test('the text is what it was', () => {
    const changed = suite.cases.flatMap((one, position) =>
      [...textsOf(one, sampled(suite, position))].flatMap(([key, text]) =>
        stored.get(key) === digestOf(text) ? [] : [key],
      ),
    );
    if (changed.length > 0) expect([...changed, advice]).toEqual([]);
  }, 600_000);

  test('there is a digest for each case and target, and no other', () => {
    const keys = keysOf(suite);
    expect(new Set(keys).size).toBe(keys.length);
    expect([...stored.keys()].filter((key) => !keys.includes(key))).toEqual([]);
    expect(keys.filter((key) => !stored.has(key))).toEqual([]);
  });
});

test('there is a file of digests for each suite, and no other', () => {
  expect([...storedSuites()].sort()).toEqual(suites.map(({ name }) => name).sort());
});

test('every target is met by some case of each suite that has enough', () => {
  for (const suite of suites.filter(({ cases }) => cases.length >= every)) {
    const met = new Set(suite.cases.flatMap((_, position) => sampled(suite, position)));
    expect(met.size).toBe(suite.targets.length);
  }
});
