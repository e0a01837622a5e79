// What a package's files export, somebody imports: another file, a test, a tool, or the public package's users. Exceptions are the named
// list at the top, each with its reason.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { unusedExports } from './unused-exports.ts';

const root = join(import.meta.dirname, '..');

/** Names that no import shows the use of, and why they are exported: `file: name` → reason. */
const usedOtherwise: Readonly<Record<string, string>> = {
  'packages/tsinductor/src/loading/loader.ts: load': 'the entries call it, which the build writes',
  'packages/compiler/src/index.ts: buildFingerprint': 'a test reads the digest off the bundle',
  'packages/cli/src/memory-report.ts: reportAtExit': 'a program that the command runs is told to call it',
  'packages/cli/src/resolve-hook.ts: resolve': 'Node calls it, as a hook of its loader',
  'packages/data/src/index.ts: prepareBatch': 'a worker imports it, which makes batches',
  'packages/compiler/src/index.ts: buildGraph': 'a worker imports it when a graph comes whole',
  'packages/cli/src/build/diagnostic.ts: buildErrorCodes': 'docs/errors.md is written from its text',
  'packages/dsl/src/errors.ts: kernelErrorCodes': 'docs/errors.md is written from its text',
  'packages/codegen-cpp/src/index.ts: choiceTable':
    'what is chosen for a machine is data, for tools to read and measure',
  'packages/codegen-cpp/src/index.ts: Choices': 'the type of a row of these choices',
  'packages/codegen-cpp/src/index.ts: trafficRules': 'the rules of memory traffic, for tools to read and measure',
  'packages/codegen-cpp/src/index.ts: CacheSizes': 'the type of the caches of a target',
  'packages/codegen-cpp/src/index.ts: standardCaches': 'the caches of a target that names none',
  'packages/codegen-cpp/src/index.ts: mostLastLevel': 'how much of a last-level cache a target may count on',
};

/** TypeScript and modules of JavaScript, but what is built or installed. */
const scriptsIn = (directory: string): readonly string[] =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return /^(dist|node_modules)$/.test(entry.name) ? [] : scriptsIn(path);
    return /\.m?(ts|js)$/.test(entry.name) ? [path] : [];
  });

/** The names that a package is imported by, each with the file behind it. */
function entriesOf(owner: string): readonly (readonly [string, string])[] {
  const name = owner === 'tsinductor' ? owner : `@tsinductor/${owner}`;
  const folder = join('packages', owner, 'src');
  return readdirSync(join(root, folder)).flatMap((file) => {
    const entry = /^(.*)\.ts$/.exec(file)?.[1];
    if (entry === undefined) return [];
    return [[entry === 'index' ? name : `${name}/${entry}`, join(folder, file)] as const];
  });
}

const modules = ['tests', 'benchmarks', 'examples', 'tools', 'packages']
  .flatMap((folder) => scriptsIn(join(root, folder)))
  .map((file) => ({ path: relative(root, file), text: readFileSync(file, 'utf8') }));
const entries = new Map(readdirSync(join(root, 'packages')).flatMap(entriesOf));
const isPublic = (path: string): boolean => /^packages\/(tsinductor\/src\/[^/]+|cli\/src\/index)\.ts$/.test(path);

test('no package exports what nothing imports', () => {
  const unused = unusedExports({ modules, entries, isPublic, kept: Object.keys(usedOtherwise) });
  expect(unused.filter((name) => /^packages\/[^/]+\/src\//.test(name))).toEqual([]);
});

test('each exception is a name that some file exports', () => {
  const exported = unusedExports({ modules, entries: new Map(), isPublic: () => false, kept: [] });
  expect(Object.keys(usedOtherwise).filter((name) => !exported.includes(name))).toEqual([]);
});

test('a name that is only passed on is unused, and so is what it stands for; one import keeps both', () => {
  const files = [
    { path: 'a.ts', text: 'export const one: number = 1;\nexport interface Two {\n  readonly two: 2;\n}\n' },
    { path: 'index.ts', text: "export { one, type Two as Second } from './a.ts';\nexport * as all from './b.ts';\n" },
    { path: 'b.ts', text: 'export function three(): void {}\n' },
  ];
  const unusedIn = (text: string): readonly string[] =>
    unusedExports({
      modules: [...files, { path: 'user.ts', text }],
      entries: new Map([['lib', 'index.ts']]),
      isPublic: () => false,
      kept: [],
    });
  expect(unusedIn('')).toEqual([
    'a.ts: one',
    'a.ts: Two',
    'index.ts: one',
    'index.ts: Second',
    'index.ts: all',
    'b.ts: three',
  ]);
  expect(unusedIn("import { all, type Second } from 'lib';\n")).toEqual(['a.ts: one', 'index.ts: one']);
  expect(unusedIn("const { one, Second: other } = await import('./index.ts');\n")).toEqual([
    'index.ts: all',
    'b.ts: three',
  ]);
});
