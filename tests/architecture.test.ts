// The architecture as a test: what docs/architecture.md says about layers, sizes and state, checked against every source
// file. Failures name file and line. Exceptions are the named lists at the top, each with its reason.
import { describe, expect, test } from '@jest/globals';
import { settingNames, settings } from '@tsinductor/config';
import { moduleState } from '@tsinductor/testing/module-state';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { exportedNames, importCircles } from './module-graph.ts';

const root = join(import.meta.dirname, '..');

// Imports go down only: a package imports packages of lower layers, and never one beside it.
const layers: readonly (readonly string[])[] = [
  ['base'],
  ['ops', 'config'],
  ['ir'],
  ['graph', 'dsl', 'runtime'],
  ['lowering', 'codegen', 'codegen-js'],
  ['scheduler', 'codegen-cpp', 'codegen-cuda', 'cache'],
  ['tensor'],
  ['compiler'],
  ['data', 'nn', 'optim'],
  ['cli', 'tsinductor'],
];
// Stand beside the layers: only tests import them.
const beside: readonly string[] = ['testing'];

/** State that modules keep between calls, and why each may: `file: name` → reason. */
const stateExceptions: Readonly<Record<string, string>> = {
  'packages/tsinductor/src/loading/loader.ts: loaded': 'which of our texts have run, as Node keeps it of modules',
  'packages/tsinductor/src/loading/loader.ts: unkept': 'texts whose code is kept when the process ends',
  'packages/compiler/src/default-compiler.ts: defaultCompiler': 'the default compiler, made at the first compiled call',
  'packages/compiler/src/trace/inspected.ts: scriptTexts': 'texts of scripts, which belong to the process; bounded',
  'packages/tensor/src/process-state.ts: processState': 'recorder slot, default random generator, memory, open scopes',
  'packages/ir/src/arithmetic/range.ts: known':
    'bounds by expression, which decides them and never changes; held weakly',
  'packages/ops/src/convert.ts: word': 'scratch for reading bits, written and read within one call',
  'packages/ops/src/convert.ts: bitsOfWord': 'the same bytes as integers',
  'packages/ops/src/convert.ts: half': 'scratch for reading bits, written and read within one call',
  'packages/ops/src/float-bits.ts: halves': 'scratch for reading bits, written and read within one call',
  'packages/ops/src/float-bits.ts: word': 'scratch for reading bits, written and read within one call',
  'packages/ops/src/fused.ts: word': 'scratch for reading bits, written and read within one call',
  'packages/ops/src/fused.ts: halves': 'scratch for reading bits, written and read within one call',
};

/** Written by a program from the tables, and compared with it by a test: their size says nothing. */
const isGenerated = ({ path }: SourceFile): boolean => path.includes('/generated/');

/** Files over 400 lines: `file` → why. Generated ones are not counted: types have a line for each way to call an operator. */
const longFiles: Readonly<Record<string, string>> = {};

/**
 * Who may say `process.env`: the one reader, the loader, which runs before there are settings, and a program text that sets a variable of
 * the process it starts.
 */
const environmentFiles = [
  'packages/config/src/resolve.ts',
  'packages/tsinductor/src/loading/loader.ts',
  'packages/cli/src/commands/run.ts',
];

/** Names that several files of a package export, and why: `package: name` → reason. */
const alikeExceptions: Readonly<Record<string, string>> = {
  'dsl: cdiv': 'a function of the host, and the entry of the kernel language that is called as it is',
  'dsl: nextPowerOf2': 'a function of the host, and the entry of the kernel language that is called as it is',
  'tensor: trace': "PyTorch's sum of a diagonal, and under the subpath internal what traces a function",
};

/** Folders and files of which some import each other by value, and why: `path` → reason. */
const circleExceptions: Readonly<Record<string, string>> = {
  'packages/dsl/src/lower/': 'expressions call functions, whose bodies are statements, which have expressions',
  'packages/ops/src/pointwise/':
    'definitions and gradients of ops name other ops, which are looked up when all are there',
  'packages/tensor/src/': 'operators run eagerly on tensors, which are made, moved and written to by operators',
};

const forbiddenFileNames = /^(utils?|helpers?|common|misc|types)\.ts$/;
const maximumLines = 400;

interface SourceFile {
  readonly path: string;
  readonly owner: string;
  readonly isTest: boolean;
  readonly lines: readonly string[];
}

const packageNames = readdirSync(join(root, 'packages')).filter((name) =>
  existsSync(join(root, 'packages', name, 'package.json')),
);
const sources: readonly SourceFile[] = packageNames.flatMap((owner) =>
  listFiles(join(root, 'packages', owner, 'src')).map((file) => ({
    path: relative(root, file),
    owner,
    isTest: /\.(test|bench)\.m?ts$|\/test-support\//.test(file),
    lines: readFileSync(file, 'utf8').split('\n'),
  })),
);
/** Tests over several packages, benchmarks and examples. */
const others: readonly SourceFile[] = ['tests', 'benchmarks/src', 'examples'].flatMap((owner) =>
  listFiles(join(root, owner))
    .filter((file) => !/\/(dist|node_modules)\//.test(file))
    .map((file) => ({
      path: relative(root, file),
      owner,
      isTest: true,
      lines: readFileSync(file, 'utf8').split('\n'),
    })),
);
const shipped = sources.filter(({ isTest, owner }) => !isTest && !beside.includes(owner));

function listFiles(directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return listFiles(path);
    return /\.m?ts$/.test(entry.name) ? [path] : [];
  });
}

interface Import {
  readonly from: string;
  readonly where: string;
}

/** The specifiers that a file imports or re-exports, with their places. */
function importsOf({ path, lines }: SourceFile): readonly Import[] {
  return lines.flatMap((line, index) => {
    const found = /^(?:import|export|\}).*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/.exec(line);
    const from = found?.[1] ?? found?.[2] ?? found?.[3];
    return from === undefined ? [] : [{ from, where: `${path}:${String(index + 1)}` }];
  });
}

const layerOf = (name: string): number => layers.findIndex((layer) => layer.includes(name));

/** Whether `from` may import `to` (both package names). */
function mayImport(from: string, to: string): boolean {
  return layerOf(to) >= 0 && layerOf(to) < layerOf(from);
}

const workspaceName = (specifier: string): string | undefined =>
  /^@tsinductor\/([^/]+)/.exec(specifier)?.[1] ?? (/^tsinductor(\/|$)/.test(specifier) ? 'tsinductor' : undefined);

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
}
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as Manifest;

describe('layers', () => {
  test('every package has exactly one place', () => {
    const placed = [...layers.flat(), ...beside].sort();
    expect(placed).toEqual([...packageNames].sort());
  });

  test('every import between packages goes down', () => {
    const upward = shipped.flatMap((file) =>
      importsOf(file).flatMap(({ from, where }) => {
        const to = workspaceName(from);
        return to === undefined || mayImport(file.owner, to) ? [] : [`${where} imports ${from}`];
      }),
    );
    expect(upward).toEqual([]);
  });

  test('every declared dependency goes down, and TypeScript references agree with it', () => {
    const wrong = packageNames
      .filter((name) => !beside.includes(name))
      .flatMap((name) => {
        const dependencies = Object.keys(manifestOf(name).dependencies ?? {}).flatMap((it) => workspaceName(it) ?? []);
        const upward = dependencies.filter((to) => !mayImport(name, to)).map((to) => `${name} depends on ${to}`);
        const config = readFileSync(join(root, 'packages', name, 'tsconfig.json'), 'utf8');
        const missing = dependencies.filter((to) => !config.includes(`"../${to}"`));
        return [...upward, ...missing.map((to) => `${name}/tsconfig.json does not reference ${to}`)];
      });
    expect(wrong).toEqual([]);
  });

  test('every import of another package is a declared dependency', () => {
    const undeclared = shipped.flatMap((file) => {
      const declared = Object.keys(manifestOf(file.owner).dependencies ?? {});
      return importsOf(file)
        .filter(({ from }) => !from.startsWith('.') && !from.startsWith('node:'))
        .map(({ from, where }) => ({
          where,
          name: from
            .split('/')
            .slice(0, from.startsWith('@') ? 2 : 1)
            .join('/'),
        }))
        .filter(({ name }) => !declared.includes(name))
        .map(({ where, name }) => `${where} imports ${name}`);
    });
    expect(undeclared).toEqual([]);
  });

  test('no import reaches into another package, and relative ones name their file', () => {
    const deep = sources.flatMap((file) =>
      importsOf(file)
        .filter(({ from }) => {
          if (from.startsWith('.')) return !/\.(m?ts|json)$/.test(from) || leaves(file, from);
          return /^@tsinductor\/[^/]+\//.test(from) && !isExported(from);
        })
        .map(({ from, where }) => `${where} imports ${from}`),
    );
    expect(deep).toEqual([]);
  });
});

/** Whether a path behind a package's name is one that the package exports. */
function isExported(specifier: string): boolean {
  const [, name = '', subpath = ''] = /^@tsinductor\/([^/]+)\/(.+)$/.exec(specifier) ?? [];
  return packageNames.includes(name) && Object.hasOwn(manifestOf(name).exports ?? {}, `./${subpath}`);
}

/** Whether a file is what `import '@tsinductor/name'`, or a path behind it, means. */
function isEntry({ path, owner }: SourceFile): boolean {
  const targets = Object.values(manifestOf(owner).exports ?? {}) as readonly { readonly types?: string }[];
  return targets.some(({ types }) => types?.replace(/^\.\/dist\/(.*)\.d\.ts$/, `packages/${owner}/src/$1.ts`) === path);
}

/** Whether a relative import leaves the package's own `src`. */
function leaves({ path, owner }: SourceFile, specifier: string): boolean {
  const target = join(path, '..', specifier);
  return !target.startsWith(join('packages', owner, 'src'));
}

describe('files', () => {
  test('no file is over the limit without a reason', () => {
    const long = [...sources, ...others]
      .filter(
        (file) => file.lines.length - 1 > maximumLines && longFiles[file.path] === undefined && !isGenerated(file),
      )
      .map(({ path, lines }) => `${path} has ${String(lines.length - 1)} lines`);
    expect(long).toEqual([]);
    const stale = Object.keys(longFiles).filter(
      (path) => ([...sources, ...others].find((file) => file.path === path)?.lines.length ?? 0) - 1 <= maximumLines,
    );
    expect(stale).toEqual([]);
  });

  test('names say what is inside', () => {
    const bad = sources.filter(({ path }) => {
      const name = path.split('/').at(-1) ?? '';
      return forbiddenFileNames.test(name) || !/^[a-z0-9-]+(\.(test|d))?\.m?ts$/.test(name);
    });
    expect(bad.map(({ path }) => path)).toEqual([]);
  });

  test('a file opens with a comment', () => {
    const silent = shipped.filter(
      ({ lines }) => !/^(\/\/|\/\*)/.test((lines[0]?.startsWith('#!') === true ? lines[1] : lines[0]) ?? ''),
    );
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test('the files that a package exports hold re-exports only, in under 60 lines', () => {
    const wrong = shipped
      .filter((file) => isEntry(file))
      .flatMap(({ path, lines }) => {
        const text = lines.map((line) => line.replace(/(^|\s)\/\/.*$/, '')).join('\n');
        const rest = text.replace(/export (type )?(\{[^}]*\}|\* (as \w+ )?)\s*(from '[^']+')?;/g, '').trim();
        const size = lines.length - 1 >= 60 ? [`${path} has ${String(lines.length - 1)} lines`] : [];
        return rest === '' ? size : [...size, `${path} also says: ${rest.slice(0, 80)}`];
      });
    expect(wrong).toEqual([]);
  });

  test('exported names are unique within a package', () => {
    const places = new Map<string, string[]>();
    for (const { path, owner, lines } of shipped) {
      for (const name of exportedNames(lines)) {
        const key = `${owner}: ${name}`;
        places.set(key, [...(places.get(key) ?? []), path]);
      }
    }
    const alike = [...places].filter(([, paths]) => paths.length > 1);
    const unnamed = alike.filter(([key]) => !Object.hasOwn(alikeExceptions, key));
    expect(unnamed.map(([key, paths]) => `${key} in ${paths.join(', ')}`)).toEqual([]);
    expect(Object.keys(alikeExceptions).filter((key) => (places.get(key)?.length ?? 0) < 2)).toEqual([]);
  });

  test('no file imports itself by way of others, but where recursion is what it is about', () => {
    const circles = importCircles(shipped);
    const isExcepted = (path: string): boolean => Object.keys(circleExceptions).some((start) => path.startsWith(start));
    expect(circles.filter((circle) => !circle.every(isExcepted))).toEqual([]);
    expect(
      Object.keys(circleExceptions).filter((start) => !circles.flat().some((path) => path.startsWith(start))),
    ).toEqual([]);
  });

  test('plans and memory traffic are data: no file of theirs imports what writes statements', () => {
    const planners = shipped.filter(({ path }) => /codegen-cpp\/src\/strategy\/(plan|traffic)\//.test(path));
    const wrong = planners.flatMap((file) =>
      importsOf(file).filter(({ from }) => /\/(write|contract|passes)\//.test(from) || from.includes('kernel-writer')),
    );
    expect(planners.length).toBeGreaterThan(20);
    expect(wrong).toEqual([]);
    const named = planners.filter(({ lines }) => lines.some((line) => /\bKernelWriter\b|\bNest\b/.test(line)));
    expect(named.map(({ path }) => path)).toEqual([]);
  });

  test('a suppressed rule gives its reason on the line', () => {
    const bare = sources.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        /eslint-disable|@ts-(expect-error|ignore|nocheck)/.test(line) &&
        !/ -- \S.{9,}|@ts-expect-error \S.{9,}/.test(line)
          ? [`${path}:${String(index + 1)}`]
          : [],
      ),
    );
    expect(bare).toEqual([]);
  });

  test('the formatter is told to leave tables of data as they are, and nothing else', () => {
    const wrong = [...sources, ...others].flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        line.endsWith('// prettier-ignore') && !isOfTable(line) ? [`${path}:${String(index + 1)}`] : [],
      ),
    );
    expect(wrong).toEqual([]);
  });

  test('no file puts work off without an issue', () => {
    const notes = sources.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (/\b(TODO|FIXME|XXX|HACK)\b/.test(line) ? [`${path}:${String(index + 1)}`] : [])),
    );
    expect(notes).toEqual([]);
  });
});

describe('state', () => {
  const collections = /^(?:export )?const (\w+)(?::[^=]*)? = new (?:Map|Set|WeakMap|WeakSet|WeakRef)\b/;
  const readOnly = /^(?:export )?const \w+: Readonly(Map|Set)</;

  /** `file: name` of everything that some code changes after it was made, and of collections that are not read-only. */
  const found = (): readonly string[] => {
    const changed = moduleState(shipped.map(({ path }) => join(root, path)));
    const byType = shipped.flatMap(({ path, lines }) =>
      lines
        .flatMap((line) => (readOnly.test(line) ? [] : (collections.exec(line)?.slice(1, 2) ?? [])))
        .map((name) => `${path}: ${name}`),
    );
    return [...new Set([...changed.map(({ path, name }) => `${relative(root, path)}: ${name}`), ...byType])];
  };

  test('no module holds state beyond the named exceptions', () => {
    const state = found();
    expect(state.filter((entry) => !Object.hasOwn(stateExceptions, entry))).toEqual([]);
    expect(Object.keys(stateExceptions).filter((entry) => !state.includes(entry))).toEqual([]);
  });

  test('only config reads the environment', () => {
    const reads = shipped
      .filter(({ path }) => !environmentFiles.includes(path))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, index) => (/^[^/*]*\bprocess\.env\b/.test(line) ? [`${path}:${String(index + 1)}`] : [])),
      );
    expect(reads).toEqual([]);
  });
});

/** Whether a line that the formatter leaves alone is a row of a table, its end, or a list or record that is given a name. */
const isOfTable = (line: string): boolean => /^\s*(?:[[\]{}]|(?:export )?const [^=]+= (?:new Set\()?[[{])/.test(line);

describe('documentation', () => {
  test('every setting says what it does', () => {
    const silent = settingNames.filter((name) => settings[name].doc.length < 20);
    expect(silent).toEqual([]);
  });

  test('docs/architecture.md draws the layers that are checked here', () => {
    const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
    const drawing = /## Layers[\s\S]*?```\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    const missing = [...layers.flat(), ...beside].filter((name) => !new RegExp(`\\b${name}\\b`).test(drawing));
    expect(missing).toEqual([]);
  });
});
