// What `npm run build` makes of the packages' modules is what users run: it behaves as the modules do.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const library = join(import.meta.dirname, '../packages/tsinductor/lib');
const built = join(library, 'index.cjs');
const ifBuilt = existsSync(built) ? test : test.skip;
if (!existsSync(built)) process.stderr.write('bundles skipped: npm run build makes them\n');

const run = (lines: readonly string[]): string =>
  execFileSync(process.execPath, ['-e', lines.join('\n')], { encoding: 'utf8' });

ifBuilt('a compiled function that is called plainly has no `this`, as in a module', () => {
  const said = run([
    `const { compile, tensor } = require(${JSON.stringify(built)});`,
    `const f = compile(function (x) { 'use strict'; console.log(String(this)); return x; }, { backend: 'eager' });`,
    'f(tensor([1]));',
  ]);
  expect(said).toBe('undefined\n');
});

ifBuilt('every text is strict, as modules are', () => {
  const texts = readdirSync(join(library, 'texts')).map((name) => join(library, 'texts', name));
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.filter((text) => !/^(['"])use strict\1/.test(readFileSync(text, 'utf8')))).toEqual([]);
});

ifBuilt('where Node makes no code from strings, eager loops are interpreted, with the same bits', () => {
  const lines = [
    `const { tensor } = require(${JSON.stringify(built)});`,
    'const x = tensor(Float32Array.from({ length: 1000 }, (_, k) => k / 7 - 50));',
    'const results = [x.mul(3).exp(), x.sum(), x.cumsum(0)];',
    'console.log(JSON.stringify(results.map((result) => result.toArray())));',
  ];
  const refused = [...lines, `try { new Function('return 1'); } catch { console.log('refused'); }`];
  const args = ['--disallow-code-generation-from-strings', '-e', refused.join('\n')];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe(`${run(lines)}refused\n`);
});
