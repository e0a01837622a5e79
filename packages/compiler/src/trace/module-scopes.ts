// Scopes of a module's source: which of them a name belongs to at a place. In: syntax trees with the nodes around. Out: the scope
// that declares a name, or nothing for a global.
import type { AnyNode, Node, Pattern } from 'acorn';
import { base, simple } from 'acorn-walk';
import { boundNames, isFunctionNode } from './closure.ts';

/** The innermost of the nodes around that declares `name`. */
export const scopeOf = (name: string, around: readonly Node[]): Node | undefined =>
  around.findLast((node) => declarationsOf(node).has(name));

/** Names that a node declares for what is in it. */
export function declarationsOf(of: Node): ReadonlySet<string> {
  const node = of as AnyNode;
  const patterns: readonly (Pattern | null | undefined)[] = 'params' in node ? node.params : [];
  const names = [...patterns, ...own(node)].flatMap((pattern) =>
    pattern === null || pattern === undefined ? [] : boundNames(pattern),
  );
  const body = 'params' in node ? node.body : node.type === 'Program' ? node : undefined;
  return new Set([...names, ...statementsOf(node).flatMap(declared), ...(body === undefined ? [] : hoisted(body))]);
}

/** A name that is its own, or that it catches. */
function own(node: AnyNode): readonly (Pattern | null | undefined)[] {
  if (node.type === 'CatchClause') return [node.param];
  return node.type === 'FunctionExpression' || node.type === 'ClassExpression' ? [node.id] : [];
}

function statementsOf(node: AnyNode): readonly (AnyNode | null | undefined)[] {
  if (node.type === 'Program' || node.type === 'BlockStatement' || node.type === 'StaticBlock') return node.body;
  if (node.type === 'ForStatement') return [node.init];
  if (node.type === 'ForOfStatement' || node.type === 'ForInStatement') return [node.left];
  return node.type === 'SwitchStatement' ? node.cases.flatMap(({ consequent }) => consequent) : [];
}

function declared(statement: AnyNode | null | undefined): readonly string[] {
  if (statement === null || statement === undefined) return [];
  if (statement.type === 'VariableDeclaration') return statement.declarations.flatMap(({ id }) => boundNames(id));
  if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration')
    return [statement.id?.name ?? ''];
  if (statement.type === 'ImportDeclaration') return statement.specifiers.map(({ local }) => local.name);
  if (statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration')
    return declared(statement.declaration);
  return [];
}

/** What `var` declares inside, functions apart. */
function hoisted(root: Node): readonly string[] {
  const names: string[] = [];
  simple(
    root,
    {
      VariableDeclaration: ({ kind, declarations }) => {
        if (kind === 'var') for (const { id } of declarations) names.push(...boundNames(id));
      },
    },
    { ...base, Function: (node, state, visit) => (node === root ? base.Function?.(node, state, visit) : undefined) },
  );
  return names;
}

/** The innermost function around an offset of the source. */
export function functionAt(root: Node, offset: number): Node | undefined {
  let found: Node | undefined;
  simple(
    root,
    {
      Function: (node) => {
        const isInside = node.start <= offset && offset < node.end;
        if (isInside && isFunctionNode(node) && (found === undefined || node.start >= found.start)) found = node;
      },
    },
    base,
  );
  return found;
}
