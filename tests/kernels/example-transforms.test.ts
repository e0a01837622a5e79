// The example kernels as programs that tools went over: tsc, swc to ESM and to CommonJS, esbuild as one minified file. Each is
// run as its user would run it, by Node, in a process of its own. Every kernel's results, interpreted, compiled and as
// emulated CUDA, must agree with each other and, to the bit, with those of the sources.
import { afterAll, describe, expect, test } from '@jest/globals';
import { transformSync as swc } from '@swc/core';
import type { Options } from '@swc/core';
import { at } from '@tsinductor/base';
import { buildSync } from 'esbuild';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const examples = join(import.meta.dirname, '../../examples/kernels/src');
const sources = readdirSync(examples).filter((file) => file.endsWith('.ts') && file !== 'what-does-not-compile.ts');
// Below the workspace, where `tsinductor` is found as in a user's project.
const cache = join(import.meta.dirname, '../../node_modules/.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'example-transforms-'));
const cacheDir = mkdtempSync(join(tmpdir(), 'tsinductor-transforms-'));

afterAll(() => {
  for (const path of [folder, cacheDir]) rmSync(path, { recursive: true, force: true });
});

interface Outcome {
  /** The kernels whose executors do not agree. */
  readonly different: readonly string[];
  readonly digests: Readonly<Record<string, string>>;
}

/** Runs a program's `compare`, and gives a digest of what each of its kernels computes. */
function outcomeOf(main: string): Outcome {
  const text = `
    import { createHash } from 'node:crypto';
    import { createRequire } from 'node:module';
    import { manualSeed } from 'tsinductor';
    manualSeed(11);
    const { compare, runs } = ${main.endsWith('cjs') ? 'createRequire(import.meta.url)' : 'await import'}(${JSON.stringify(main)});
    const digest = (run) => createHash('sha256').update(new Uint8Array(run({}).toTypedArray().buffer)).digest('hex');
    const digests = Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, digest(run)]));
    console.log(JSON.stringify({ different: compare(), digests }));`;
  const env = { ...process.env, TORCHINDUCTOR_CACHE_DIR: cacheDir };
  const runner = join(folder, 'run.mjs');
  writeFileSync(runner, text);
  return JSON.parse(execFileSync(process.execPath, [runner], { env, encoding: 'utf8' })) as Outcome;
}

/** A folder with every source as `transform` writes it; gives the path of its main file. */
function written(name: string, extension: string, transform: (text: string) => string): string {
  mkdirSync(join(folder, name));
  for (const file of sources) {
    const target = file.replace(/ts$/, extension);
    const text = transform(readFileSync(join(examples, file), 'utf8'));
    writeFileSync(join(folder, name, target), text.replaceAll(/(["']\.\/[\w-]+)\.ts(["'])/g, `$1.${extension}$2`));
  }
  return join(folder, name, `main.${extension}`);
}

const withSwc =
  (options: Options) =>
  (text: string): string =>
    swc(text, { ...options, jsc: { parser: { syntax: 'typescript' }, target: 'es2022', ...options.jsc } }).code;

const withTsc =
  (module: ts.ModuleKind) =>
  (text: string): string =>
    ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022, module } }).outputText;

function bundled(name: string, format: 'esm' | 'cjs'): string {
  const outfile = join(folder, `${name}.${format === 'esm' ? 'mjs' : 'cjs'}`);
  const logOverride = { 'empty-import-meta': 'silent' } as const;
  const entryPoints = [join(examples, 'main.ts')];
  buildSync({
    entryPoints,
    outfile,
    format,
    logOverride,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    external: ['tsinductor'],
  });
  return outfile;
}

const minified: Options['jsc'] = { minify: { compress: true, mangle: true } };

const forms: Readonly<Record<string, () => string>> = {
  'tsc to ESM': () => written('tsc-esm', 'mjs', withTsc(ts.ModuleKind.ESNext)),
  'swc to ESM': () => written('swc-esm', 'mjs', withSwc({ module: { type: 'es6' } })),
  'swc to CommonJS': () => written('swc-cjs', 'cjs', withSwc({ module: { type: 'commonjs' } })),
  'swc to CommonJS, minified': () =>
    written('swc-min', 'cjs', withSwc({ module: { type: 'commonjs' }, jsc: minified, minify: true })),
  'esbuild, one minified ESM file': () => bundled('esbuild-esm', 'esm'),
  'esbuild, one minified CommonJS file': () => bundled('esbuild-cjs', 'cjs'),
};

describe('every example gives the same bits on every executor after', () => {
  const outcomes = new Map<string, Outcome>();
  test.each(Object.entries(forms))('%s', (name, form) => {
    const outcome = outcomeOf(form());
    outcomes.set(name, outcome);
    expect(outcome.different).toEqual([]);
    expect(Object.keys(outcome.digests)).toHaveLength(sources.length - 1);
    expect(outcome).toEqual(at([...outcomes.values()], 0));
  });
});
