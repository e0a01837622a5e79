// A TypeScript project as `tsinductor build` reads it: its files, and what the compiler knows of types and symbols. In: a tsconfig.
// Out: syntax trees and a checker. Questions about symbols that several checks ask are answered here.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Project, ts } from 'ts-morph';
import type { Diagnostic, DiagnosticCode } from './diagnostic.ts';
import type { Morph } from './load-ts-morph.ts';

export class OpenedProject {
  /** The compiler's own interface, of the version that is in ts-morph. */
  readonly ts: typeof ts;
  readonly checker: ts.TypeChecker;
  /** The project's own sources: neither declarations nor what is installed. */
  readonly files: readonly ts.SourceFile[];
  readonly #packages = new Map<string, string | undefined>();
  readonly #assigned = new Map<ts.SourceFile, ReadonlyMap<ts.Symbol, ts.Node>>();

  constructor(morph: Morph, project: Project) {
    this.ts = morph.ts;
    this.checker = project.getTypeChecker().compilerObject;
    const sources = project.getSourceFiles().map(({ compilerNode }) => compilerNode);
    this.files = sources.filter(
      ({ isDeclarationFile, fileName }) => !isDeclarationFile && !fileName.includes('/node_modules/'),
    );
  }

  /** Something wrong at a node. */
  wrong(node: ts.Node, code: DiagnosticCode, message: string): Diagnostic {
    const source = node.getSourceFile();
    const { line, character } = source.getLineAndCharacterOfPosition(node.getStart(source));
    return { file: source.fileName, line: line + 1, column: character + 1, code, message };
  }

  /** What an identifier means, imports and re-exports followed. */
  symbolOf(node: ts.Node): ts.Symbol | undefined {
    const { parent } = node;
    const symbol =
      (parent as ts.Node | undefined) !== undefined && this.ts.isShorthandPropertyAssignment(parent)
        ? this.checker.getShorthandAssignmentValueSymbol(parent)
        : this.checker.getSymbolAtLocation(node);
    if (symbol === undefined) return undefined;
    return (symbol.flags & this.ts.SymbolFlags.Alias) === 0 ? symbol : this.checker.getAliasedSymbol(symbol);
  }

  /** The name of the function that a call or a decorator resolves to, where that is one of this package's. */
  calledOurs(node: ts.CallLikeExpression): string | undefined {
    const declaration = this.checker.getResolvedSignature(node)?.declaration;
    if (declaration === undefined || !this.ts.isFunctionDeclaration(declaration)) return undefined;
    // Where types are bundled, names may have got a number.
    return this.#isOurs(declaration) ? declaration.name?.text.replace(/\$\d+$/, '') : undefined;
  }

  #isOurs(node: ts.Node): boolean {
    const name = this.#packageOf(dirname(node.getSourceFile().fileName));
    return name === 'tsinductor' || name?.startsWith('@tsinductor/') === true;
  }

  /** The name of the package that a directory is in. */
  #packageOf(directory: string): string | undefined {
    if (this.#packages.has(directory)) return this.#packages.get(directory);
    const above = dirname(directory);
    const own = nameIn(join(directory, 'package.json'));
    const name = own ?? (above === directory ? undefined : this.#packageOf(above));
    this.#packages.set(directory, name);
    return name;
  }

  /** The function that an expression is: itself, or the one that a name stands for. */
  functionOf(expression: ts.Expression): ts.FunctionLikeDeclaration | undefined {
    const bare = this.bare(expression);
    const { ts: syntax } = this;
    if (syntax.isIdentifier(bare)) return this.#declaredFunction(bare);
    if (syntax.isPropertyAccessExpression(bare)) return this.#declaredFunction(bare.name);
    return this.#literalFunction(bare);
  }

  #declaredFunction(name: ts.Node): ts.FunctionLikeDeclaration | undefined {
    const { ts: syntax } = this;
    const declaration = this.symbolOf(name)?.valueDeclaration;
    if (declaration === undefined || declaration.getSourceFile().isDeclarationFile) return undefined;
    if (syntax.isFunctionDeclaration(declaration) || syntax.isMethodDeclaration(declaration)) return declaration;
    const isNamed = syntax.isVariableDeclaration(declaration) || syntax.isPropertyAssignment(declaration);
    return isNamed ? this.#literalFunction(declaration.initializer) : undefined;
  }

  #literalFunction(expression: ts.Expression | undefined): ts.FunctionLikeDeclaration | undefined {
    const bare = expression === undefined ? undefined : this.bare(expression);
    if (bare === undefined) return undefined;
    return this.ts.isArrowFunction(bare) || this.ts.isFunctionExpression(bare) ? bare : undefined;
  }

  /** Without parentheses and assertions of types. */
  bare(expression: ts.Expression): ts.Expression {
    const { ts: syntax } = this;
    if (
      syntax.isParenthesizedExpression(expression) ||
      syntax.isAsExpression(expression) ||
      syntax.isSatisfiesExpression(expression) ||
      syntax.isNonNullExpression(expression)
    )
      return this.bare(expression.expression);
    return expression;
  }

  /** The variables that a file assigns after their declaration, each with the first place. A variable is assigned in its own file only. */
  assignedIn(file: ts.SourceFile): ReadonlyMap<ts.Symbol, ts.Node> {
    const known = this.#assigned.get(file);
    if (known !== undefined) return known;
    const assigned = new Map<ts.Symbol, ts.Node>();
    this.each(file, (node) => {
      for (const target of this.targetsOf(node)) {
        const symbol = this.symbolOf(target);
        if (symbol !== undefined && !assigned.has(symbol)) assigned.set(symbol, target);
      }
    });
    this.#assigned.set(file, assigned);
    return assigned;
  }

  /** The names that a node assigns, if it is an assignment. */
  targetsOf(node: ts.Node): readonly ts.Identifier[] {
    const { ts: syntax } = this;
    if (syntax.isBinaryExpression(node) && this.#isAssignment(node.operatorToken.kind)) return this.#namesIn(node.left);
    if (syntax.isPrefixUnaryExpression(node) || syntax.isPostfixUnaryExpression(node)) {
      const isStep = [syntax.SyntaxKind.PlusPlusToken, syntax.SyntaxKind.MinusMinusToken].includes(node.operator);
      return isStep ? this.#namesIn(node.operand) : [];
    }
    if (
      (syntax.isForOfStatement(node) || syntax.isForInStatement(node)) &&
      !syntax.isVariableDeclarationList(node.initializer)
    )
      return this.#namesIn(node.initializer);
    return [];
  }

  #isAssignment(operator: ts.SyntaxKind): boolean {
    const { FirstAssignment, LastAssignment } = this.ts.SyntaxKind;
    return operator >= FirstAssignment && operator <= LastAssignment;
  }

  /** Names in the pattern of an assignment. */
  #namesIn(pattern: ts.Node): readonly ts.Identifier[] {
    const { ts: syntax } = this;
    if (syntax.isIdentifier(pattern)) return [pattern];
    if (syntax.isParenthesizedExpression(pattern)) return this.#namesIn(pattern.expression);
    if (syntax.isArrayLiteralExpression(pattern)) return pattern.elements.flatMap((part) => this.#namesIn(part));
    if (syntax.isSpreadElement(pattern)) return this.#namesIn(pattern.expression);
    if (syntax.isBinaryExpression(pattern)) return this.#namesIn(pattern.left);
    if (!syntax.isObjectLiteralExpression(pattern)) return [];
    return pattern.properties.flatMap((property) => {
      if (syntax.isShorthandPropertyAssignment(property)) return [property.name];
      if (syntax.isPropertyAssignment(property)) return this.#namesIn(property.initializer);
      return syntax.isSpreadAssignment(property) ? this.#namesIn(property.expression) : [];
    });
  }

  /** Calls `visit` with every node below `root`, and with itself. */
  each(root: ts.Node, visit: (node: ts.Node) => void): void {
    const enter = (node: ts.Node): void => {
      visit(node);
      this.ts.forEachChild(node, enter);
    };
    enter(root);
  }
}

/** The name in a package's manifest. One without a name only says how files below it are read. */
function nameIn(manifest: string): string | undefined {
  if (!existsSync(manifest)) return undefined;
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}
