import { expect, test } from '@jest/globals';
import { checkVmap } from './check-vmap.ts';

test('random programs under vmap give what a loop over the samples gives', () => {
  const verdicts = Array.from({ length: 24 }, (_, index) => checkVmap({ seed: 11, index, isCompiled: false }));
  expect(verdicts.filter(({ status }) => status === 'failed')).toEqual([]);
  expect(verdicts.filter(({ status }) => status === 'passed').length).toBeGreaterThan(18);
});
