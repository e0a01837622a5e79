// A program as a script for debuggers: for each line of the kernel's source a function that does nothing, whose parameters are
// the kernel's variables, and a source map that says that the function is that line. In: Block IR with origins. Out: text, and
// at which nodes execution comes to a line. A breakpoint on a line of the kernel is one in its function, and whoever calls the
// functions in the order of execution stops there, with the variables in sight. Functions that combine elements have no lines:
// they run once for each element.
//
// The map has the form of ECMA-426 (source map revision 3): segments of base-64 numbers, each relative to the one before.
import { pathToFileURL } from 'node:url';
import { at, isIdentifier } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { tileRegions } from '@tsinductor/ir';
import type { BlockProgram, Region, TileNode } from '@tsinductor/ir';

export interface LineScript {
  /** An expression: the list of the functions. */
  readonly text: string;
  /** The function of the line that execution comes to with a node. */
  readonly places: ReadonlyMap<TileNode, number>;
}

const lineKey = ({ file, line }: SourceLocation): string => `${file}:${String(line)}`;

/** The nodes of a region and those within, in runs of one line. */
function* linesOf({ nodes }: Region): Generator<readonly TileNode[]> {
  let run: TileNode[] = [];
  for (const node of nodes) {
    const [first] = run;
    if (first !== undefined && lineKey(first.origin) !== lineKey(node.origin)) {
      yield run;
      run = [];
    }
    run.push(node);
    if (node.kind !== 'reduce' && node.kind !== 'scan')
      for (const { region } of tileRegions(node)) yield* linesOf(region);
  }
  if (run.length > 0) yield run;
}

/** Names that a parameter of a function cannot have. */
const reserved: readonly string[] =
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private program protected public return static super switch this throw true try typeof var void while with yield'.split(
    ' ',
  );

export function lineScript(program: BlockProgram): LineScript {
  const lines = new Map<string, SourceLocation>();
  const names = new Set<string>();
  const starts = new Map<TileNode, string>();
  for (const run of linesOf(program.body)) {
    const first = at(run, 0);
    const key = lineKey(first.origin);
    starts.set(first, key);
    if (!lines.has(key)) lines.set(key, first.origin);
    for (const { name } of run.flatMap(({ results }) => results))
      if (name !== undefined && isIdentifier(name) && !reserved.includes(name)) names.add(name);
  }
  const parameters = `{ ${[...names].join(', ')} }, program`;
  const functions = [...lines.values()].map(() => `(${parameters}) => { void program; },`);
  const keys = [...lines.keys()];
  const map = JSON.stringify(sourceMap([...lines.values()], functions));
  const encoded = Buffer.from(map).toString('base64');
  return {
    text: `[\n${functions.join('\n')}\n]\n//# sourceMappingURL=data:application/json;base64,${encoded}`,
    places: new Map([...starts].map(([node, key]) => [node, keys.indexOf(key)])),
  };
}

const urlOf = (file: string): string => (file.startsWith('file:') ? file : pathToFileURL(file).href);

function sourceMap(origins: readonly SourceLocation[], functions: readonly string[]): object {
  const sources = [...new Set(origins.map(({ file }) => urlOf(file)))];
  let [source, line, column] = [0, 0, 0];
  const rows = origins.map((origin, index) => {
    const next = [sources.indexOf(urlOf(origin.file)), origin.line - 1, (origin.column ?? 1) - 1] as const;
    const moved = [next[0] - source, next[1] - line, next[2] - column];
    [source, line, column] = next;
    const body = (functions[index] ?? '').indexOf('void');
    return [body, ...moved].map(base64Number).join('');
  });
  // The list's opening bracket is a line of its own.
  return { version: 3, sources, names: [], mappings: `;${rows.join(';')}` };
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** A whole number in digits of 5 bits, the lowest first and its sign below them; all but the last have a sixth bit. */
function base64Number(value: number): string {
  let rest = value < 0 ? -value * 2 + 1 : value * 2;
  let text = '';
  do {
    const digit = rest % 32;
    rest = Math.floor(rest / 32);
    text += digits.charAt(rest > 0 ? digit + 32 : digit);
  } while (rest > 0);
  return text;
}
