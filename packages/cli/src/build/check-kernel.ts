// Kernels checked without a launch: the body is lowered for the schema's types, as its first launch would. In: a site. Out: diagnostics at
// the body's lines. A launch constant has the values that the project's launches give it; where there are none, some powers of two. What
// is wrong under each of them is wrong.
import { runInThisContext } from 'node:vm';
import { isDType, isTsInductorError } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { defineKernel, isConstexpr, isPointer, lowerKernel } from '@tsinductor/dsl';
import type { AnyFunction, ArgumentFacts, Schema, SchemaEntry, SourceStart } from '@tsinductor/dsl';
import type { ts } from 'ts-morph';
import type { Diagnostic } from './diagnostic.ts';
import { propertyOf } from './find-sites.ts';
import type { KernelSite } from './find-sites.ts';
import type { OpenedProject } from './project.ts';
import { startOf, withoutTypes } from './without-types.ts';

/** By the name of a launch constant, the values that launches give it. */
type LaunchConstants = ReadonlyMap<string, readonly number[]>;

/** The numbers that stand in calls of `launch`. */
export function launchConstants(project: OpenedProject): LaunchConstants {
  const found = new Map<string, readonly number[]>();
  const { ts: syntax, checker } = project;
  const note = (call: ts.CallExpression): void => {
    for (const given of call.arguments.filter((one) => syntax.isObjectLiteralExpression(one)))
      for (const property of given.properties) {
        if (!syntax.isPropertyAssignment(property) && !syntax.isShorthandPropertyAssignment(property)) continue;
        const value = syntax.isPropertyAssignment(property) ? property.initializer : property.name;
        const type = checker.getTypeAtLocation(value);
        const name = property.name.getText();
        if (type.isNumberLiteral()) found.set(name, [...(found.get(name) ?? []), type.value]);
      }
  };
  for (const file of project.files)
    project.each(file, (node) => {
      if (!syntax.isCallExpression(node) || !syntax.isPropertyAccessExpression(node.expression)) return;
      if (node.expression.name.text === 'launch') note(node);
    });
  return found;
}

/** Tried where no launch says more. */
const usualConstants = [16, 64, 256];
const mostTried = 4;

export function checkKernel(
  project: OpenedProject,
  { node, name }: KernelSite,
  launches: LaunchConstants,
): readonly Diagnostic[] {
  const [, schemaNode, bodyNode, optionsNode] = node.arguments;
  const schema = schemaOf(project, schemaNode);
  const body = bodyNode === undefined ? undefined : project.functionOf(bodyNode);
  if (schema === undefined || body === undefined) return [];
  const starts = new Map<string, SourceStart>();
  try {
    const definition = defineKernel({
      name,
      schema,
      body: madeFunction(project, body, starts),
      functions: helpersOf(project, optionsNode, starts),
      locate: (text) => starts.get(text) ?? { location: { file: node.getSourceFile().fileName, line: 1 } },
    });
    const failures = constantsToTry(schema, launches).map((constants) => {
      try {
        lowerKernel(definition, { arguments: factsOf(schema), constants });
        return undefined;
      } catch (error) {
        return error;
      }
    });
    if (failures.some((failure) => failure === undefined)) return [];
    throw failures[0];
  } catch (error) {
    return [faultOf(project, error, node)];
  }
}

/** Throws what is no error of the user's. */
function faultOf(project: OpenedProject, error: unknown, node: ts.CallExpression): Diagnostic {
  if (error instanceof SyntaxError)
    return project.wrong(node, 'TSI2001', `the body cannot be parsed: ${error.message}`);
  if (!isTsInductorError(error) || error.name === 'InternalError') throw error;
  const [said = ''] = error.message.split('\n');
  const message = [`${error.code}: ${said}`, ...(error.hint === undefined ? [] : [error.hint])].join('; ');
  const { location } = error;
  if (location === undefined) return project.wrong(node, 'TSI2001', message);
  const { file, line, column = 1 } = location;
  return { file, line, column, code: 'TSI2001', message };
}

/** The function as JavaScript, which is never called: only its text is read. */
function madeFunction(
  { ts: syntax }: OpenedProject,
  node: ts.FunctionLikeDeclaration,
  starts: Map<string, SourceStart>,
): AnyFunction {
  const source = node.getSourceFile();
  const text = withoutTypes(syntax, node);
  const { line, character } = source.getLineAndCharacterOfPosition(startOf(syntax, node));
  const made = runInThisContext(`(${text})`) as AnyFunction;
  const location = { file: source.fileName, line: line + 1, column: character + 1 };
  starts.set(Function.prototype.toString.call(made), { location });
  return made;
}

/** The functions that the option `functions` gives a body. */
function helpersOf(
  project: OpenedProject,
  options: ts.Expression | undefined,
  starts: Map<string, SourceStart>,
): Readonly<Record<string, AnyFunction>> {
  const { ts: syntax } = project;
  if (options === undefined || !syntax.isObjectLiteralExpression(options)) return {};
  const functions = propertyOf(project, options, 'functions');
  if (functions === undefined || !syntax.isObjectLiteralExpression(functions)) return {};
  const named = functions.properties.flatMap((property) => {
    const value = property.name === undefined ? undefined : propertyOf(project, functions, property.name.getText());
    const fn = value === undefined || syntax.isMethodDeclaration(value) ? undefined : project.functionOf(value);
    return fn === undefined ? [] : [[property.name?.getText() ?? '', madeFunction(project, fn, starts)] as const];
  });
  return Object.fromEntries(named);
}

/** The schema of a kernel, by the types of its entries; undefined where it is not written out. */
function schemaOf(project: OpenedProject, node: ts.Expression | undefined): Schema | undefined {
  const { ts: syntax } = project;
  const bare = node === undefined ? undefined : project.bare(node);
  if (bare === undefined || !syntax.isObjectLiteralExpression(bare)) return undefined;
  const entries = bare.properties.map((property): readonly [string, SchemaEntry | undefined] => {
    const isWritten = syntax.isPropertyAssignment(property) || syntax.isShorthandPropertyAssignment(property);
    const name = property.name?.getText() ?? '';
    if (!isWritten) return [name, undefined];
    return [name, entryOf(project, syntax.isPropertyAssignment(property) ? property.initializer : property.name)];
  });
  const known = entries.filter((entry): entry is readonly [string, SchemaEntry] => entry[1] !== undefined);
  return known.length === entries.length ? Object.fromEntries(known) : undefined;
}

function entryOf(project: OpenedProject, node: ts.Expression): SchemaEntry | undefined {
  if (project.ts.isCallExpression(node)) {
    const [dtype] = node.arguments;
    if (dtype === undefined) return { kind: 'pointer' };
    const known = dtypeOf(project, dtype);
    return known === undefined ? undefined : { kind: 'pointer', dtype: known };
  }
  const kind = project.checker.getTypeAtLocation(node).getProperty('kind');
  return kind === undefined ? dtypeOf(project, node) : { kind: 'constexpr' };
}

/** A literal; or a constant that is exported under the dtype's name, whatever it is called here. */
function dtypeOf(project: OpenedProject, node: ts.Node): DType | undefined {
  const type = project.checker.getTypeAtLocation(node);
  const name = type.isStringLiteral() ? type.value : project.symbolOf(node)?.name;
  return isDType(name) ? name : undefined;
}

const factsOf = (schema: Schema): Readonly<Record<string, ArgumentFacts>> =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([name, entry]): [string, ArgumentFacts][] => {
      if (isConstexpr(entry)) return [];
      const dtype = isPointer(entry) ? (entry.dtype ?? 'f32') : entry;
      return [[name, { dtype, divisor: 1 }]];
    }),
  );

/** Values for the launch constants, of several launches one after another. */
function constantsToTry(schema: Schema, launches: LaunchConstants): readonly Readonly<Record<string, number>>[] {
  const names = Object.entries(schema).flatMap(([name, entry]) => (isConstexpr(entry) ? [name] : []));
  const values = names.map((name) => [...new Set(launches.get(name) ?? usualConstants)]);
  const count = Math.min(mostTried, Math.max(1, ...values.map(({ length }) => length)));
  return Array.from({ length: count }, (_, index) =>
    Object.fromEntries(names.map((name, at) => [name, values[at]?.[Math.min(index, values[at].length - 1)] ?? 16])),
  );
}
