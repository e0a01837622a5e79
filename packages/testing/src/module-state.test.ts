// What counts as state of a module, on small files.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { moduleState } from './module-state.ts';

const directory = mkdtempSync(join(tmpdir(), 'tsinductor-state-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The names that are state, of modules by file name. */
function stateOf(modules: Readonly<Record<string, string>>): readonly string[] {
  const paths = Object.entries(modules).map(([name, text]) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  });
  return moduleState(paths).map(({ name }) => name);
}

test.each([
  ['a variable', 'let x = 1; const f = () => { x = 2; };'],
  ['a member that is assigned', 'const x = { n: 1 }; const f = () => { x.n = 2; };'],
  ['a member that is made when first asked for', 'const x: { n?: number } = {}; const f = () => (x.n ??= 2);'],
  ['a count', 'const x = { n: 1 }; function f() { x.n++; }'],
  ['an array that grows', 'const x: number[] = []; function f() { x.push(1); }'],
  ['a list deep inside', 'const x = { a: [{ b: [1] }] }; const f = () => x.a[0].b.push(2);'],
  ['a deleted member', 'const x: { n?: number } = { n: 1 }; function f() { delete x.n; }'],
  ['what Object.assign writes to', 'const x = {}; function f() { Object.assign(x, { n: 1 }); }'],
  ['a typed array', 'const x = new Float64Array(1); const f = (v: number) => { x[0] = v; };'],
])('%s is state', (_what, text) => {
  expect(stateOf({ 'a.ts': text })).toEqual(['x']);
});

test.each([
  ['a table', 'const x = { n: 1 }; const f = () => x.n;'],
  ['what is filled while the module loads', 'const x: number[] = []; for (let i = 0; i < 3; i += 1) x.push(i);'],
  ['a local of the same name', 'const x = { n: 1 }; function f() { const x = { n: 2 }; x.n = 3; return x; }'],
  ['a parameter of the same name', 'const x = { n: 1 }; const f = ({ x }: { x: number[] }) => x.push(1);'],
])('%s is none', (_what, text) => {
  expect(stateOf({ 'a.ts': text })).toEqual([]);
});

test('who imports it may be who changes it', () => {
  const modules = {
    'a.ts': 'export const shared = { n: 1 };',
    'b.ts': "import { shared as own } from './a.ts'; export const f = () => { own.n = 2; };",
  };
  expect(stateOf(modules)).toEqual(['shared']);
});
