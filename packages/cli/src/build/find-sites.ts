// What a project gives to the compiler: calls of `compile`, decorations with it, and kernels. In: the project. Out: sites. They are found
// by what they resolve to, so that it does not matter by which name, through which module, a project imports them.
import type { ts } from 'ts-morph';
import type { OpenedProject } from './project.ts';

/** A function that is compiled. */
export interface CompileSite {
  readonly kind: 'compile';
  /** The call, or the decorator. */
  readonly node: ts.CallExpression | ts.Decorator;
  readonly name: string;
  /** Undefined where it cannot be said which function it is, as for a parameter. */
  readonly fn: ts.FunctionLikeDeclaration | undefined;
  readonly options: ts.ObjectLiteralExpression | undefined;
}

export interface KernelSite {
  readonly kind: 'kernel';
  readonly node: ts.CallExpression;
  readonly name: string;
}

export type Site = CompileSite | KernelSite;

export const findSites = (project: OpenedProject): readonly Site[] =>
  project.files.flatMap((file) => {
    const sites: Site[] = [];
    project.each(file, (node) => {
      sites.push(...siteAt(project, node));
    });
    return sites;
  });

function siteAt(project: OpenedProject, node: ts.Node): readonly Site[] {
  const { ts: syntax } = project;
  if (syntax.isDecorator(node)) return decorated(project, node);
  if (!syntax.isCallExpression(node) || syntax.isDecorator(node.parent)) return [];
  const called = project.calledOurs(node);
  if (called === 'kernel') return [{ kind: 'kernel', node, name: textOf(project, node.arguments[0]) ?? 'a kernel' }];
  const [target, options] = node.arguments;
  if (called !== 'compile' || target === undefined) return [];
  const given = objectOf(project, options);
  const fn = project.functionOf(target);
  const named = textOf(project, propertyOf(project, given, 'name'));
  return [{ kind: 'compile', node, name: named ?? nameOf(project, node, target), fn, options: given }];
}

/** `@compile`, or `@compile({ ... })`. */
function decorated(project: OpenedProject, node: ts.Decorator): readonly Site[] {
  const { ts: syntax } = project;
  const { expression, parent } = node;
  if (!syntax.isMethodDeclaration(parent)) return [];
  const isCall = syntax.isCallExpression(expression);
  if (project.calledOurs(isCall ? expression : node) !== 'compile') return [];
  const options = isCall ? objectOf(project, expression.arguments[0]) : undefined;
  return [{ kind: 'compile', node, name: parent.name.getText(), fn: parent, options }];
}

/** The object literal that an expression is. */
function objectOf(
  project: OpenedProject,
  expression: ts.Expression | undefined,
): ts.ObjectLiteralExpression | undefined {
  const bare = expression === undefined ? undefined : project.bare(expression);
  return bare !== undefined && project.ts.isObjectLiteralExpression(bare) ? bare : undefined;
}

/** The value of a property of an object literal; a method is its own value. */
export function propertyOf(
  { ts: syntax }: OpenedProject,
  object: ts.ObjectLiteralExpression | undefined,
  name: string,
): ts.Expression | ts.MethodDeclaration | undefined {
  const found = object?.properties.find((property) => property.name?.getText() === name);
  if (found === undefined) return undefined;
  if (syntax.isPropertyAssignment(found)) return found.initializer;
  if (syntax.isShorthandPropertyAssignment(found)) return found.name;
  return syntax.isMethodDeclaration(found) ? found : undefined;
}

/** The text that a literal is. */
const textOf = ({ ts: syntax }: OpenedProject, node: ts.Node | undefined): string | undefined =>
  node !== undefined && syntax.isStringLiteralLike(node) ? node.text : undefined;

/** What a compiled function is called: by its own name, or by the variable or property that it becomes. */
function nameOf({ ts: syntax }: OpenedProject, { parent }: ts.CallExpression, target: ts.Expression): string {
  if (syntax.isFunctionExpression(target) && target.name !== undefined) return target.name.text;
  if (syntax.isIdentifier(target)) return target.text;
  const isNamed =
    syntax.isVariableDeclaration(parent) || syntax.isPropertyAssignment(parent) || syntax.isPropertyDeclaration(parent);
  return isNamed ? parent.name.getText() : 'a function';
}
