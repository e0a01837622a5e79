// The source of a kernel's body: a function's text as a syntax tree, with the user's file and line for every place in it.
// The boundary to acorn: what compilers and minifiers leave of a body is undone here (`(0, m.f)()`, `__name(f, 'f')`).
import { parseExpressionAt } from 'acorn';
import type { ArrowFunctionExpression, CallExpression, Expression, FunctionExpression, Node } from 'acorn';
import type { SourceLocation } from '@tsinductor/base';
import type { SourcePlace } from '../errors.ts';
import { noSource } from '../errors.ts';

export type FunctionNode = ArrowFunctionExpression | FunctionExpression;
/** Any function whose source is to be read; it is never called. */
export type AnyFunction = (...args: never[]) => unknown;

/** Where a function's text begins in the user's file. */
export interface SourceStart {
  readonly location: SourceLocation;
  /**
   * The file's lines, where the function is not in it word for word because a compiler took its types out: places are then
   * found by the text of their lines.
   */
  readonly lines?: readonly string[];
}

/** What compilers leave of a line: blanks and semicolons do not count. */
const essence = (line: string): string => line.replace(/[\s;]/g, '');

function findLine(
  text: string,
  { lines, from }: { readonly lines: readonly string[]; readonly from: number },
): { readonly line: number; readonly shift: number } | undefined {
  const wanted = essence(text);
  if (wanted.length < 3) return undefined;
  for (let row = from; row < Math.min(lines.length, from + 400); row++) {
    const line = lines[row] ?? '';
    if (essence(line) !== wanted) continue;
    const margin = (of: string): number => of.length - of.trimStart().length;
    return { line: row + 1, shift: margin(line) - margin(text) };
  }
  return undefined;
}

export class KernelSource {
  readonly text: string;
  readonly root: FunctionNode;
  readonly #start: SourceStart;

  constructor(text: string, root: FunctionNode, start: SourceStart) {
    this.text = text;
    this.root = root;
    this.#start = start;
  }

  /** The user's file, line and column of a character of the text. */
  locate(offset: number): SourceLocation {
    const before = this.text.slice(0, offset);
    const row = before.split('\n').length - 1;
    const column = offset - (before.lastIndexOf('\n') + 1) + 1;
    const { location, lines } = this.#start;
    const { file, line } = location;
    if (lines !== undefined) {
      const found = findLine(this.#lineAt(offset), { lines, from: line - 1 });
      if (found !== undefined) return { file, line: found.line, column: Math.max(1, column + found.shift) };
    }
    return { file, line: line + row, column: row === 0 ? column + (location.column ?? 1) - 1 : column };
  }

  #lineAt(offset: number): string {
    const start = this.text.lastIndexOf('\n', offset - 1) + 1;
    const end = this.text.indexOf('\n', offset);
    return this.text.slice(start, end === -1 ? undefined : end);
  }

  place({ start, end }: Pick<Node, 'start' | 'end'>): SourcePlace {
    const lineStart = this.text.lastIndexOf('\n', start - 1) + 1;
    const lineEnd = this.text.indexOf('\n', start);
    const text = this.text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd).trimEnd();
    const margin = text.length - text.trimStart().length;
    const window = Math.max(margin, start - lineStart - 100);
    const shown = text.slice(window, window + 160);
    return {
      location: this.locate(start),
      text: shown,
      from: start - lineStart - window,
      to: Math.min(end - lineStart - window, shown.length),
    };
  }
}

/**
 * Parses the text of `fn`, which starts at `start` in the user's file. Throws UserError KERNEL_SOURCE where there is no
 * source, or one that a coverage tool rewrote.
 */
export function parseKernel(fn: AnyFunction, start: SourceStart): KernelSource {
  const text = Function.prototype.toString.call(fn);
  if (/\{\s*\[native code\]\s*\}$/.test(text))
    throw noSource(
      'the body of a kernel has no source',
      'pass the function itself, not a bound or built-in one',
      start.location,
    );
  if (/\bcov_\w+\(\)\./.test(text) || text.includes('__coverage__'))
    throw noSource(
      'the body of a kernel was instrumented for coverage',
      'measure coverage with V8 (jest: coverageProvider "v8"), which leaves sources as they are',
      start.location,
    );
  const root = parseFunction(text);
  if (root === undefined)
    throw noSource(
      'the body of a kernel cannot be parsed',
      'write it as an arrow function or a function',
      start.location,
    );
  return new KernelSource(text, root, start);
}

function parseFunction(text: string): FunctionNode | undefined {
  try {
    const node = parseExpressionAt(text, 0, { ecmaVersion: 'latest' });
    if (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression') return node;
  } catch {
    // A method's text is no expression.
  }
  return undefined;
}

/** `(0, f)` is how compilers call an import without a receiver; a call may only give a function its name. */
export function unwrapped(node: Expression): Expression {
  const inner =
    node.type === 'SequenceExpression'
      ? detached(node.expressions)
      : node.type === 'ParenthesizedExpression'
        ? node.expression
        : node.type === 'CallExpression'
          ? namedFunction(node)
          : undefined;
  return inner === undefined ? node : unwrapped(inner);
}

const detached = ([first, last, ...more]: readonly Expression[]): Expression | undefined =>
  first?.type === 'Literal' && more.length === 0 ? last : undefined;

/** esbuild's `__name(f, 'f')`, whatever a minifier calls it: a function and its name as a text, which no kernel passes. */
function namedFunction({ callee, arguments: args }: CallExpression): Expression | undefined {
  const [first, second] = args;
  if (callee.type !== 'Identifier' || args.length !== 2 || second?.type !== 'Literal') return undefined;
  const isFunction = first?.type === 'ArrowFunctionExpression' || first?.type === 'FunctionExpression';
  return isFunction && typeof second.value === 'string' ? first : undefined;
}
