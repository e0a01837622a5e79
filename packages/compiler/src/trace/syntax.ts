// Questions about expressions of a function's source.
import type { AnyNode, MemberExpression } from 'acorn';

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

/** The name of a variable. */
export const nameOf = (node: AnyNode): string | undefined => (node.type === 'Identifier' ? node.name : undefined);
