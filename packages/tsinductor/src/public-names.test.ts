// What `import { ... } from 'tsinductor'` gives, as a reviewed list: a name that appears or goes shows in the diff of
// public-names.txt, and is written there by hand. Types are read with the compiler's own eyes, from the sources.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { operators } from '@tsinductor/graph';
import type { Operator } from '@tsinductor/graph';
import * as internal from '@tsinductor/tensor/internal';
import ts from 'typescript';
import * as everything from './index.ts';

const reviewed = readFileSync(join(import.meta.dirname, 'public-names.txt'), 'utf8');
const section = (title: string): readonly string[] => {
  const text = new RegExp(`^${title}:\\n((?:  .*\\n)+)`, 'm').exec(reviewed)?.[1] ?? '';
  return text.split(/\s+/).filter((word) => word !== '');
};
const sorted = (names: Iterable<string>): string[] => [...names].sort();

/** Functions that are written from the table of operators; docs/ops.md lists them. */
const fromTheTable = new Set([...operators.values()].flatMap(topLevelNames));

/** The names of an operator as a function: its own, and PyTorch's further ones for it (`ger` for `outer`). */
function topLevelNames({ name, torch }: Operator): readonly string[] {
  const plain = torch.filter((full) => !full.includes('.'));
  return plain.length === 0 ? [] : [name, ...plain];
}

/** The names that the entry exports as types only, by the TypeScript compiler. */
function exportedTypes(): readonly string[] {
  const entry = join(import.meta.dirname, 'index.ts');
  const config = ts.readConfigFile(join(import.meta.dirname, '../../../tsconfig.lint.json'), (path) =>
    readFileSync(path, 'utf8'),
  );
  const base = join(import.meta.dirname, '../../..');
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, base);
  const program = ts.createProgram([entry], { ...options, noLib: true, types: [] });
  const source = program.getSourceFile(entry);
  const symbol = source === undefined ? undefined : program.getTypeChecker().getSymbolAtLocation(source);
  if (symbol === undefined) return [];
  return program
    .getTypeChecker()
    .getExportsOfModule(symbol)
    .map((it) => it.name)
    .filter((name) => !Object.hasOwn(everything, name));
}

describe('the public names', () => {
  test('of values are the reviewed ones, and those of operators', () => {
    const own = Object.keys(everything).filter((name) => !fromTheTable.has(name));
    expect(sorted(own)).toEqual(section('values'));
  });

  test('of types are the reviewed ones', () => {
    expect(sorted(exportedTypes())).toEqual(section('types'));
  });

  test('leave out what only the compiler needs', () => {
    const leaked = Object.keys(internal).filter((name) => {
      const value = (everything as Readonly<Record<string, unknown>>)[name];
      return value !== undefined && value === (internal as Readonly<Record<string, unknown>>)[name];
    });
    expect(leaked).toEqual([]);
  });
});
