// What capture could never do right, seen in the source of a compiled function and of the project's functions that it calls. In: a site.
// Out: diagnostics, at the lines that say it.
import type { ts } from 'ts-morph';
import type { Diagnostic } from './diagnostic.ts';
import { propertyOf } from './find-sites.ts';
import type { CompileSite } from './find-sites.ts';
import type { OpenedProject } from './project.ts';

/** What gives another value each time, by the object that it is a member of, and what to take instead. */
const changing: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Math: { random: 'rand(), which draws anew at every call' },
  Date: { now: 'an argument' },
  performance: { now: 'an argument' },
  process: {
    env: 'a variable that is read outside',
    hrtime: 'an argument',
    uptime: 'an argument',
    memoryUsage: 'an argument',
  },
  crypto: { randomUUID: 'an argument', randomBytes: 'randint()', randomInt: 'randint()', getRandomValues: 'randint()' },
};

export function checkFunction(project: OpenedProject, site: CompileSite): readonly Diagnostic[] {
  const { fn, name } = site;
  if (fn === undefined) return targetFaults(project, site);
  const deferred = deferral(project, fn);
  if (deferred !== undefined) return [project.wrong(site.node, ...deferred(name))];
  return reachable(project, fn).flatMap((one) => bodyFaults(project, one, { root: fn, site }));
}

/** Of what is compiled and stands nowhere in the project, its type is known. */
function targetFaults(project: OpenedProject, { node, name }: CompileSite): readonly Diagnostic[] {
  const [target] = project.ts.isCallExpression(node) ? node.arguments : [];
  if (target === undefined || project.ts.isObjectLiteralExpression(project.bare(target))) return [];
  const type = project.checker.getTypeAtLocation(target);
  if ((type.flags & (project.ts.TypeFlags.Any | project.ts.TypeFlags.Unknown)) !== 0) return [];
  const signatures = type.getCallSignatures();
  if (signatures.length === 0 && !type.isTypeParameter())
    return [project.wrong(target, 'TSI1006', `${name} is no function: ${project.checker.typeToString(type)}`)];
  const isDeferred = signatures.some((signature) => signature.getReturnType().getProperty('then') !== undefined);
  return isDeferred ? [project.wrong(target, ...asyncFault(name))] : [];
}

type Fault = readonly [code: Diagnostic['code'], message: string];

const asyncFault = (name: string): Fault => [
  'TSI1001',
  `${name} is an async function, which cannot be compiled: compile the part that computes, and await around its calls`,
];

function deferral(
  { ts: syntax }: OpenedProject,
  fn: ts.FunctionLikeDeclaration,
): ((name: string) => Fault) | undefined {
  const isGenerator = 'asteriskToken' in fn && fn.asteriskToken !== undefined;
  if (isGenerator)
    return (name) => [
      'TSI1002',
      `${name} is a generator function, which cannot be compiled: compile the part that computes, and yield around its calls`,
    ];
  const isAsync = fn.modifiers?.some(({ kind }) => kind === syntax.SyntaxKind.AsyncKeyword) === true;
  return isAsync ? asyncFault : undefined;
}

/** A function with the project's functions that it calls, and those that they call. */
function reachable(project: OpenedProject, fn: ts.FunctionLikeDeclaration): readonly ts.FunctionLikeDeclaration[] {
  const found = new Set([fn]);
  // A set that grows is walked to its end.
  for (const one of found)
    project.each(one, (node) => {
      if (!project.ts.isCallExpression(node)) return;
      const called = project.functionOf(node.expression);
      const isInside = called === undefined || [...found].some((around) => isWithin(called, around));
      if (!isInside) found.add(called);
    });
  return [...found];
}

const isWithin = (node: ts.Node, around: ts.Node): boolean =>
  node.getSourceFile() === around.getSourceFile() && node.pos >= around.pos && node.end <= around.end;

interface Checked {
  /** The function that is compiled: variables of its own are nobody else's. */
  readonly root: ts.FunctionLikeDeclaration;
  readonly site: CompileSite;
}

function bodyFaults(
  project: OpenedProject,
  fn: ts.FunctionLikeDeclaration,
  { root, site }: Checked,
): readonly Diagnostic[] {
  const { ts: syntax } = project;
  const faults: Diagnostic[] = [];
  const reported = new Set<ts.Symbol>();
  const captured = capturedNames(project, site);
  const isOuter = (symbol: ts.Symbol): boolean => {
    const { valueDeclaration: declaration } = symbol;
    return (
      declaration !== undefined &&
      isBinding(project, declaration) &&
      ![fn, root].some((own) => isWithin(declaration, own))
    );
  };
  project.each(fn, (node) => {
    for (const target of project.targetsOf(node)) {
      const symbol = project.symbolOf(target);
      if (symbol === undefined || !isOuter(symbol)) continue;
      reported.add(symbol);
      faults.push(
        project.wrong(
          target,
          'TSI1004',
          `${site.name} assigns ${target.text}, which is outside of it: that happens once, when it is traced; return the value instead`,
        ),
      );
    }
    faults.push(...changingFaults(project, node, site.name));
  });
  project.each(fn, (node) => {
    if (!syntax.isIdentifier(node) || captured.has(node.text)) return;
    const symbol = project.symbolOf(node);
    const file = symbol?.valueDeclaration?.getSourceFile();
    if (symbol === undefined || file === undefined || reported.has(symbol) || !isOuter(symbol)) return;
    const assignment = project.assignedIn(file).get(symbol);
    if (assignment === undefined) return;
    reported.add(symbol);
    faults.push(project.wrong(node, 'TSI1003', reassigned(project, node, { name: site.name, assignment })));
  });
  return faults;
}

function reassigned(
  project: OpenedProject,
  { text }: ts.Identifier,
  { name, assignment }: { readonly name: string; readonly assignment: ts.Node },
): string {
  const { line } = project.wrong(assignment, 'TSI1003', '');
  const place = `${assignment.getSourceFile().fileName.split('/').at(-1) ?? ''}:${String(line)}`;
  return `${name} reads ${text}, which is assigned again at ${place}: what is compiled keeps the value of its trace; pass it as an argument, or guard it with captures: () => ({ ${text} })`;
}

/** Whether a declaration is of a variable that may be assigned. */
function isBinding({ ts: syntax }: OpenedProject, declaration: ts.Declaration): boolean {
  if (declaration.getSourceFile().isDeclarationFile) return false;
  return (
    syntax.isVariableDeclaration(declaration) || syntax.isParameter(declaration) || syntax.isBindingElement(declaration)
  );
}

/** The names that the option `captures` gives, which are guarded at every call. */
function capturedNames(project: OpenedProject, { options }: CompileSite): ReadonlySet<string> {
  const captures = propertyOf(project, options, 'captures');
  const names = new Set<string>();
  if (captures !== undefined)
    project.each(captures, (node) => {
      if (project.ts.isIdentifier(node)) names.add(node.text);
    });
  return names;
}

function changingFaults(project: OpenedProject, node: ts.Node, name: string): readonly Diagnostic[] {
  const asked = askedFor(project, node);
  if (asked === undefined) return [];
  const message = `${name} asks for ${asked.what}, which is different each time: what is compiled keeps the value of its trace; take ${asked.instead} instead`;
  return [project.wrong(node, 'TSI1005', message)];
}

interface Asked {
  readonly what: string;
  readonly instead: string;
}

/** What of the table a node asks for: a member of a global, `new Date()`, or what is imported by its name. */
function askedFor(project: OpenedProject, node: ts.Node): Asked | undefined {
  const { ts: syntax } = project;
  if (syntax.isPropertyAccessExpression(node) && syntax.isIdentifier(node.expression)) {
    const { expression, name } = node;
    return isOutside(project, expression) ? memberOf(expression.text, name.text) : undefined;
  }
  if (!syntax.isNewExpression(node) && !syntax.isCallExpression(node)) return undefined;
  const { expression, arguments: args = [] } = node;
  if (!syntax.isIdentifier(expression)) return undefined;
  const isNow = expression.text === 'Date' && args.length === 0 && isOutside(project, expression);
  return isNow ? { what: 'new Date()', instead: 'an argument' } : importedFrom(project, expression);
}

function memberOf(object: string, member: string): Asked | undefined {
  const members = Object.hasOwn(changing, object) ? changing[object] : undefined;
  const instead = members !== undefined && Object.hasOwn(members, member) ? members[member] : undefined;
  return instead === undefined ? undefined : { what: `${object}.${member}`, instead };
}

/** `randomUUID` where that function of Node's module is imported by its name. */
function importedFrom(project: OpenedProject, name: ts.Identifier): Asked | undefined {
  const file = project.symbolOf(name)?.valueDeclaration?.getSourceFile();
  const isOfCrypto = file?.isDeclarationFile === true && file.fileName.endsWith('/crypto.d.ts');
  return isOfCrypto ? memberOf('crypto', name.text) : undefined;
}

/** Whether a name is declared nowhere in the project: a global, or what Node's modules export. */
const isOutside = (project: OpenedProject, name: ts.Identifier): boolean =>
  project.symbolOf(name)?.declarations?.every((declaration) => declaration.getSourceFile().isDeclarationFile) ?? true;
