// What a compiled function does to the variables around it, read off its source. In: the function. Out: each write to a
// variable that is not its own, with the line in the function. A trace runs once, so such a write would happen once; the
// compiler reports it and says what to do.
//
// Reads of closed-over variables cannot be judged here: whether `k` is a const is not in the function's own source.
import type { Identifier, Node, Pattern } from 'acorn';
import { ancestor, base } from 'acorn-walk';
import { parseFunction, sourceOf } from './function-source.ts';

interface OuterWrite {
  readonly name: string;
  /** Line within the function's source, from 1. */
  readonly line: number;
}

/** Writes to closed-over or global variables in `fn`. Sources that cannot be parsed (native, bound) give none. */
export function findOuterWrites(fn: object): readonly OuterWrite[] {
  const source = sourceOf(fn);
  const root = parseFunction(source);
  if (root === undefined) return [];
  const writes: OuterWrite[] = [];
  const note = (target: Pattern, ancestors: readonly Node[]): void => {
    for (const name of boundNames(target)) {
      if (ancestors.some((node) => declares(node, name))) continue;
      writes.push({ name, line: source.slice(0, target.start).split('\n').length });
    }
  };
  ancestor(
    root,
    {
      AssignmentExpression: (node, _state, ancestors) => {
        note(node.left, ancestors);
      },
      UpdateExpression: (node, _state, ancestors) => {
        if (node.argument.type === 'Identifier') note(node.argument, ancestors);
      },
    },
    base,
  );
  return writes;
}

/** The variables that a pattern assigns; members of objects are not variables. */
export function boundNames(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'MemberExpression':
      return [];
    case 'AssignmentPattern':
      return boundNames(pattern.left);
    case 'RestElement':
      return boundNames(pattern.argument);
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : boundNames(element)));
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        boundNames(property.type === 'RestElement' ? property.argument : property.value),
      );
  }
}

/** Whether `node` is a scope that declares `name`. */
function declares(node: Node, name: string): boolean {
  let found = false;
  const declared = (pattern: Pattern): void => {
    if (boundNames(pattern).includes(name)) found = true;
  };
  if (isFunctionNode(node)) {
    const { id, params } = node as unknown as { id?: Identifier | null; params: Pattern[] };
    if (id?.name === name) return true;
    params.forEach(declared);
  }
  if (isFunctionNode(node) || scopes.has(node.type)) {
    ancestor(
      node,
      {
        VariableDeclarator: (declarator) => {
          declared(declarator.id);
        },
        FunctionDeclaration: (declaration) => {
          if ((declaration as { id: Identifier | null }).id?.name === name) found = true;
        },
        ImportDeclaration: ({ specifiers }) => {
          if (specifiers.some(({ local }) => local.name === name)) found = true;
        },
        ClassDeclaration: (declaration) => {
          if ((declaration as { id: Identifier | null }).id?.name === name) found = true;
        },
        CatchClause: (clause) => {
          if (clause.param !== null && clause.param !== undefined) declared(clause.param);
        },
      },
      base,
    );
  }
  return found;
}

const scopes: ReadonlySet<string> = new Set([
  'Program',
  'BlockStatement',
  'ForStatement',
  'ForOfStatement',
  'ForInStatement',
  'CatchClause',
]);

export const isFunctionNode = (node: Node): boolean =>
  node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression' || node.type === 'FunctionDeclaration';
