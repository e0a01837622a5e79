// The text of a function, parsed. In: a function. Out: its syntax tree, or nothing where there is no text to be had (native and
// bound functions) or it cannot be read.
import { parseExpressionAt } from 'acorn';
import type { AnyNode, ArrowFunctionExpression, FunctionExpression, Options } from 'acorn';

export type FunctionNode = ArrowFunctionExpression | FunctionExpression;

export const sourceOf = (fn: object): string => Function.prototype.toString.call(fn);

/** Every name in a text, also those in comments and strings; a name that is written with escapes is not among them. */
export const namesIn = (source: string): ReadonlySet<string> =>
  new Set(source.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu));

/** A method without its class: what it calls through `super`, and private members, are declared elsewhere. */
const alone: Options = { ecmaVersion: 'latest', allowSuperOutsideMethod: true, checkPrivateFields: false };

/** A function's syntax tree, and where its text begins in that which was parsed. */
interface ParsedFunction {
  readonly node: FunctionNode;
  readonly begins: number;
}

export const parseFunction = (source: string): FunctionNode | undefined => parsedFunction(source)?.node;

export function parsedFunction(source: string): ParsedFunction | undefined {
  // A method's own text (`step(x) { ... }`, `get k() {}`) is an expression only inside an object literal.
  for (const [before, after] of [
    ['(', ')'],
    ['({', '})'],
  ] as const) {
    try {
      const text = `${before}${source}${after}`;
      const node = functionIn(parseExpressionAt(text, 0, alone));
      return node && { node, begins: before.length };
    } catch {
      continue;
    }
  }
  return undefined;
}

function functionIn(node: AnyNode): FunctionNode | undefined {
  if (node.type === 'ParenthesizedExpression') return functionIn(node.expression);
  if (node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression') return node;
  const [property] = node.type === 'ObjectExpression' ? node.properties : [];
  return property?.type === 'Property' && property.value.type === 'FunctionExpression' ? property.value : undefined;
}
