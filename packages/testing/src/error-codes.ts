// The codes of all errors, read from the sources: where each is made, of which kind it is, what it says and what it tells
// the user to do. In: source files. Out: rows for docs/errors.md and for the test that each code is one thing.
//
// An error is `new UserError(code, message, { hint })` (or another of the three classes) with the code as a literal, or an
// entry of a table whose name ends in `ErrorCodes`. Messages are templates: what they insert is shown as `…`, and where
// nothing else is left, the comment above the constructor is the description.
import { readFileSync } from 'node:fs';
import ts from 'typescript';

export interface ErrorSite {
  readonly code: string;
  readonly kind: string;
  /** What the error says: its message, or the comment of its constructor. */
  readonly meaning: string;
  readonly remedy: string;
  readonly where: string;
}

const kinds: readonly string[] = ['UserError', 'ToolchainError', 'InternalError'];

/** Every place of `path` that makes an error. `shown` is the path in the rows. */
export function errorSites(path: string, shown: string = path): readonly ErrorSite[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: ErrorSite[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node)) found.push(...siteOf(node, source, shown));
    if (ts.isVariableDeclaration(node)) found.push(...tableOf(node, source, shown));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function siteOf(node: ts.NewExpression, source: ts.SourceFile, shown: string): readonly ErrorSite[] {
  const kind = node.expression.getText(source);
  const [code, message, details] = node.arguments ?? [];
  if (!kinds.includes(kind) || code === undefined || !ts.isStringLiteral(code)) return [];
  const hint = memberOf(details, 'hint');
  const said = textOf(message) ?? '';
  // A message that is only inserted values says nothing on paper; then the constructor's comment does.
  const meaning = wordsOf(said) >= 3 ? said : (commentOf(node) ?? said);
  const advice = kind === 'InternalError' ? reportIt : 'see the message';
  const remedy = textOf(hint) ?? advice;
  return [{ code: code.text, kind, meaning, remedy, where: `${shown}:${lineOf(node, source)}` }];
}

const reportIt = 'this is a bug: please report it';
const wordsOf = (text: string): number => text.match(/[a-z]{2,}/gi)?.length ?? 0;

/** A table of codes and meanings: `const kernelErrorCodes = { KERNEL_NAME: 'an unknown name' }`. */
function tableOf(node: ts.VariableDeclaration, source: ts.SourceFile, shown: string): readonly ErrorSite[] {
  const table = node.initializer === undefined ? undefined : withoutAssertion(node.initializer);
  if (!node.name.getText(source).endsWith('ErrorCodes') || table === undefined || !ts.isObjectLiteralExpression(table))
    return [];
  return table.properties.filter(ts.isPropertyAssignment).map((property) => ({
    code: property.name.getText(source),
    kind: 'UserError',
    meaning: textOf(property.initializer) ?? '',
    remedy: 'the message shows the place and says what to write',
    where: `${shown}:${lineOf(property, source)}`,
  }));
}

const withoutAssertion = (node: ts.Expression): ts.Expression =>
  ts.isAsExpression(node) || ts.isSatisfiesExpression(node) ? withoutAssertion(node.expression) : node;

const lineOf = (node: ts.Node, source: ts.SourceFile): string =>
  String(source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1);

function memberOf(node: ts.Expression | undefined, name: string): ts.Expression | undefined {
  if (node === undefined) return undefined;
  if (ts.isConditionalExpression(node)) return memberOf(node.whenTrue, name) ?? memberOf(node.whenFalse, name);
  if (ts.isCallExpression(node)) return node.arguments.at(-1);
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  for (const property of node.properties) {
    if (property.name?.getText() !== name) continue;
    if (ts.isPropertyAssignment(property)) return property.initializer;
    if (ts.isShorthandPropertyAssignment(property)) return property.name;
  }
  return undefined;
}

/** The text that an expression stands for, with `…` for what is not known before it runs; undefined if that is all. */
function textOf(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…');
  }
  if (ts.isConditionalExpression(node)) {
    const both = [textOf(node.whenTrue), textOf(node.whenFalse)].filter((text) => text !== undefined);
    return both.length === 0 ? undefined : both.join(' / ');
  }
  if (ts.isParenthesizedExpression(node)) return textOf(node.expression);
  if (ts.isBinaryExpression(node)) {
    const both = [textOf(node.left), textOf(node.right)];
    return both.every((text) => text === undefined) ? undefined : both.map((text) => text ?? '…').join('');
  }
  return ts.isIdentifier(node) ? constantText(node) : undefined;
}

/** The text of a constant of the file, or the default of a parameter of the functions around. */
function constantText(name: ts.Identifier): string | undefined {
  for (let at: ts.Node = name.parent; !ts.isSourceFile(at); at = at.parent) {
    if (!ts.isArrowFunction(at) && !ts.isFunctionDeclaration(at)) continue;
    const parameter = at.parameters.find((it) => it.name.getText() === name.text);
    if (parameter !== undefined) return parameter.initializer === undefined ? undefined : textOf(parameter.initializer);
  }
  for (const statement of name.getSourceFile().statements.filter(ts.isVariableStatement)) {
    const found = statement.declarationList.declarations.find((it) => it.name.getText() === name.text);
    if (found?.initializer !== undefined) return textOf(found.initializer);
  }
  return undefined;
}

/** The documentation comment of the constructor function that `node` stands in, on one line. */
function commentOf(node: ts.Node): string | undefined {
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (!ts.isVariableStatement(at) && !ts.isFunctionDeclaration(at)) continue;
    const doc = ts.getJSDocCommentsAndTags(at).find(ts.isJSDoc);
    const text = doc === undefined ? undefined : ts.getTextOfJSDocComment(doc.comment);
    return text?.replace(/\s+/g, ' ').trim();
  }
  return undefined;
}
