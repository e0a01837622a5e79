// Questions about expressions of a function's source.
import type { AnyNode, CallExpression, MemberExpression } from 'acorn';

export const isInlineFunction = (node: AnyNode): boolean =>
  node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression';

export const isShape = (node: AnyNode): boolean =>
  node.type === 'MemberExpression' &&
  !node.computed &&
  node.property.type === 'Identifier' &&
  node.property.name === 'shape';

export const isAbsence = (node: AnyNode): boolean =>
  (node.type === 'Literal' && node.value === null) || (node.type === 'Identifier' && node.name === 'undefined');

export const isText = (node: AnyNode): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

/** The key of a property that is written out. */
export function writtenKey({ computed, property }: MemberExpression): string | number | undefined {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined;
  return property.type === 'Literal' && (typeof property.value === 'string' || typeof property.value === 'number')
    ? property.value
    : undefined;
}

/** Everything that hangs on a node. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  const isNode = (value: unknown): value is AnyNode => typeof value === 'object' && value !== null && 'type' in value;
  const members: readonly unknown[] = Object.values(node);
  return members.flatMap((value) => (Array.isArray(value) ? (value as readonly unknown[]) : [value])).filter(isNode);
}

/**
 * The names of properties that a function's text writes to, of whatever objects; undefined among them: any. Elements by computed keys are
 * not among them.
 */
export function writtenProperties(node: AnyNode): ReadonlySet<string | undefined> {
  const written = new Set<string | undefined>();
  const targets = (pattern: AnyNode): void => {
    if (pattern.type === 'MemberExpression') {
      const key = writtenKey(pattern);
      if (key !== undefined) written.add(String(key));
    } else childrenOf(pattern).forEach(targets);
  };
  const visit = (each: AnyNode): void => {
    if (each.type === 'AssignmentExpression' || each.type === 'ForOfStatement' || each.type === 'ForInStatement')
      targets(each.left);
    if (each.type === 'CallExpression' && definesProperties(each)) written.add(undefined);
    childrenOf(each).forEach(visit);
  };
  visit(node);
  return written;
}

/** `Object.assign(…)` to an object that is not written in place, and its like. */
function definesProperties({ callee, arguments: [target] }: CallExpression): boolean {
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return false;
  const name = `${callee.object.name}.${String(writtenKey(callee))}`;
  return (
    /^(?:Object\.(?:assign|definePropert(?:y|ies))|Reflect\.(?:set|defineProperty))$/.test(name) &&
    target?.type !== 'ObjectExpression'
  );
}

/** The name of a variable. */
export const nameOf = (node: AnyNode): string | undefined => (node.type === 'Identifier' ? node.name : undefined);
