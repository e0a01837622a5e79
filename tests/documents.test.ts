// What is generated from tables and committed is what the tables say now. The generator runs on the built packages, as
// `npm test` has them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

test('docs/ops.md is what npm run docs:ops writes', () => {
  const root = join(import.meta.dirname, '..');
  const said = execFileSync(process.execPath, [join('tools', 'ops-docs.mjs'), '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(said.trim()).toBe('docs/ops.md is up to date');
});
