// Memory that comes back by itself where the collector's own finalizers are not to be had. Each case is a process of its own: where a
// registry dies after it was told to run and before it did, V8 runs no registry of that process again, and a suite's
// registries die with it.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const built = existsSync(join(root, 'packages/tensor/dist/bundle.js'));
if (!built) process.stderr.write('memory between tasks skipped: npm run build makes what its program imports\n');

(built ? test : test.skip).each([
  ['dropped', 'alone'],
  ['dropped, made after others were disposed', 'beside-disposed'],
])('tensors that were %s', (_what, how) => {
  const said = execFileSync(
    process.execPath,
    ['--no-warnings', '--expose-gc', join(import.meta.dirname, 'between-tasks.mjs'), how],
    { encoding: 'utf8' },
  );
  const { dropped, left, inUse } = JSON.parse(said) as { dropped: number; left: number; inUse: number };
  expect(dropped).toBeGreaterThan(50);
  expect([left, inUse]).toEqual([0, 0]);
});
