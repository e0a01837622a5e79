// The text of a function, parsed. In: a function. Out: its syntax tree, or nothing where there is no text to be had (native and
// bound functions) or it cannot be read.
import { parseExpressionAt } from 'acorn';
import type { AnyNode, ArrowFunctionExpression, FunctionExpression } from 'acorn';

export type FunctionNode = ArrowFunctionExpression | FunctionExpression;

export const sourceOf = (fn: object): string => Function.prototype.toString.call(fn);

export function parseFunction(source: string): FunctionNode | undefined {
  // A method's own text (`step(x) { ... }`, `get k() {}`) is an expression only inside an object literal.
  for (const candidate of [`(${source})`, `({${source}})`]) {
    try {
      return functionIn(parseExpressionAt(candidate, 0, { ecmaVersion: 'latest', allowSuperOutsideMethod: true }));
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
