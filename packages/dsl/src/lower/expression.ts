// Expressions of a body to values: operators, calls, ternaries, lists. What is known when the kernel is compiled is worked
// out here; the rest becomes tiles.
import type {
  ArrayExpression,
  AssignmentExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  Literal,
  LogicalExpression,
  MemberExpression,
  Node,
  ObjectExpression,
  SpreadElement,
  TemplateLiteral,
  UpdateExpression,
} from 'acorn';
import { at, isFloat } from '@tsinductor/base';
import { Call } from '../language/define.ts';
import type { Argument } from '../language/define.ts';
import { languageEntry } from '../language/table.ts';
import { unwrapped } from '../parse/kernel-source.ts';
import { assignPattern } from './assignment.ts';
import { callFunction } from './call-function.ts';
import { asTest } from './coerce.ts';
import type { Site } from './coerce.ts';
import { enter, faultAt } from './context.ts';
import type { Context } from './context.ts';
import { lookupMember, lookupName } from './names.ts';
import { binaryOperator, logicalOperator, unaryOperator } from './operators.ts';
import { applyPointwise } from './pointwise.ts';
import { describeValue, numberValue, tileValue, undefinedValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** The value of an expression. */
export function lowerExpression(given: Expression, context: Context): KernelValue {
  const node = unwrapped(given);
  enter(node, context);
  switch (node.type) {
    case 'Literal':
      return literal(node, context);
    case 'TemplateLiteral':
      return template(node, context);
    case 'Identifier':
      return lookupName(node, context);
    case 'MemberExpression':
      return member(node, context);
    case 'BinaryExpression': {
      const left = lowerExpression(node.left as Expression, context);
      const right = lowerExpression(node.right, context);
      enter(node, context);
      return binaryOperator(node.operator, [left, right], { node, context });
    }
    case 'UnaryExpression': {
      const value = node.operator === 'void' ? undefinedValue : lowerExpression(node.argument, context);
      return unaryOperator(node.operator, value, { node, context });
    }
    case 'LogicalExpression':
      return logical(node, context);
    case 'ConditionalExpression':
      return conditional(node, context);
    case 'CallExpression':
      return call(node, context);
    case 'ArrayExpression':
      return list(node, context);
    case 'ObjectExpression':
      return { kind: 'record', members: members(node, context), what: 'an object' };
    case 'SequenceExpression':
      return node.expressions.reduce<KernelValue>((_, item) => lowerExpression(item, context), undefinedValue);
    case 'AssignmentExpression':
      return assignment(node, context);
    case 'UpdateExpression':
      return update(node, context);
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return { kind: 'function', name: '', node, scope: context.scope, source: context.source };
    case 'ChainExpression':
    case 'ParenthesizedExpression':
      return lowerExpression(node.expression, context);
    case 'AwaitExpression':
    case 'ClassExpression':
    case 'ImportExpression':
    case 'MetaProperty':
    case 'NewExpression':
    case 'TaggedTemplateExpression':
    case 'ThisExpression':
    case 'YieldExpression':
      throw faultAt(node, context, [
        'KERNEL_SYNTAX',
        `${spoken(node)} is not a form that kernels have`,
        'use arithmetic, calls of tl, lists, ternaries and arrow functions; pass what the host computes as an argument',
      ]);
  }
}

/** A node's type as people say it: "await expression". */
export const spoken = (node: Node): string =>
  `the ${node.type.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).trim()}`;

function literal(node: Literal, context: Context): KernelValue {
  const { value } = node;
  if (typeof value === 'number') return numberValue(value);
  if (typeof value === 'boolean') return { kind: 'boolean', value };
  if (typeof value === 'string') return { kind: 'string', value };
  if (typeof value === 'bigint') return tileValue(context.builder.constant(value, { dtype: 'i64', shape: [] }));
  if (value === null) return undefinedValue;
  throw faultAt(node, context, ['KERNEL_SYNTAX', 'a regular expression in a kernel', 'use numbers']);
}

function template(node: TemplateLiteral, context: Context): KernelValue {
  const parts = node.expressions.map((part) => {
    const value = lowerExpression(part, context);
    if (value.kind === 'number' || value.kind === 'string' || value.kind === 'boolean') return String(value.value);
    throw faultAt(part, context, [
      'KERNEL_CONSTANT',
      `${describeValue(value)} stands in a text, and is not known when the kernel is compiled`,
      'print it with tl.devicePrint',
    ]);
  });
  const texts = node.quasis.map((quasi) => quasi.value.cooked ?? '');
  return { kind: 'string', value: texts.map((text, index) => text + (parts[index] ?? '')).join('') };
}

function member(node: MemberExpression, context: Context): KernelValue {
  const object = node.object;
  if (object.type === 'Super')
    throw faultAt(object, context, ['KERNEL_SYNTAX', 'super in a kernel', 'use the parameters of the body']);
  // An imported `tl` is found by its name; any other free name may be the module that it was imported from.
  const isFree = object.type === 'Identifier' && object.name !== 'tl' && !context.scope.has(object.name);
  const value = isFree ? undefined : lowerExpression(object, context);
  if (value?.kind === 'list' && node.computed) return element(node, value.items, context);
  if (value?.kind === 'pointer' && node.computed)
    throw faultAt(node, context, [
      'KERNEL_POINTER',
      `${describeValue(value)} is indexed`,
      'write tl.load(x + i), and tl.store(x + i, value)',
    ]);
  return lookupMember(node, value, context);
}

function element(node: MemberExpression, items: readonly KernelValue[], context: Context): KernelValue {
  const index = lowerExpression(node.property as Expression, context);
  if (index.kind === 'number' && index.value in items) return at(items, index.value);
  throw faultAt(node.property, context, [
    'KERNEL_CONSTANT',
    `a list of ${String(items.length)} is indexed by ${describeValue(index)}`,
    'use a known number within the list; unroll the loop with tl.staticRange',
  ]);
}

/** What a value says as a test when the kernel is compiled, if it is known. */
export function knownTest(value: KernelValue): boolean | undefined {
  if (value.kind === 'boolean') return value.value;
  if (value.kind === 'number') return value.value !== 0 && !Number.isNaN(value.value);
  return value.kind === 'undefined' ? false : undefined;
}

function logical(node: LogicalExpression, context: Context): KernelValue {
  const left = lowerExpression(node.left, context);
  if (node.operator === '??') return left.kind === 'undefined' ? lowerExpression(node.right, context) : left;
  const known = knownTest(left);
  if (known !== undefined) return known === (node.operator === '&&') ? lowerExpression(node.right, context) : left;
  const right = lowerExpression(node.right, context);
  enter(node, context);
  return logicalOperator(node.operator, [left, right], { node, context });
}

/** A ternary of tiles is a choice of elements: both sides are computed. */
function conditional(node: ConditionalExpression, context: Context): KernelValue {
  const test = lowerExpression(node.test, context);
  const known = knownTest(test);
  if (known !== undefined) return lowerExpression(known ? node.consequent : node.alternate, context);
  const choice = tileValue(asTest(test, { node: node.test, context }));
  const [yes, no] = [lowerExpression(node.consequent, context), lowerExpression(node.alternate, context)];
  enter(node, context);
  if (yes.kind === 'undefined' && no.kind === 'undefined') return undefinedValue;
  return applyPointwise('where', [choice, yes, no], { node, context });
}

function list(node: ArrayExpression, context: Context): KernelValue {
  const items = node.elements.map((item) => {
    if (item === null || item.type === 'SpreadElement')
      throw faultAt(item ?? node, context, ['KERNEL_SYNTAX', 'a list with holes or a spread', 'write each element']);
    return lowerExpression(item, context);
  });
  return { kind: 'list', items };
}

function members(node: ObjectExpression, context: Context): ReadonlyMap<string, KernelValue> {
  return new Map([...arguments_(node, context)].map(([name, { value }]) => [name, value]));
}

function arguments_(node: ObjectExpression, context: Context): ReadonlyMap<string, Argument> {
  const result = new Map<string, Argument>();
  for (const property of node.properties) {
    if (property.type === 'SpreadElement' || property.computed || property.kind !== 'init' || property.method)
      throw faultAt(property, context, [
        'KERNEL_SYNTAX',
        'an object with more than plain members',
        'write name: value',
      ]);
    const { key } = property;
    const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : '';
    result.set(name, { value: lowerExpression(property.value, context), node: property.value });
  }
  return result;
}

function call(node: CallExpression, context: Context): KernelValue {
  if (node.callee.type === 'Super')
    throw faultAt(node, context, ['KERNEL_SYNTAX', 'super in a kernel', 'use the parameters of the body']);
  const calleeNode = unwrapped(node.callee);
  const whole = wholeQuotient(node, calleeNode, context);
  if (whole !== undefined) return whole;
  const callee = lowerExpression(calleeNode, context);
  if (callee.kind === 'operation') return operation(callee.name, node, context);
  if (callee.kind !== 'function')
    throw faultAt(node.callee, context, [
      'KERNEL_NAME',
      `${describeValue(callee)} is called`,
      'call operations of tl, functions of the body, or those declared in the options of kernel()',
    ]);
  const args = node.arguments.map((argument) => lowerExpression(plain(argument, context), context));
  enter(node, context);
  return callFunction(callee, args, { node, context });
}

function plain(node: Expression | SpreadElement, context: Context): Expression {
  if (node.type !== 'SpreadElement') return node;
  throw faultAt(node, context, ['KERNEL_SYNTAX', 'a spread of arguments', 'write each argument']);
}

/** `Math.floor(a / b)` and `Math.trunc(a / b)` of whole numbers stay whole numbers, and exact. */
function wholeQuotient(node: CallExpression, callee: Expression, context: Context): KernelValue | undefined {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return undefined;
  const name = callee.property.name;
  const [argument] = node.arguments;
  if ((name !== 'floor' && name !== 'trunc') || argument?.type !== 'BinaryExpression' || argument.operator !== '/')
    return undefined;
  const sides = [lowerExpression(argument.left as Expression, context), lowerExpression(argument.right, context)];
  const isWhole = sides.every(
    (side) =>
      (side.kind === 'tile' && !isFloat(side.tile.dtype)) || (side.kind === 'number' && Number.isInteger(side.value)),
  );
  if (!isWhole || sides.every((side) => side.kind === 'number')) return undefined;
  enter(node, context);
  return applyPointwise(name === 'floor' ? 'divFloor' : 'divTrunc', sides, { node, context });
}

/** A call of an operation: positional arguments, and named ones in an object at the end. */
function operation(name: string, node: CallExpression, context: Context): KernelValue {
  const entry = languageEntry(name);
  if (entry === undefined)
    throw faultAt(node, context, ['KERNEL_OPERATION', `tl has no operation ${name}`, 'see the Language type']);
  const names = entry.parameters.map((parameter) => parameter.replace('?', ''));
  const given = node.arguments.map((argument) => plain(argument, context));
  const last = given.at(-1);
  const named = last?.type === 'ObjectExpression' ? arguments_(last, context) : new Map<string, Argument>();
  const positional = last?.type === 'ObjectExpression' ? given.slice(0, -1) : given;
  const args = new Map<string, Argument>();
  const refuse = (where: Node, message: string): never => {
    const usage = `tl.${name}(${entry.parameters.join(', ')})`;
    throw faultAt(where, context, ['KERNEL_ARGUMENT', `tl.${name}: ${message}`, `use ${usage}`]);
  };
  positional.forEach((argument, index) => {
    const parameter = names[index];
    if (parameter === undefined)
      refuse(argument, `it takes ${String(names.length)} ${names.length === 1 ? 'argument' : 'arguments'}`);
    else args.set(parameter, { value: lowerExpression(argument, context), node: argument });
  });
  for (const [key, argument] of named) {
    if (!names.includes(key)) refuse(argument.node, `it has no argument ${key}`);
    if (args.has(key)) refuse(argument.node, `${key} is given twice`);
    args.set(key, argument);
  }
  entry.parameters.forEach((parameter) => {
    if (!parameter.endsWith('?') && !args.has(parameter)) refuse(node, `${parameter} is missing`);
  });
  enter(node, context);
  return entry.lower(new Call(name, args, { site: { node, context }, callFunction }));
}

const updateOperators = { '++': '+', '--': '-' } as const;

function assignment(node: AssignmentExpression, context: Context): KernelValue {
  const value = lowerExpression(node.right, context);
  const target = node.left;
  if (node.operator === '=') {
    assignPattern(target, value, context);
    return value;
  }
  const operator = node.operator.slice(0, -1);
  if (target.type !== 'Identifier' || operator === '&&' || operator === '||' || operator === '??')
    throw faultAt(node, context, ['KERNEL_SYNTAX', `${node.operator} is not one of kernels`, 'write x = ...']);
  const old = lookupName(target, context);
  const site: Site = { node, context };
  enter(node, context);
  const result = binaryOperator(operator as Parameters<typeof binaryOperator>[0], [old, value], site);
  assignPattern(target, result, context);
  return result;
}

function update(node: UpdateExpression, context: Context): KernelValue {
  if (node.argument.type !== 'Identifier')
    throw faultAt(node, context, ['KERNEL_SYNTAX', `${node.operator} of what is no variable`, 'write x += 1']);
  const old = lookupName(node.argument, context);
  const result = binaryOperator(updateOperators[node.operator], [old, numberValue(1)], { node, context });
  assignPattern(node.argument, result, context);
  return node.prefix ? result : old;
}
