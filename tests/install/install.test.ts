// A stranger's first minutes with the package that is published. The full matrix is `npm run test:install`.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const isBuilt = existsSync(join(root, 'packages/tsinductor/lib/index.cjs'));
const ifBuilt = isBuilt ? test : test.skip;
if (!isBuilt) process.stderr.write('installing skipped: npm run build makes what is packed\n');

ifBuilt(
  'what is packed installs, runs, and type-checks in an ES module and in CommonJS',
  () => {
    const args = [join(import.meta.dirname, 'run.mjs'), '--quick'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect(`${stdout}${status === 0 ? '' : stderr}`).toMatch(/^5 of 5 as they should be/m);
    expect(status).toBe(0);
  },
  600_000,
);
