// What is generated from tables and committed is what the tables say now. The generators run on the built packages, as
// `npm test` has them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

test('THIRD-PARTY-NOTICES has what the lock file installs with the package (npm run docs:notices)', () => {
  const root = join(import.meta.dirname, '..');
  const said = execFileSync(process.execPath, [join('tools', 'notices.mjs'), '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(said.trim()).toBe('THIRD-PARTY-NOTICES is up to date');
  const notices = readFileSync(join(root, 'THIRD-PARTY-NOTICES'), 'utf8');
  const { dependencies } = JSON.parse(readFileSync(join(root, 'packages/tsinductor/package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const others = Object.keys(dependencies).filter((name) => !name.startsWith('@tsinductor/'));
  expect(others.filter((name) => !notices.includes(`\n  ${name} `))).toEqual([]);
});
