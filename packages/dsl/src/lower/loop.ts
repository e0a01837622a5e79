// Loops. The variables that a body assigns are carried from one iteration to the next; a body is lowered again where a
// variable turns out to have another type than it began with (a known number that meets floats, an offset that grows).
import type {
  Expression,
  ForOfStatement,
  ForStatement,
  Identifier,
  Node,
  Pattern,
  Statement,
  VariableDeclaration,
  WhileStatement,
} from 'acorn';
import { at, isFloat, isInteger } from '@tsinductor/base';
import type { ForNode, Region, Tile, WhileNode } from '@tsinductor/ir';
import { promoteTypes } from '@tsinductor/ops';
import { assignedNames } from '../parse/assigned-names.ts';
import { declarePattern } from './assignment.ts';
import { asTest, asTile } from './coerce.ts';
import { enter, faultAt } from './context.ts';
import type { Context } from './context.ts';
import { knownTest, lowerExpression } from './expression.ts';
import { fromMerged, meet, toMerged } from './merge.ts';
import type { MergedType } from './merge.ts';
import { Scope } from './scope.ts';
import { lowerBlock } from './statement.ts';
import { describeValue, numberValue, tileValue, undefinedValue } from './value.ts';
import type { KernelValue } from './value.ts';

/** A loop whose bounds are values. */
interface Counted {
  readonly node: Node;
  readonly pattern: Pattern;
  readonly from: KernelValue;
  readonly to: KernelValue;
  readonly step: KernelValue;
  readonly numStages: number | undefined;
  readonly body: Statement;
}

const unrollLimit = 4096;

/** `for (const i of tl.range(...))`, `tl.staticRange(...)`, or over a list. */
export function lowerForOf(node: ForOfStatement, context: Context): void {
  if (node.left.type !== 'VariableDeclaration')
    throw faultAt(node.left, context, ['KERNEL_SYNTAX', 'a loop without a declaration', 'write for (const i of ...)']);
  const pattern = at(node.left.declarations, 0).id;
  const iterated = lowerExpression(node.right, context);
  if (iterated.kind === 'list') {
    unroll(iterated.items, { node, pattern, body: node.body }, context);
    return;
  }
  if (iterated.kind !== 'range')
    throw faultAt(node.right, context, [
      'KERNEL_SYNTAX',
      `a loop goes over ${describeValue(iterated)}`,
      'loop over tl.range(start, end, step), tl.staticRange or a list',
    ]);
  const { from, to, step, isStatic, numStages } = iterated;
  if (!isStatic) {
    countedLoop({ node, pattern, from, to, step, numStages, body: node.body }, context);
    return;
  }
  const [first, end, distance] = [from, to, step].map((value) => (value.kind === 'number' ? value.value : NaN)) as [
    number,
    number,
    number,
  ];
  const count = Math.max(0, Math.ceil((end - first) / distance));
  if (!(count <= unrollLimit))
    throw faultAt(node, context, [
      'KERNEL_LIMIT',
      `a static range of ${String(count)} iterations`,
      `use tl.range, or at most ${String(unrollLimit)} iterations`,
    ]);
  unroll(
    Array.from({ length: count }, (_, index) => numberValue(first + index * distance)),
    { node, pattern, body: node.body },
    context,
  );
}

function unroll(
  items: readonly KernelValue[],
  { node, pattern, body }: { readonly node: Node; readonly pattern: Pattern; readonly body: Statement },
  context: Context,
): void {
  for (const item of items) {
    enter(node, context);
    const inner = { ...context, scope: new Scope(context.scope) };
    declarePattern(pattern, item, { context: inner, isConstant: true });
    runBody(body, inner);
  }
}

function runBody(body: Statement, context: Context): void {
  if (lowerBlock(body, context).kind === 'return')
    throw faultAt(body, context, [
      'KERNEL_RETURN',
      'a return within a loop',
      'carry a flag out of the loop, and return after it',
    ]);
}

/** `for (let i = a; i < b; i += c)`: the only form of a counting loop. */
export function lowerFor(node: ForStatement, context: Context): void {
  const refuse = (where: Node): never => {
    throw faultAt(where, context, [
      'KERNEL_SYNTAX',
      'a loop that does not simply count',
      'write for (let i = start; i < end; i += step), for (const i of tl.range(...)), or while',
    ]);
  };
  const counter = counterOf(node);
  if (counter === undefined) return refuse(node);
  const { init, others } = counter;
  const outer = { ...context, scope: new Scope(context.scope) };
  for (const { id, init: value } of others)
    declarePattern(id, value === null || value === undefined ? undefinedValue : lowerExpression(value, outer), {
      context: outer,
      isConstant: false,
    });
  const from = lowerExpression(init, outer);
  const bound = lowerExpression(counter.bound, outer);
  const step = lowerExpression(counter.step, outer);
  if (assignedNames([node.body]).includes(counter.name)) return refuse(node.body);
  const site = { node, context: outer };
  const inclusive =
    counter.operator === '<=' ? numberValue(1) : counter.operator === '>=' ? numberValue(-1) : undefined;
  const to = inclusive === undefined ? bound : addValues(bound, inclusive, site);
  const distance = counter.isDown ? negateValue(step, site) : step;
  countedLoop(
    { node, pattern: counter.pattern, from, to, step: distance, numStages: undefined, body: node.body },
    outer,
  );
}

const addValues = (
  left: KernelValue,
  right: KernelValue,
  { node, context }: { node: Node; context: Context },
): KernelValue =>
  left.kind === 'number' && right.kind === 'number'
    ? numberValue(left.value + right.value)
    : tileValue(
        context.builder.apply('add', [
          asTile(left, { node, context }),
          asTile(right, { node, context }, left.kind === 'tile' ? left.tile.dtype : undefined),
        ]),
      );

const negateValue = (value: KernelValue, { node, context }: { node: Node; context: Context }): KernelValue =>
  value.kind === 'number'
    ? numberValue(-value.value)
    : tileValue(context.builder.apply('neg', [asTile(value, { node, context })]));

interface Counter {
  readonly name: string;
  readonly pattern: Pattern;
  readonly init: Expression;
  readonly others: VariableDeclaration['declarations'];
  readonly operator: string;
  readonly bound: Expression;
  readonly step: Expression;
  readonly isDown: boolean;
}

const one: Expression = { type: 'Literal', value: 1, start: 0, end: 0, raw: '1' };

function counterOf({ init, test, update }: ForStatement): Counter | undefined {
  if (init?.type !== 'VariableDeclaration' || test?.type !== 'BinaryExpression') return undefined;
  if (test.left.type !== 'Identifier' || !['<', '<=', '>', '>='].includes(test.operator)) return undefined;
  const { name } = test.left;
  const own = init.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name);
  const advance = advanceOf(update, name);
  const start = own?.init ?? undefined;
  if (own === undefined || start === undefined || advance === undefined) return undefined;
  const others = init.declarations.filter((declaration) => declaration !== own);
  return { name, pattern: own.id, init: start, others, operator: test.operator, bound: test.right, ...advance };
}

/** How far a loop's update moves its counter. */
function advanceOf(update: ForStatement['update'], name: string): Pick<Counter, 'step' | 'isDown'> | undefined {
  const isCounter = (node: Node): boolean => node.type === 'Identifier' && (node as Identifier).name === name;
  if (update?.type === 'UpdateExpression')
    return isCounter(update.argument) ? { step: one, isDown: update.operator === '--' } : undefined;
  if (update?.type !== 'AssignmentExpression' || !isCounter(update.left)) return undefined;
  if (update.operator !== '+=' && update.operator !== '-=') return undefined;
  return { step: update.right, isDown: update.operator === '-=' };
}

/** What a loop carries: names, and where they stand. */
interface Carrying {
  readonly names: readonly string[];
  readonly initial: readonly KernelValue[];
  readonly node: Node;
  readonly context: Context;
}

const carrying = (node: Node, bodies: readonly Node[], context: Context): Carrying => {
  const names = assignedNames(bodies).filter((name) => context.scope.has(name));
  const initial = names.map((name) => context.scope.lookup(name) ?? undefinedValue);
  return { names, initial, node, context };
};

interface Attempt<Extra> {
  readonly carried: readonly Tile[];
  readonly body: Region;
  readonly extra: Extra;
}

const maximumAttempts = 4;

/** Lowers a body until its variables keep their types; `run` lowers it once with the variables bound. */
function settle<Extra>(
  { names, initial, node, context }: Carrying,
  run: (carried: readonly Tile[]) => Extra,
): Attempt<Extra> & { readonly types: readonly MergedType[] } {
  const { builder, scope } = context;
  const where = 'from one iteration to the next';
  let types = names.map((name, slot) => meet(at(initial, slot), at(initial, slot), { name, node, context, where }));
  const restore = (): void => {
    names.forEach((name, slot) => scope.assign(name, at(initial, slot)));
  };
  for (let attempt = 0; attempt < maximumAttempts; attempt += 1) {
    const carried = types.map((type) => builder.fresh(type));
    names.forEach((name, slot) => scope.assign(name, fromMerged(at(carried, slot), at(types, slot), context)));
    const { region, value: extra } = builder.region(() => run(carried));
    const ends = names.map((name) => scope.lookup(name) ?? undefinedValue);
    restore();
    const met = names.map((name, slot) => {
      const first = at(initial, slot);
      const begins =
        first.kind === 'number' || first.kind === 'boolean' || first.kind === 'pointer'
          ? first
          : fromMerged(at(carried, slot), at(types, slot), context);
      return meet(begins, at(ends, slot), { name, node, context, where });
    });
    const isSettled = met.every((type, slot) => type.dtype === at(types, slot).dtype);
    if (isSettled) {
      const yields = builder.append(region, () =>
        ends.map((value, slot) => toMerged(value, at(met, slot), { node, context }).id),
      );
      return { carried, body: { nodes: region.nodes, yields }, extra, types: met };
    }
    types = met;
  }
  throw faultAt(node, context, [
    'KERNEL_CARRIED',
    `the types of ${names.join(', ')} keep changing ${where}`,
    'cast what is assigned to the dtype that the variable begins with',
  ]);
}

function bind(results: readonly Tile[], types: readonly MergedType[], { names, context }: Carrying): void {
  names.forEach((name, slot) => context.scope.assign(name, fromMerged(at(results, slot), at(types, slot), context)));
}

function countedLoop({ node, pattern, from, to, step, numStages, body }: Counted, context: Context): void {
  const { builder } = context;
  const site = { node, context };
  const bounds = [from, to, step].map((value) => asTile(value, site));
  const wrong = bounds.find((tile) => tile.shape.length > 0 || !isInteger(tile.dtype));
  if (wrong !== undefined)
    throw faultAt(node, context, [
      'KERNEL_DTYPE',
      `a loop counts with ${describeValue(tileValue(wrong))}`,
      isFloat(wrong.dtype) ? 'cast it with tl.cast(x, tl.i32)' : 'use scalars of whole numbers as bounds and step',
    ]);
  const dtype = promoteTypes(bounds.map((tile) => tile.dtype).reduce(promoteTypes), 'i32') === 'i64' ? 'i64' : 'i32';
  const [first, last, distance] = bounds.map((tile) => builder.cast(tile, dtype)) as [Tile, Tile, Tile];
  const { origin } = builder;
  const carriedBy = carrying(node, [body], context);
  const induction = builder.fresh({ dtype, shape: [] });
  const {
    carried,
    body: region,
    types,
  } = settle(carriedBy, () => {
    const inner = { ...context, scope: new Scope(context.scope) };
    declarePattern(pattern, tileValue(induction), { context: inner, isConstant: true });
    runBody(body, inner);
  });
  builder.origin = origin;
  const initial = carriedBy.initial.map((value, slot) => toMerged(value, at(types, slot), site).id);
  const results = types.map((type) => builder.fresh(type));
  const made: ForNode = {
    kind: 'for',
    from: first.id,
    to: last.id,
    step: distance.id,
    induction,
    initial,
    carried,
    body: region,
    results,
    origin,
    ...(numStages === undefined ? {} : { numStages }),
  };
  builder.control(made);
  bind(results, types, carriedBy);
}

/** `while (test) body`: the test is worked out again before each iteration. */
export function lowerWhile(node: WhileStatement, context: Context): void {
  const { builder } = context;
  const { origin } = builder;
  const carriedBy = carrying(node, [node.test, node.body], context);
  const attempt = settle(carriedBy, () => {
    const tested = builder.region(() => {
      const value = lowerExpression(node.test, context);
      const known = knownTest(value);
      if (known === true)
        throw faultAt(node.test, context, [
          'KERNEL_CONDITION',
          'a loop whose test is always true',
          'test a variable that the loop assigns',
        ]);
      const tile = asTest(known === undefined ? value : { kind: 'boolean', value: known }, {
        node: node.test,
        context,
      });
      if (tile.shape.length > 0)
        throw faultAt(node.test, context, [
          'KERNEL_CONDITION',
          `a loop goes on while ${describeValue(value)}`,
          'reduce the block to a scalar: tl.max(tl.cast(test, tl.i32)) > 0',
        ]);
      return tile;
    });
    runBody(node.body, context);
    return { nodes: tested.region.nodes, yields: [tested.value.id] } satisfies Region;
  });
  builder.origin = origin;
  const initial = carriedBy.initial.map(
    (value, slot) => toMerged(value, at(attempt.types, slot), { node, context }).id,
  );
  const results = attempt.types.map((type) => builder.fresh(type));
  const { carried, body, extra: test } = attempt;
  const made: WhileNode = { kind: 'while', initial, carried, test, body, results, origin };
  builder.control(made);
  bind(results, attempt.types, carriedBy);
}
