// The variables that a piece of source assigns and does not itself declare: what a loop carries and a branch merges.
import type { AnyNode, AssignmentExpression, Node, UpdateExpression, VariableDeclaration } from 'acorn';

/** The names, in the order of their first assignment. Functions inside are not entered: they cannot assign outer names. */
export function assignedNames(nodes: readonly Node[]): readonly string[] {
  const assigned = new Set<string>();
  for (const node of nodes) visit(node as AnyNode, assigned, new Set());
  return [...assigned];
}

function visit(node: AnyNode, assigned: Set<string>, declared: ReadonlySet<string>): void {
  if (node.type.includes('Function')) return;
  if (node.type === 'AssignmentExpression' || node.type === 'UpdateExpression')
    for (const name of targets(node)) if (!declared.has(name)) assigned.add(name);
  const inner = new Set([...declared, ...declaredIn(node)]);
  for (const child of childNodes(node)) visit(child, assigned, inner);
}

function targets(node: AssignmentExpression | UpdateExpression): readonly string[] {
  const target = node.type === 'AssignmentExpression' ? node.left : node.argument;
  if (target.type === 'Identifier') return [target.name];
  if (target.type === 'ArrayPattern')
    return target.elements.flatMap((element) => (element?.type === 'Identifier' ? [element.name] : []));
  return [];
}

/** The names that are declared for all of a node: those of its own statements, or of its head. */
function declaredIn(node: AnyNode): readonly string[] {
  const declarations: readonly AnyNode[] =
    node.type === 'BlockStatement'
      ? node.body
      : node.type === 'ForOfStatement'
        ? [node.left]
        : node.type === 'ForStatement' && node.init !== null && node.init !== undefined
          ? [node.init]
          : [];
  return declarations.flatMap((child) => (child.type === 'VariableDeclaration' ? declaredNames(child) : []));
}

const declaredNames = (declaration: VariableDeclaration): readonly string[] =>
  declaration.declarations.flatMap(({ id }) => {
    if (id.type === 'Identifier') return [id.name];
    if (id.type === 'ArrayPattern')
      return id.elements.flatMap((element) => (element?.type === 'Identifier' ? [element.name] : []));
    return [];
  });

/** The nodes directly below one, in the order of their keys. */
function childNodes(node: AnyNode): readonly AnyNode[] {
  const isNode = (value: unknown): value is AnyNode =>
    typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
  return Object.values(node).flatMap((member: unknown): AnyNode[] => {
    if (Array.isArray(member)) return member.filter(isNode);
    return isNode(member) ? [member] : [];
  });
}
