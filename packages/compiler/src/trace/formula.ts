// Arithmetic of a function's source, done again for other numbers: what `1 - beta ** step` comes to, by the steps that JavaScript
// takes. In: an expression, and what its names stand for. Out: a number, or nothing where it is not arithmetic over these.
import type { AnyNode, CallExpression } from 'acorn';

export interface Names {
  /** A plain number at an access path, or a size of a tensor that was passed: `arguments[0].shape[1]`. */
  numberAt(path: string): number | undefined;
  pathOf(node: AnyNode): string | undefined;
  /** The number that a property of an object of the closure is. */
  held(node: AnyNode): number | undefined;
  /** What a constant of the function is said to be. */
  constant(name: string): AnyNode | undefined;
  /** A number that the function closes over. */
  outer(name: string): number | undefined;
  /** What a call of the program's own function gives. */
  called(call: CallExpression): number | undefined;
}

export function evaluate(node: AnyNode, names: Names): number | undefined {
  const path = names.pathOf(node);
  const known = path === undefined ? names.held(node) : names.numberAt(path);
  if (known !== undefined) return known;
  const step = steps[node.type] as ((node: AnyNode, names: Names) => number | undefined) | undefined;
  return step?.(node, names);
}

type Steps = {
  readonly [T in AnyNode['type']]?: (node: Extract<AnyNode, { readonly type: T }>, names: Names) => number | undefined;
};

const steps: Steps = {
  Literal: ({ value }) => (typeof value === 'number' ? value : undefined),
  Identifier: ({ name }, names) => {
    const constant = names.constant(name);
    return constant === undefined ? names.outer(name) : evaluate(constant, names);
  },
  ParenthesizedExpression: ({ expression }, names) => evaluate(expression, names),
  UnaryExpression: ({ operator, argument }, names) => {
    const value = evaluate(argument, names);
    return value === undefined ? undefined : unary[operator]?.(value);
  },
  BinaryExpression: ({ operator, left, right }, names) => {
    const [one, other] = [
      left.type === 'PrivateIdentifier' ? undefined : evaluate(left, names),
      evaluate(right, names),
    ];
    return one === undefined || other === undefined ? undefined : binary[operator]?.(one, other);
  },
  ConditionalExpression: ({ test, consequent, alternate }, names) => {
    const taken = answer(test, names);
    return taken === undefined ? undefined : evaluate(taken === 0 ? alternate : consequent, names);
  },
  // What is known is there.
  LogicalExpression: ({ operator, left }, names) => (operator === '??' ? evaluate(left, names) : undefined),
  CallExpression: called,
};

/**
 * What a place of the source decides: whether a comparison or a condition holds, which of several numbers is the least, what comes of
 * rounding. Numbers for which it answers the same take the same way.
 */
export function answer(node: AnyNode, names: Names): number | undefined {
  if (node.type === 'BinaryExpression') return compared(node, names);
  const name = node.type === 'CallExpression' ? mathName(node) : undefined;
  if (node.type !== 'CallExpression' || name === undefined) return truth(evaluate(node, names));
  if (name !== 'min' && name !== 'max') return evaluate(node, names);
  const values = node.arguments.map((argument) =>
    argument.type === 'SpreadElement' ? undefined : evaluate(argument, names),
  );
  return values.every((value) => value !== undefined) ? values.indexOf(Math[name](...values)) : undefined;
}

function compared(node: AnyNode & { readonly type: 'BinaryExpression' }, names: Names): number | undefined {
  const { left, right, operator } = node;
  const compare = comparisons[operator];
  if (compare === undefined) return stepping.test(operator) ? evaluate(node, names) : truth(evaluate(node, names));
  const [one, other] = [left.type === 'PrivateIdentifier' ? undefined : evaluate(left, names), evaluate(right, names)];
  return one === undefined || other === undefined ? undefined : Number(compare(one, other));
}

/** Operators whose result stays the same for several numbers. */
export const stepping: RegExp = /^(?:%|\||&|\^|<<|>>|>>>)$/;

const truth = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Number(Boolean(value));

/** The function of Math that is called. */
function mathName({ callee }: AnyNode & { readonly type: 'CallExpression' }): string | undefined {
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier' || callee.object.name !== 'Math')
    return undefined;
  return callee.property.type === 'Identifier' ? callee.property.name : undefined;
}

const comparisons: Readonly<Record<string, (left: number, right: number) => boolean>> = {
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
  '==': (left, right) => left === right,
  '===': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '!==': (left, right) => left !== right,
};

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
  '&': (left, right) => left & right,
  '^': (left, right) => left ^ right,
  '>>>': (left, right) => left >>> right,
};

function called(node: AnyNode & { readonly type: 'CallExpression' }, names: Names): number | undefined {
  const { callee, arguments: given } = node;
  const ofTensor = sizeOf(node, names) ?? names.called(node);
  if (ofTensor !== undefined) return ofTensor;
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier' || callee.object.name !== 'Math')
    return undefined;
  if (callee.property.type !== 'Identifier' || callee.property.name === 'random') return undefined;
  const values = given.map((argument) => (argument.type === 'SpreadElement' ? undefined : evaluate(argument, names)));
  const fn: unknown = (Math as unknown as Readonly<Record<string, unknown>>)[callee.property.name];
  if (typeof fn !== 'function' || !values.every((value) => value !== undefined)) return undefined;
  return (fn as (...values: readonly number[]) => number)(...values);
}

/** `x.size(0)` of a tensor that was passed. */
function sizeOf(
  { callee, arguments: given }: AnyNode & { readonly type: 'CallExpression' },
  names: Names,
): number | undefined {
  const [axis] = given;
  if (callee.type !== 'MemberExpression' || callee.object.type === 'Super' || callee.property.type !== 'Identifier')
    return undefined;
  if (callee.property.name !== 'size' || axis?.type !== 'Literal') return undefined;
  const path = names.pathOf(callee.object);
  return path === undefined ? undefined : names.numberAt(`${path}.shape[${String(axis.value)}]`);
}
