// What is generated from tables and committed is what the tables say now. The generators run on the built packages, as
// `npm test` has them.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

test.each(['ops', 'settings'])('docs/%s.md, and its pages, are what the generator writes (npm run docs:…)', (name) => {
  const root = join(import.meta.dirname, '..');
  const said = execFileSync(process.execPath, [join('tools', `${name}-docs.mjs`), '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(said.trim()).toBe(`docs/${name}.md is up to date`);
});
