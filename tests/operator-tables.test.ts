// An operator is one entry of the operator table: what it reads, draws and writes, its names, bounds and gradient are said
// there. So no other source may keep a table whose rows are operators by name. Looked for are objects declared as records,
// and lists of texts, all of whose names are operators that are made of others; rows for the primitives, which each stage
// of the compiler knows, are its own business.
import { describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { operators, primitives } from '@tsinductor/graph';

const root = join(import.meta.dirname, '..');
const composites = new Set([...operators.keys()].filter((name) => !primitives.has(name)));

/** The names of a table's rows: the keys of a record, the texts of a list; undefined for anything else. */
function rowsOf(node: ts.Node): readonly string[] | undefined {
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1) {
    const texts = node.elements.filter(ts.isStringLiteral);
    return texts.length === node.elements.length ? texts.map(({ text }) => text) : undefined;
  }
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return undefined;
  if (!ts.isObjectLiteralExpression(node.initializer) || !/\bRecord<string,/.test(node.type?.getText() ?? ''))
    return undefined;
  return node.initializer.properties.map(({ name }) =>
    name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? name.text : '',
  );
}

/** Tables of operators in a source text, by the names of their rows. */
function operatorTables(text: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const rows = rowsOf(node) ?? [];
    if (rows.length > 0 && rows.every((name) => composites.has(name))) found.push(rows.join(' '));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('source.ts', text, ts.ScriptTarget.ES2022, true));
  return found;
}

function sourcesIn(directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sourcesIn(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

/** Where the tables themselves are. */
const tables = ['packages/ops/src/', 'packages/graph/src/operators/'];
const sources = readdirSync(join(root, 'packages'))
  .flatMap((name) => sourcesIn(join(root, 'packages', name, 'src')))
  .filter((path) => !tables.some((place) => relative(root, path).startsWith(place)));

describe('tables of operators', () => {
  test('are recognised', () => {
    expect(operatorTables('const rows: Readonly<Record<string, Row>> = { batchNorm: f, dropout: g };')).toHaveLength(1);
    expect(operatorTables("const names = ['batchNorm', 'instanceNorm'];")).toEqual(['batchNorm instanceNorm']);
    expect(operatorTables('const lowerings: Record<string, Lowering> = { gather, cat };')).toEqual([]);
    expect(operatorTables('const bounds = { min: 0, max: 1 };')).toEqual([]);
  });

  test('are nowhere but in the operator table', () => {
    expect(sources.length).toBeGreaterThan(200);
    const found = sources.flatMap((path) =>
      operatorTables(readFileSync(path, 'utf8')).map((rows) => `${relative(root, path)}: ${rows}`),
    );
    expect(found).toEqual([]);
  });
});
