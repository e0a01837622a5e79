// The table of batching rules is complete: a primitive without one could not be mapped.
import { expect, test } from '@jest/globals';
import { isTensorParameter } from '../argument-reader.ts';
import { markNames } from '../gradient/rules.ts';
import { primitives } from '../operator-table.ts';
import { batchingRules } from './rules.ts';

test('every primitive that takes tensors has a batching rule, and every mark of gradients', () => {
  const needed = [...primitives.values()].filter(({ parameters }) => parameters.some(isTensorParameter));
  const missing = [...needed.map(({ name }) => name), ...markNames].filter((name) => !batchingRules.has(name));
  expect(missing).toEqual([]);
});

test('no rule is for a name that is no operator of a graph', () => {
  const unknown = [...batchingRules.keys()].filter((name) => !primitives.has(name) && !markNames.has(name));
  expect(unknown).toEqual([]);
});
