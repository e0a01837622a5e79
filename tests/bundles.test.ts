// What `npm run build` makes of the packages' modules is what users run: it behaves as the modules do.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const library = join(import.meta.dirname, '../packages/tsinductor/lib');
const built = join(library, 'index.cjs');
const ifBuilt = existsSync(built) ? test : test.skip;
if (!existsSync(built)) process.stderr.write('bundles skipped: npm run build makes them\n');

const run = (lines: readonly string[], env: Readonly<Record<string, string>> = {}): string =>
  execFileSync(process.execPath, ['-e', lines.join('\n')], { encoding: 'utf8', env: { ...process.env, ...env } });

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

ifBuilt('`import` and `require` give one instance, and classes keep their names', () => {
  const module = JSON.stringify(join(library, 'index.js'));
  const said = run([
    `const required = require(${JSON.stringify(built)});`,
    `import(${module}).then((imported) => {`,
    '  const names = Object.keys(required);',
    '  console.log(names.length > 300, names.every((name) => imported[name] === required[name]));',
    '});',
  ]);
  expect(said).toBe('true true\n');
  const errors = ['TsInductorError', 'UserError', 'ToolchainError', 'InternalError'];
  const named = run([
    `const required = require(${JSON.stringify(built)});`,
    `console.log(${JSON.stringify(errors)}.map((name) => required[name].name).join());`,
    `console.log(required.tensor([1]).constructor.name);`,
  ]);
  expect(named).toBe(`${errors.join()}\nTensor\n`);
});

ifBuilt('code of V8 is kept for the next process, unless it is damaged, or nothing is to be kept', () => {
  const cache = mkdtempSync(join(tmpdir(), 'kept-code-'));
  const code = join(cache, 'code');
  const program = [
    `const { tensor } = require(${JSON.stringify(built)});`,
    'console.log(tensor([1, 2]).mul(3).sum().item());',
  ];
  const times = (): readonly number[] => readdirSync(code).map((name) => statSync(join(code, name)).mtimeMs);
  try {
    expect(run(program, { TORCHINDUCTOR_CACHE_DIR: cache, TORCHINDUCTOR_FORCE_DISABLE_CACHES: '1' })).toBe('9\n');
    expect(existsSync(code)).toBe(false);
    expect(run(program, { TORCHINDUCTOR_CACHE_DIR: cache })).toBe('9\n');
    const kept = times();
    expect(readdirSync(code).some((name) => name.startsWith('core-'))).toBe(true);
    // What is taken is not made again.
    expect(run(program, { TORCHINDUCTOR_CACHE_DIR: cache })).toBe('9\n');
    expect(times()).toEqual(kept);
    const core = join(code, readdirSync(code).find((name) => name.startsWith('core-')) ?? '');
    const intact = readFileSync(core);
    writeFileSync(
      core,
      intact.map((byte, at) => (at === 100_000 ? byte ^ 255 : byte)),
    );
    expect(run(program, { TORCHINDUCTOR_CACHE_DIR: cache })).toBe('9\n');
    expect(readFileSync(core).length).toBeGreaterThan(100_000);
    expect(readFileSync(core)[100_000]).not.toBe((intact[100_000] ?? 0) ^ 255);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
});

ifBuilt('a program that only imports keeps no code, and makes no folder', () => {
  const cache = join(mkdtempSync(join(tmpdir(), 'imported-')), 'cache');
  try {
    expect(run([`require(${JSON.stringify(built)});`], { TORCHINDUCTOR_CACHE_DIR: cache })).toBe('');
    expect(existsSync(cache)).toBe(false);
  } finally {
    rmSync(join(cache, '..'), { recursive: true, force: true });
  }
});

ifBuilt('compiled transforms are one graph, for any number of samples', () => {
  const said = run([
    `const { compile, grad, randn, vmap } = require(${JSON.stringify(built)});`,
    'const energy = (x) => x.tanh().square().sum();',
    'const compiled = compile(vmap(grad(energy)), { dynamic: true });',
    'for (const count of [3, 5, 8]) compiled(randn([count, 4]));',
    'console.log(compiled.graphs().length, compiled.explain().breaks.length, compiled.cacheInfo().recompiles);',
  ]);
  expect(said).toBe('1 0 0\n');
});
