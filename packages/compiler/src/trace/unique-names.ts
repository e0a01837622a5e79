// Variables of a function under names that are theirs alone: in `(n) => n.map((n) => n + 1)`, as minifiers write it, there are two.
// In: a syntax tree, which nobody else has. Out: the same, in which every variable that the function declares is named for its scope.
// Variables from around the function keep their names.
import type { Identifier, Node } from 'acorn';
import { ancestor, base } from 'acorn-walk';
import type { AncestorVisitors } from 'acorn-walk';
import { declarationsOf } from './module-scopes.ts';

export function nameUniquely(root: Node): void {
  const declared = new Map<Node, ReadonlySet<string>>();
  const declares = (node: Node, name: string): boolean => {
    const names = declared.get(node) ?? declarationsOf(node);
    declared.set(node, names);
    return names.has(name);
  };
  const renamed = new Map<Identifier, string>();
  const note = (node: Identifier, _state: unknown, around: readonly Node[]): void => {
    const scope = around.findLast((outer) => outer !== node && declares(outer, node.name));
    if (scope !== undefined) renamed.set(node, `${node.name}@${String(scope.start)}`);
  };
  ancestor(root, { Identifier: note, VariablePattern: note } as AncestorVisitors<unknown>, base);
  for (const [node, name] of renamed) node.name = name;
}
