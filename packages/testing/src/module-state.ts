// State that a module keeps between calls. In: source files. Out: every name at module level whose value some code of the
// files changes: `let`, an object or array that is assigned into or mutated in place, here or by who imports it.
//
// A name is followed as far as syntax goes: `state.x = 1`, `state.list.push(1)`, `state.count++`, `delete state[key]`,
// `Object.assign(state, ...)`, through imports of relative paths. Not followed: a reference that is passed on.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

interface StateFound {
  /** The file that declares it, as given. */
  readonly path: string;
  readonly name: string;
  /** Where it is changed: `file:line`. */
  readonly changedAt: readonly string[];
}

interface Module {
  readonly path: string;
  readonly source: ts.SourceFile;
  /** Names at module level that may hold state, as `let` or not. */
  readonly declared: ReadonlySet<string>;
  /** Local name → the file and name that it is imported from. */
  readonly imported: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
}

const mutators = new Set(
  'push pop shift unshift splice sort reverse fill copyWithin set add delete clear'.split(' '),
) as ReadonlySet<string>;

/** All state that the modules at `paths` keep. */
export function moduleState(paths: readonly string[]): readonly StateFound[] {
  const modules = paths.map(readModule);
  const declared = new Map(modules.map(({ path, declared: names }) => [path, names]));
  const changes = new Map<string, string[]>();
  for (const module of modules) {
    for (const { name, line } of changesIn(module)) {
      const target = module.declared.has(name) ? { path: module.path, name } : module.imported.get(name);
      if (target === undefined || declared.get(target.path)?.has(target.name) !== true) continue;
      const key = `${target.path}\n${target.name}`;
      changes.set(key, [...(changes.get(key) ?? []), `${module.path}:${String(line)}`]);
    }
  }
  return [...changes].map(([key, changedAt]) => {
    const [path = '', name = ''] = key.split('\n');
    return { path, name, changedAt };
  });
}

function readModule(path: string): Module {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true);
  const declared = source.statements
    .filter(ts.isVariableStatement)
    .flatMap((statement) => statement.declarationList.declarations.map(({ name }) => name.getText(source)));
  const imported = new Map(
    source.statements.filter(ts.isImportDeclaration).flatMap((statement) => importsOf(statement, path)),
  );
  return { path, source, declared: new Set(declared), imported };
}

type Imported = readonly [string, { readonly path: string; readonly name: string }];

function importsOf({ moduleSpecifier, importClause }: ts.ImportDeclaration, path: string): readonly Imported[] {
  const from = (moduleSpecifier as ts.StringLiteral).text;
  const bindings = importClause?.namedBindings;
  if (!from.startsWith('.') || bindings === undefined || !ts.isNamedImports(bindings)) return [];
  return bindings.elements.map(({ name, propertyName }) => [
    name.text,
    { path: join(dirname(path), from), name: (propertyName ?? name).text },
  ]);
}

/** The names whose values the module's code changes, outside of what runs once when it is loaded. */
function changesIn({ source }: Module): readonly { readonly name: string; readonly line: number }[] {
  const found: { name: string; line: number }[] = [];
  const visit = (node: ts.Node): void => {
    for (const target of changedBy(node)) {
      const root = rootOf(target);
      if (root === undefined || isLocal(root) || runsAtLoad(node)) continue;
      found.push({ name: root.text, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The expressions whose value, or a part of it, `node` replaces. */
function changedBy(node: ts.Node): readonly ts.Expression[] {
  if (ts.isBinaryExpression(node)) return isAssignment(node.operatorToken.kind) ? [node.left] : [];
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const { operator } = node;
    return operator === ts.SyntaxKind.PlusPlusToken || operator === ts.SyntaxKind.MinusMinusToken ? [node.operand] : [];
  }
  if (ts.isDeleteExpression(node)) return [node.expression];
  return ts.isCallExpression(node) ? changedByCall(node) : [];
}

function changedByCall({ expression, arguments: given }: ts.CallExpression): readonly ts.Expression[] {
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const name = expression.name.text;
  const isObject = expression.expression.getText() === 'Object';
  if (isObject && ['assign', 'defineProperty', 'setPrototypeOf'].includes(name)) return given.slice(0, 1);
  return mutators.has(name) ? [expression.expression] : [];
}

const isAssignment = (kind: ts.SyntaxKind): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;

/** `state` of `state.list[0].count`; undefined where that is no name. */
function rootOf(node: ts.Expression): ts.Identifier | undefined {
  if (ts.isIdentifier(node)) return node;
  const isPath =
    ts.isPropertyAccessExpression(node) ||
    ts.isElementAccessExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isNonNullExpression(node);
  return isPath ? rootOf(node.expression) : undefined;
}

/** Whether a name is declared by a function or block around it, and so is not the module's. */
function isLocal(name: ts.Identifier): boolean {
  for (let at: ts.Node = name.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isFunctionLike(at) && at.parameters.some(({ name: own }) => bindsName(own, name.text))) return true;
    if (ts.isBlock(at) || ts.isCaseClause(at) || ts.isForOfStatement(at) || ts.isForStatement(at)) {
      if (declarationsOf(at).some(({ name: own }) => bindsName(own, name.text))) return true;
    }
  }
  return false;
}

function declarationsOf(
  at: ts.Block | ts.CaseClause | ts.ForOfStatement | ts.ForStatement,
): readonly ts.VariableDeclaration[] {
  if (ts.isForOfStatement(at) || ts.isForStatement(at)) {
    const { initializer } = at;
    return initializer !== undefined && ts.isVariableDeclarationList(initializer) ? initializer.declarations : [];
  }
  return at.statements.filter(ts.isVariableStatement).flatMap((statement) => statement.declarationList.declarations);
}

const bindsName = (binding: ts.BindingName, name: string): boolean =>
  ts.isIdentifier(binding)
    ? binding.text === name
    : binding.elements.some((element) => ts.isBindingElement(element) && bindsName(element.name, name));

/** Whether no function stands around `node`: then it is part of making the value. */
function runsAtLoad(node: ts.Node): boolean {
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) if (ts.isFunctionLike(at)) return false;
  return true;
}
