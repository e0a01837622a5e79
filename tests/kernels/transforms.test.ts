// Kernels whose source a compiler went over: tsc, swc to CommonJS and to ESM, esbuild minified. Each result must lower to the
// same Block IR as the source itself. The module is evaluated with stand-ins for what it imports.
import { describe, expect, test } from '@jest/globals';
import { transformSync as swc } from '@swc/core';
import { constexpr, defineKernel, lowerKernel, ptr } from '@tsinductor/dsl';
import type { AnyFunction, ArgumentFacts, Schema } from '@tsinductor/dsl';
import { printBlockProgram } from '@tsinductor/ir';
import { transformSync as esbuild } from 'esbuild';
import ts from 'typescript';

// An imported `tl` and dtypes, ternaries and branches that minifiers rewrite, names that they shorten.
const source = `
import { kernel, f32, tl, cdiv } from 'tsinductor/dsl';
kernel('k', { x: 0 as number, out: 0 as number, n: 0, flag: 0, BLOCK: 0 }, ({ x, out, n, flag, BLOCK }: Record<string, number>, lang: any): void => {
  const offs: number = tl.programId(0) * BLOCK + lang.arange(0, BLOCK);
  const mask = offs < n;
  const square = (value: number): number => { const twice = value * value; return twice; };
  let sum = lang.zeros([BLOCK], f32);
  for (let i = 0; i < n; i += 2) {
    if (i > 4) { sum += square(lang.load(x + offs + i, mask, 0)); } else { sum -= 1; }
  }
  if (flag) lang.store(out + offs, sum, mask);
  else if (n > 3) lang.store(out, lang.sum(sum));
  const name = 'out';
  lang.staticAssert(true && BLOCK >= 4, name);
  lang.store(out + offs + cdiv(BLOCK, 2), mask && offs > 2 ? lang.exp(sum) : -Infinity, mask);
});`;

/** The same with everything taken from the second parameter: minifiers of ESM give imports names of their own. */
const selfContained = source
  .replace('tl.programId', 'lang.programId')
  .replace(', f32)', ', lang.f32)')
  .replace('cdiv(BLOCK', 'lang.cdiv(BLOCK');

const schema: Schema = { x: ptr('f32'), out: ptr('f32'), n: 'i32', flag: constexpr, BLOCK: constexpr };

/** Runs a script or module text; gives the body that it passes to kernel(). */
function bodyOf(text: string): AnyFunction {
  let body: unknown;
  const language = {
    kernel: (...args: readonly unknown[]) => void (body = args[2]),
    f32: 'f32',
    tl: {},
    cdiv: () => 0,
  };
  const script = text.replace(
    /import\s*\{([^}]*)\}\s*from\s*["']tsinductor\/dsl["'];?/,
    (_, names: string) => `const {${names.replaceAll(' as ', ': ')}} = language;`,
  );
  const load = (): unknown => language;
  // eslint-disable-next-line @typescript-eslint/no-implied-eval, @typescript-eslint/no-unsafe-call -- the text is this test's own
  new Function('language', 'require', 'exports', 'module', script)(language, load, {}, { exports: {} });
  return body as AnyFunction;
}

function blockIr(body: AnyFunction): string {
  const definition = defineKernel({ name: 'k', schema, body, locate: () => ({ location: { file: 'k.ts', line: 1 } }) });
  const fact = (dtype: 'f32' | 'i32'): ArgumentFacts => ({ dtype, divisor: 1 });
  const facts = { x: fact('f32'), out: fact('f32'), n: fact('i32') };
  const text = printBlockProgram(lowerKernel(definition, { arguments: facts, constants: { flag: 1, BLOCK: 8 } }));
  // Lines and users' names differ; what is computed does not.
  return text.replace(/ {2}# \d+/g, '').replace(/(%\d+)\.\w+/g, '$1');
}

const tsc = (): string =>
  ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } })
    .outputText;

describe('the same Block IR after', () => {
  const expected = blockIr(bodyOf(tsc()));
  test('tsc', () => {
    expect(expected).toContain('for');
    expect(expected).toContain('exp(');
  });

  const options = { jsc: { parser: { syntax: 'typescript' as const }, target: 'es2022' as const } };
  test.each<[string, () => string]>([
    [
      'tsc to CommonJS',
      () =>
        ts.transpileModule(source, {
          compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
        }).outputText,
    ],
    ['swc to ESM', () => swc(source, { ...options, module: { type: 'es6' } }).code],
    ['swc to CommonJS', () => swc(source, { ...options, module: { type: 'commonjs' } }).code],
    [
      'swc, minified',
      () =>
        swc(source, {
          jsc: { ...options.jsc, minify: { compress: true, mangle: true } },
          minify: true,
          module: { type: 'commonjs' },
        }).code,
    ],
    ['esbuild', () => esbuild(source, { loader: 'ts', format: 'cjs', keepNames: true }).code],
    ['esbuild, minified', () => esbuild(source, { loader: 'ts', format: 'cjs', minify: true }).code],
    [
      'esbuild, minified ESM with names kept',
      () => esbuild(selfContained, { loader: 'ts', format: 'esm', minify: true, keepNames: true }).code,
    ],
  ])('%s', (_, transform) => {
    expect(blockIr(bodyOf(transform()))).toBe(expected);
  });
});
