// Arithmetic of a function's source, done again for other numbers: what `1 - beta ** step` comes to, by the steps that JavaScript
// takes. In: an expression, and what its names stand for. Out: a number, or nothing where it is not arithmetic over these.
import type { AnyNode } from 'acorn';

export interface Names {
  /** A plain number at an access path. */
  numberAt(path: string): number | undefined;
  /** The size of an axis of the tensor at a path. */
  sizeAt(path: string, axis: number): number | undefined;
  pathOf(node: AnyNode): string | undefined;
  /** What a constant of the function is said to be. */
  constant(name: string): AnyNode | undefined;
  /** A number that the function closes over. */
  outer(name: string): number | undefined;
}

export function evaluate(node: AnyNode, names: Names): number | undefined {
  const path = names.pathOf(node);
  const known = path === undefined ? undefined : names.numberAt(path);
  if (known !== undefined) return known;
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'number' ? node.value : undefined;
    case 'Identifier': {
      const constant = names.constant(node.name);
      return constant === undefined ? names.outer(node.name) : evaluate(constant, names);
    }
    case 'ParenthesizedExpression':
      return evaluate(node.expression, names);
    case 'UnaryExpression': {
      const value = evaluate(node.argument, names);
      return value === undefined ? undefined : unary[node.operator]?.(value);
    }
    case 'BinaryExpression': {
      const [left, right] = [
        node.left.type === 'PrivateIdentifier' ? undefined : evaluate(node.left, names),
        evaluate(node.right, names),
      ];
      return left === undefined || right === undefined ? undefined : binary[node.operator]?.(left, right);
    }
    case 'CallExpression':
      return called(node, names);
    case 'MemberExpression':
      return size(node, names);
    // eslint-disable-next-line no-fallthrough -- what is left is no arithmetic
    default:
      return undefined;
  }
}

const unary: Readonly<Record<string, (value: number) => number>> = { '-': (value) => -value, '+': (value) => value };

const binary: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '**': (left, right) => left ** right,
  '|': (left, right) => left | right,
  '>>': (left, right) => left >> right,
  '<<': (left, right) => left << right,
};

function called(node: AnyNode & { readonly type: 'CallExpression' }, names: Names): number | undefined {
  const { callee, arguments: given } = node;
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier' || callee.object.name !== 'Math')
    return undefined;
  if (callee.property.type !== 'Identifier' || callee.property.name === 'random') return undefined;
  const values = given.map((argument) => (argument.type === 'SpreadElement' ? undefined : evaluate(argument, names)));
  const fn: unknown = (Math as unknown as Readonly<Record<string, unknown>>)[callee.property.name];
  if (typeof fn !== 'function' || !values.every((value) => value !== undefined)) return undefined;
  return (fn as (...values: readonly number[]) => number)(...values);
}

/** `x.shape[0]` of a tensor that was passed. */
function size(node: AnyNode & { readonly type: 'MemberExpression' }, names: Names): number | undefined {
  const { object, property, computed } = node;
  if (!computed || property.type !== 'Literal' || typeof property.value !== 'number') return undefined;
  if (object.type !== 'MemberExpression' || object.computed || object.property.type !== 'Identifier') return undefined;
  if (object.property.name !== 'shape' || object.object.type === 'Super') return undefined;
  const path = names.pathOf(object.object);
  return path === undefined ? undefined : names.sizeAt(path, property.value);
}
