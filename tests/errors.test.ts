// The codes of errors as a whole: one code is one thing, and docs/errors.md says of each what it means and what to do.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { allErrorSites, renderErrors } from '@tsinductor/testing/render-errors';

const root = join(import.meta.dirname, '..');
const sites = allErrorSites(root);
const codes = [...new Set(sites.map(({ code }) => code))];

/** Codes that several packages make, because the same mistake is met at several layers. */
const shared: Readonly<Record<string, string>> = {
  ARGUMENT_VALUE: 'operators, functions of tensors that are no operators, and values that a running program checks',
  DATA_DEPENDENT: 'operators whose result needs values, and reads of elements',
  DTYPE_MISMATCH: 'operands of operators, and the destination of a write',
  DTYPE_UNSUPPORTED: 'scalar ops, and operators on tensors',
  INDEX_OUT_OF_RANGE: 'known when a graph is built, found by the interpreter, found by native code',
  KERNEL_ASSERT: 'found by the interpreter and by compiled code, and told by the emulation of CUDA',
  KERNEL_NOT_COMPILED: 'what C++ has no form for, and what CUDA has none for',
  KERNEL_SCHEMA: 'the table of codes of kernel source, and schemas, which have no place in a source',
  KERNEL_SOURCE: 'the table of codes of kernel source, and functions whose source is not there',
  OPTION_UNKNOWN: 'options of compile(), and options of functions of tensors',
  OUT_OF_MEMORY: 'native memory, and memory of the JavaScript heap',
  SHAPE_MISMATCH: 'operands of operators, and the destination of a write',
  UNKNOWN_OPERATOR: 'calls in a graph, and calls by name',
};

describe('codes', () => {
  test('are words in capitals', () => {
    expect(codes.filter((code) => !/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(code))).toEqual([]);
    expect(codes.length).toBeGreaterThan(100);
  });

  test('say one thing each: made in one file, of one kind, unless named above', () => {
    const packagesOf = (code: string): number =>
      new Set(sites.filter((site) => site.code === code).map(({ where }) => where.split('/')[1])).size;
    const kindsOf = (code: string): number =>
      new Set(sites.filter((site) => site.code === code).map(({ kind }) => kind)).size;
    expect(codes.filter((code) => kindsOf(code) > 1)).toEqual([]);
    expect(codes.filter((code) => packagesOf(code) > 1 && !Object.hasOwn(shared, code))).toEqual([]);
    expect(Object.keys(shared).filter((code) => sites.filter((site) => site.code === code).length < 2)).toEqual([]);
  });

  test('do not say the same in another order', () => {
    const sorted = (code: string): string => code.split('_').sort().join(' ');
    expect(codes.filter((code) => codes.some((other) => other !== code && sorted(other) === sorted(code)))).toEqual([]);
  });

  test('that users can meet say on paper what is wrong and what to do', () => {
    const met = sites.filter(({ kind }) => kind !== 'InternalError');
    const silent = met.filter(
      ({ meaning, remedy }) => (meaning.match(/[a-z]{2,}/gi)?.length ?? 0) < 2 || remedy === '',
    );
    expect(silent.map(({ code, where }) => `${code} at ${where}`)).toEqual([]);
  });

  test('are in docs/errors.md, each under its package and with its kind (npm run docs:errors)', () => {
    const rowsOf = (page: string): readonly string[] =>
      page.split('\n').flatMap((line) => /^## .*|^\| `[A-Z_0-9]+` \| \w+/.exec(line)?.[0] ?? []);
    const page = readFileSync(join(root, 'docs', 'errors.md'), 'utf8');
    expect(rowsOf(page)).toEqual(rowsOf(renderErrors(root)));
  });
});
