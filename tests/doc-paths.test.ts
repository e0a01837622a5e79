// The documents name files that are there, and the architecture stays a story: what it says of sizes is checked here.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true }).map((name) => join('docs', String(name))),
]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** Files of the repository, as paths from its root, and the folders that they are in. */
function pathsIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return /^(dist|node_modules|\.git)$/.test(entry.name) ? [] : [path, ...pathsIn(path)];
  });
}
const paths: readonly string[] = ['packages', 'tests', 'docs', 'tools', 'benchmarks', 'examples'].flatMap((folder) => [
  folder,
  ...pathsIn(folder),
]);

/** Code in a line of text that reads as a path: with a folder of ours, or with the ending of a source file. */
const namedPaths = (text: string): readonly string[] =>
  [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([\w@./-]+)`/g)]
    .map(([, name = '']) => name.replace(/^\.\//, '').replace(/\/$/, ''))
    .filter((name) => /^[^.].*\.(ts|mts|mjs|cjs|h|cc|md|json|txt)$/.test(name) || /^[\w-]+\/[\w./-]+$/.test(name))
    .filter((name) => !made.has(name));

/** What reads as a path and is none of the repository: what programs write, and names of imports. */
const made: ReadonlySet<string> = new Set([
  '09-inline.txt',
  'puzzles.ts',
  'tsinductor/data',
  'tsinductor/dsl',
  'tsinductor/nn',
  'tsinductor/optim',
]);

const isThere = (name: string): boolean =>
  paths.some((path) => path === name || path.endsWith(`/${name}`) || path.endsWith(`/${name}.ts`));

describe('documents', () => {
  test('name files and folders that exist, by the end of their paths', () => {
    const named = documents.flatMap(({ path, text }) => namedPaths(text).map((name) => ({ path, name })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ name }) => !isThere(name)).map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
  });

  test('link to files that exist', () => {
    const broken = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].flatMap(([, target = '']) => {
        if (/^https?:/.test(target)) return [];
        return existsSync(join(root, path, '..', target)) ? [] : [`${path}: ${target}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  test('that tell of the architecture do so in less than 350 lines, and name every note', () => {
    const { text } = documents.find(({ path }) => path === join('docs', 'architecture.md')) ?? { text: '' };
    expect(text.split('\n').length - 1).toBeLessThan(350);
    const notes = documents.flatMap(({ path }) =>
      path.startsWith(join('docs', 'notes')) ? [relative('docs', path)] : [],
    );
    expect(notes.filter((note) => !text.includes(`](${note}`))).toEqual([]);
  });

  test('say how long the dialects are, to a tenth', () => {
    const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
    const [, cpp, cuda] =
      /`cpp-dialect\.ts` has about (\d+)\s+lines and\s+`cuda-dialect\.ts` about (\d+)/.exec(text) ?? [];
    const lengths = ['codegen-cpp/src/cpp-dialect.ts', 'codegen-cuda/src/cuda-dialect.ts'].map(
      (path) =>
        readFileSync(join(root, 'packages', path), 'utf8')
          .trimEnd()
          .split('\n').length,
    );
    const ratios = [cpp, cuda].map((said, position) => Number(said) / (lengths[position] ?? NaN));
    expect(ratios.filter((ratio) => !(ratio >= 0.9 && ratio <= 1.1))).toEqual([]);
  });
});
