// No package's files import each other in a circle, by value: whoever reads one can read what it rests on first. Imports of types
// alone do not count. Exceptions are the circles below, each with its reason; whatever else is circular fails, and so does an
// exception that is no circle any more.
import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const packages = join(import.meta.dirname, '..', 'packages');

interface Exception {
  /** Relative to the package's `src`. */
  readonly files: readonly string[];
  readonly reason: string;
}

const evaluators = 'statements contain expressions, which call functions, which are statements: natural recursion';
const executor = 'an operator that runs eagerly is made of operators: natural recursion through `dispatch`';

const exceptions: Readonly<Partial<Record<string, readonly Exception[]>>> = {
  codegen: [
    {
      files: ['decomposed-function.ts', 'print-value.ts'],
      reason: 'being taken apart',
    },
    {
      files: ['block/block-walk.ts', 'block/carried.ts', 'block/control.ts'],
      reason: 'being taken apart',
    },
  ],
  'codegen-cpp': [
    {
      files: [
        'strategy/columns-in-order.ts',
        'strategy/columns.ts',
        'strategy/reduce.ts',
        'strategy/region-plan.ts',
        'strategy/row-ahead.ts',
        'strategy/tile.ts',
        'strategy/tiles-ahead.ts',
        'strategy/unit-axes.ts',
        'strategy/windows-ahead.ts',
      ],
      reason: 'being taken apart',
    },
    { files: ['strategy/contract-epilogue.ts', 'strategy/contract-tile.ts'], reason: 'being taken apart' },
    { files: ['block/element-loop.ts', 'block/keep-tiles.ts'], reason: 'being taken apart' },
  ],
  dsl: [
    {
      files: ['lower/call-function.ts', 'lower/expression.ts', 'lower/loop.ts', 'lower/statement.ts'],
      reason: evaluators,
    },
  ],
  ops: [
    {
      files: ['pointwise/arithmetic.ts', 'pointwise/bitwise.ts', 'pointwise/comparison.ts', 'pointwise/rounding.ts'],
      reason:
        'the table is written in the language that it defines: gradients and decompositions of ops name other ops',
    },
  ],
  tensor: [
    {
      files: [
        'compaction.ts',
        'create.ts',
        'dispatch.ts',
        'eager/executor.ts',
        'perform.ts',
        'random-operators.ts',
        'random.ts',
        'transfer.ts',
        'write.ts',
      ],
      reason: executor,
    },
  ],
};

/** The statements of a file that import or re-export something of its package: the clause, and from where. */
const statements = /^(?:import|export)\s+(type\s+)?([^;'"]*?)\s*\bfrom\s+'(\.[^']+)';|^import\s+'(\.[^']+)'/gm;

/** `{ type A, type B }` brings nothing at run time. */
const isOfTypes = (clause: string): boolean => {
  const names = /^\{([^]*)\}$/.exec(clause)?.[1];
  if (names === undefined) return false;
  return names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
};

function importsOf(path: string): readonly string[] {
  return [...readFileSync(path, 'utf8').matchAll(statements)].flatMap(([, type, clause = '', from, alone]) => {
    const target = from ?? alone;
    return target === undefined || type !== undefined || isOfTypes(clause) ? [] : [join(path, '..', target)];
  });
}

/** The sets of files that reach each other (Tarjan), each sorted. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): readonly (readonly string[])[] {
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const number = numbers.size;
    numbers.set(file, number);
    open.push(file);
    let low = number;
    for (const next of graph.get(file) ?? []) {
      if (!graph.has(next)) continue;
      if (!numbers.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, lowest.get(next) ?? numbers.get(next) ?? low);
    }
    lowest.set(file, low);
    if (low === number) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle.sort());
    }
    return low;
  };
  for (const file of graph.keys()) if (!numbers.has(file)) visit(file);
  return circles;
}

function circlesIn(name: string): readonly string[] {
  const source = join(packages, name, 'src');
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.m?ts$/.test(file) && !file.endsWith('.test.ts'))
    .map((file) => join(source, file));
  const circles = circlesOf(new Map(files.map((file) => [file, importsOf(file)])));
  return circles.map((circle) => circle.map((file) => relative(source, file)).join(' ')).sort();
}

const names = readdirSync(packages).filter((name) => existsSync(join(packages, name, 'src')));

describe('imports by value go in no circle', () => {
  test.each(names)('in %s', (name) => {
    const allowed = (exceptions[name] ?? []).map(({ files }) => files.join(' ')).sort();
    expect(circlesIn(name)).toEqual(allowed);
  });

  test('a circle is found, through any number of files, and nothing that only leads to one', () => {
    const graph = new Map([
      ['a', ['b', 'd']],
      ['b', ['c']],
      ['c', ['a', 'elsewhere']],
      ['d', ['e']],
      ['e', []],
      ['f', ['a', 'f']],
    ]);
    expect(circlesOf(graph)).toEqual([['a', 'b', 'c']]);
  });
});
