// TypeScript without its types, every other character where it was: places in the result are places in the source. In: a function's node.
// Out: JavaScript of the same length. Enough for bodies of kernels, which have types on names, assertions, and no more.
import type { ts } from 'ts-morph';

type Syntax = typeof ts;

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Where a function itself begins: behind `export` and `export default`. */
export function startOf(syntax: Syntax, node: ts.FunctionLikeDeclaration): number {
  const source = node.getSourceFile();
  const words = node.modifiers?.filter(({ kind }) => kind !== syntax.SyntaxKind.AsyncKeyword) ?? [];
  const end = words.at(-1)?.end;
  return end === undefined ? node.getStart(source) : end + (/^\s*/.exec(source.text.slice(end))?.[0].length ?? 0);
}

export function withoutTypes(syntax: Syntax, node: ts.FunctionLikeDeclaration): string {
  const source = node.getSourceFile();
  const start = startOf(syntax, node);
  const ranges: Range[] = [];
  const visit = (child: ts.Node): void => {
    const own = rangesOf(syntax, child, source);
    ranges.push(...own);
    // What is taken out whole has nothing more to take out.
    if (!syntax.isTypeNode(child)) syntax.forEachChild(child, visit);
  };
  visit(node);
  let text = source.text.slice(start, node.end);
  for (const { from, to } of ranges) {
    const blank = text.slice(from - start, to - start).replace(/[^\n\r]/g, ' ');
    text = text.slice(0, from - start) + blank + text.slice(to - start);
  }
  return text;
}

function rangesOf(syntax: Syntax, node: ts.Node, source: ts.SourceFile): readonly Range[] {
  if (syntax.isInterfaceDeclaration(node) || syntax.isTypeAliasDeclaration(node))
    return [{ from: node.getStart(source), to: node.end }];
  if (syntax.isAsExpression(node) || syntax.isSatisfiesExpression(node))
    return [{ from: node.expression.end, to: node.end }];
  if (syntax.isNonNullExpression(node)) return [{ from: node.expression.end, to: node.end }];
  if (syntax.isFunctionLike(node)) return signatureRanges(syntax, node, source);
  if (syntax.isParameter(node) || syntax.isVariableDeclaration(node)) return annotationRanges(node);
  return [];
}

/** `<T>` and `: Result`. */
function signatureRanges(syntax: Syntax, node: ts.SignatureDeclaration, source: ts.SourceFile): readonly Range[] {
  const { typeParameters, type } = node;
  const generic =
    typeParameters === undefined
      ? []
      : [{ from: typeParameters.pos - 1, to: source.text.indexOf('>', typeParameters.end) + 1 }];
  return type === undefined || !syntax.isTypeNode(type)
    ? generic
    : [...generic, { from: colonBefore(type), to: type.end }];
}

function annotationRanges(node: ts.ParameterDeclaration | ts.VariableDeclaration): readonly Range[] {
  const { type } = node;
  const mark = 'exclamationToken' in node ? node.exclamationToken : questionOf(node);
  return [
    ...(mark === undefined ? [] : [{ from: mark.pos, to: mark.end }]),
    ...(type === undefined ? [] : [{ from: colonBefore(type), to: type.end }]),
  ];
}

const questionOf = (node: ts.ParameterDeclaration | ts.VariableDeclaration): ts.Node | undefined =>
  'questionToken' in node ? node.questionToken : undefined;

/** A type's node begins behind its colon, with the blanks between. */
const colonBefore = (type: ts.TypeNode): number => type.pos - 1;
