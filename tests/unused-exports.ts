// For tests of the architecture: what modules export and nothing imports. In: all source files as texts, and the files that packages are
// entered by. Out: `file: name`. An entry file's names are used where another package, a test or a tool imports them, and those of the
// public package always.
import { join } from 'node:path';

/** A module's text, and where it is. */
export interface ModuleSource {
  readonly path: string;
  readonly text: string;
}

/** What a name stands for in the file that exports it: its own, or one of another file. */
type Exported = { readonly kind: 'own' } | { readonly kind: 'from'; readonly file: string; readonly name: string };

interface Module {
  readonly names: ReadonlyMap<string, Exported>;
  /** Files all of whose names it exports. */
  readonly stars: readonly string[];
}

interface Use {
  readonly file: string;
  /** A name, or all of them. */
  readonly name: string;
}

interface Sources {
  /** All that may import something, by paths from one folder. */
  readonly modules: readonly ModuleSource[];
  /** The file of a package's entry: `@tsinductor/base` → path. */
  readonly entries: ReadonlyMap<string, string>;
  /** Files whose names are for users. */
  readonly isPublic: (path: string) => boolean;
  /** Names that no import shows the use of, as `file: name`. */
  readonly kept: readonly string[];
}

export function unusedExports(sources: Sources): readonly string[] {
  const modules = new Map(sources.modules.map((source) => [source.path, readModule(source, sources.entries)]));
  const used = new Set<string>();
  const mark = ({ file, name }: Use): void => {
    const found = modules.get(file);
    if (found === undefined) return;
    if (name === '*') {
      for (const own of found.names.keys()) mark({ file, name: own });
      for (const star of found.stars) mark({ file: star, name });
      return;
    }
    const exported = found.names.get(name);
    if (exported === undefined) for (const star of found.stars) mark({ file: star, name });
    else if (!used.has(`${file}: ${name}`)) {
      used.add(`${file}: ${name}`);
      if (exported.kind === 'from') mark({ file: exported.file, name: exported.name });
    }
  };
  for (const source of sources.modules) for (const use of importsIn(source, sources.entries)) mark(use);
  for (const { path } of sources.modules) if (sources.isPublic(path)) mark({ file: path, name: '*' });
  for (const kept of sources.kept) mark(parseUse(kept));
  return [...modules].flatMap(([path, { names }]) =>
    [...names.keys()].map((name) => `${path}: ${name}`).filter((name) => !used.has(name)),
  );
}

function parseUse(written: string): Use {
  const [file = '', name = ''] = written.split(': ');
  return { file, name };
}

/** The file that a specifier in `path` names, if it is one of ours. */
function fileOf(specifier: string, path: string, entries: Sources['entries']): string | undefined {
  if (!specifier.startsWith('.')) return entries.get(specifier);
  return join(path, '..', specifier.replace(/(^|\/)dist\//, '$1src/').replace(/\.js$/, '.ts'));
}

const declaration =
  /^export (?:declare |abstract |async )*(?:const enum|const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const clause = /^(import|export) (?:type )?(\{[^}]*\}|\*(?: as \w+)?|\w+(?:, \{[^}]*\})?) from '([^']+)'/gm;
const bareList = /^export (?:type )?(\{[^}]*\});/gm;
const dynamic = /(const) (\{[^{}]*\}) = await import\(\s*'([^']+)'\s*\)/g;

/** The names in braces, each with what it is called outside. */
const listed = (braces: string): readonly { readonly name: string; readonly as: string }[] =>
  [...(/\{([^}]*)\}/.exec(braces)?.[1] ?? '').matchAll(/(?:type )?(\w+)(?:(?: as |: )(\w+))?\s*(?:,|$)/g)].map(
    ([, name = '', as = name]) => ({ name, as }),
  );

interface Clause {
  readonly word: string;
  /** Names in braces, or `*`, or `* as name`. */
  readonly what: string;
  readonly file: string;
}

/** What a file takes of other files of ours. */
const clausesOf = ({ path, text }: ModuleSource, entries: Sources['entries']): readonly Clause[] =>
  [...text.matchAll(clause), ...text.matchAll(dynamic)].flatMap(([, word = '', what = '', specifier = '']) => {
    const file = fileOf(specifier, path, entries);
    return file === undefined ? [] : [{ word, what, file }];
  });

function readModule(source: ModuleSource, entries: Sources['entries']): Module {
  const declared = [...source.text.matchAll(declaration)].map(([, name = '']) => name);
  const bare = [...source.text.matchAll(bareList)].flatMap(([, braces = '']) => listed(braces).map(({ as }) => as));
  const passedOn = clausesOf(source, entries).filter(({ word }) => word === 'export');
  return {
    names: new Map<string, Exported>([
      ...[...declared, ...bare].map((name) => [name, { kind: 'own' }] as const),
      ...passedOn.flatMap(({ what, file }) =>
        namesIn(what).map(({ name, as }) => [as, { kind: 'from', file, name }] as const),
      ),
    ]),
    stars: passedOn.filter(({ what }) => what === '*').map(({ file }) => file),
  };
}

function namesIn(what: string): readonly { readonly name: string; readonly as: string }[] {
  const space = /^\* as (\w+)$/.exec(what)?.[1];
  return space === undefined ? listed(what) : [{ name: '*', as: space }];
}

/** What a file imports, and does not only pass on. */
const importsIn = (source: ModuleSource, entries: Sources['entries']): readonly Use[] =>
  clausesOf(source, entries)
    .filter(({ word }) => word !== 'export')
    .flatMap(({ what, file }) => namesIn(what).map(({ name }) => ({ file, name })));
