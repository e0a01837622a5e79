// A graph whose native code is built beside its calls.
import { expect, test } from '@jest/globals';
import type { Executable, LoopCall } from './executable.ts';
import { TieredExecutable } from './tiered-executable.ts';
import type { BuildOutcome } from './tiered-executable.ts';

const report = { runsOn: 'a test', graph: '', loopNodes: 0, kernels: [], decisions: [] };
const lower: Executable = { run: () => [], report };

test('native loops call native code as soon as it is built', () => {
  const call = {} as LoopCall;
  const native: Executable = { ...lower, loopCall: () => call };
  const outcomes: BuildOutcome[] = [];
  const built: BuildOutcome = { executable: native, tier: 'native' };
  const executable = new TieredExecutable(lower, {
    poll: () => outcomes[0],
    wait: () => built,
    settled: () => Promise.resolve(),
  });
  expect(executable.loopCall([])).toBeUndefined();
  outcomes.push(built);
  expect(executable.loopCall([])).toBe(call);
  expect(executable.tiers.state()).toBe('native');
});
