import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { generate, OperatorChoice } from './generate.ts';
import type { FuzzProgram } from './program.ts';
import { shrink } from './shrink.ts';
import { Worker } from './worker-pool.ts';

/** A program in which `exp` is one call among others. */
function withExp(): FuzzProgram {
  const choice = new OperatorChoice();
  for (let index = 0; ; index += 1) {
    const { program } = generate({ seed: 5, index, choice });
    if (program.steps.some(({ op }) => op === 'exp') && program.steps.length > 5) return program;
  }
}

const dyingWorker = fileURLToPath(new URL('./test-support/dying-worker.mjs', import.meta.url));

test('a program that was generated in the process that it kills is known', async () => {
  using worker = new Worker(dyingWorker);
  const [checked] = await worker.check([{ seed: 1, index: 0 }], {});
  expect(checked?.verdict).toMatchObject({ status: 'failed', stage: 'crash' });
  expect(checked?.program?.steps.map(({ op }) => op)).toEqual(['exp']);
});

test('a program that kills its process is shrunk to the call that does', async () => {
  using worker = new Worker(dyingWorker);
  const dies = async (candidates: readonly FuzzProgram[]): Promise<boolean[]> =>
    (await worker.check(candidates, {})).map(({ verdict }) => verdict.status === 'failed' && verdict.stage === 'crash');
  const program = withExp();
  expect(await dies([program])).toEqual([true]);
  const small = await shrink(program, { stillFails: dies, milliseconds: 120_000, together: 1 });
  expect(small.steps.length).toBeLessThan(program.steps.length);
  expect(small.steps.map(({ op }) => op)).toContain('exp');
  expect(at(small.steps, 0).op).toBe('exp');
}, 180_000);
