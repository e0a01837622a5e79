// Traversal of the Kernel IR, written once: the parts of a value, the parts of a statement.
import type { Index } from '../index-expr.ts';
import type { Access, SortStmt, Stmt, TileCorner, Value } from './kernel.ts';

/** Most values and statements have no parts of a kind: they share the empty list. */
const none: readonly never[] = [];

/** The values that `value` is computed from. */
export function valueOperands(value: Value): readonly Value[] {
  switch (value.kind) {
    case 'name':
    case 'constant':
    case 'index':
    case 'first':
      return none;
    case 'apply':
    case 'target':
      return value.args;
    case 'cast':
    case 'bitcast':
    case 'broadcast':
    case 'half':
      return [value.value];
    case 'rearranged':
      return [value.value, value.other];
    case 'load':
      return present(value.access.offsets, value.mask, value.other);
  }
}

const present = (...values: readonly (Value | undefined)[]): readonly Value[] =>
  values.filter((value) => value !== undefined);

/** Visits `value` and everything below it, operands first. */
export function visitValue(value: Value, visit: (value: Value) => void): void {
  for (const operand of valueOperands(value)) visitValue(operand, visit);
  visit(value);
}

/** The values that stand directly in a statement (not those of statements inside it). */
export function statementValues(statement: Stmt): readonly Value[] {
  switch (statement.kind) {
    case 'let':
    case 'var':
    case 'set':
    case 'check':
    case 'shuffle':
      return [statement.value];
    case 'store':
      return present(statement.value, statement.access.offsets, statement.mask);
    case 'bounds':
      return present(statement.access.offsets, statement.mask);
    case 'atomic':
      return [statement.value];
    case 'copyAsync':
      return statement.mask === undefined ? none : [statement.mask];
    case 'matrixMultiply':
      return [...statement.left, ...statement.right];
    case 'print':
      return statement.parts.filter((part) => typeof part !== 'string');
    case 'copies':
    case 'matrixLoad':
      return none;
    case 'fetch':
      return statement.expected === undefined ? [statement.value] : [statement.value, statement.expected];
    case 'for':
    case 'while':
    case 'if':
    case 'parallel':
    case 'scratch':
    case 'barrier':
    case 'transpose':
    case 'sort':
    case 'fence':
    case 'prefetch':
    case 'fail':
    case 'comment':
      return none;
  }
}

/** The blocks inside a statement. */
export function statementBlocks(statement: Stmt): readonly (readonly Stmt[])[] {
  switch (statement.kind) {
    case 'for':
    case 'while':
      return [statement.body];
    case 'parallel':
      return statement.ordered === undefined ? [statement.body] : [statement.body, statement.ordered.body];
    case 'if':
      return statement.otherwise === undefined ? [statement.then] : [statement.then, statement.otherwise];
    case 'let':
    case 'var':
    case 'set':
    case 'store':
    case 'atomic':
    case 'fetch':
    case 'scratch':
    case 'barrier':
    case 'shuffle':
    case 'copyAsync':
    case 'copies':
    case 'matrixLoad':
    case 'matrixMultiply':
    case 'check':
    case 'print':
    case 'fail':
    case 'bounds':
    case 'transpose':
    case 'sort':
    case 'fence':
    case 'prefetch':
    case 'comment':
      return none;
  }
}

/** The statement with its blocks replaced by what `change` makes of them: itself where it changes none. */
export function withBlocks(statement: Stmt, change: (block: readonly Stmt[]) => readonly Stmt[]): Stmt {
  const blocks = statementBlocks(statement);
  if (blocks.length === 0) return statement;
  // From the last to the first: what a block defines is used in none before it.
  const changed = blocks.toReversed().map(change).toReversed();
  const [first, second] = changed;
  if (first === undefined || changed.every((block, position) => block === blocks[position])) return statement;
  if (statement.kind === 'if')
    return { ...statement, then: first, ...(second === undefined ? {} : { otherwise: second }) };
  if (statement.kind === 'for' || statement.kind === 'while') return { ...statement, body: first };
  if (statement.kind !== 'parallel') return statement;
  const { ordered } = statement;
  return { ...statement, body: first, ...(ordered && second ? { ordered: { ...ordered, body: second } } : {}) };
}

/** Visits every statement of a block, outer before inner. */
export function visitStatements(block: readonly Stmt[], visit: (statement: Stmt) => void): void {
  for (const statement of block) {
    visit(statement);
    for (const inner of statementBlocks(statement)) visitStatements(inner, visit);
  }
}

const accessIndexes = ({ at, step, count }: Access): readonly Index[] =>
  count === undefined ? [at, step] : [at, step, count];

/** The index expressions that stand directly in a value. */
export function valueIndexes(value: Value): readonly Index[] {
  if (value.kind === 'index') return [value.value];
  if (value.kind === 'first') return [value.count];
  return value.kind === 'load' ? accessIndexes(value.access) : none;
}

/** Where a sort reads and writes. */
export const sortCorners = ({ keys, places, values, indices }: SortStmt): readonly TileCorner[] =>
  [keys, places, values, indices].filter((corner) => corner !== undefined);

/** The buffers that a sort writes. */
export const sortResults = ({ values, indices, scratch }: SortStmt): readonly string[] =>
  [values, indices, scratch].flatMap((place) => (place === undefined ? [] : [place.buffer]));

/** The index expressions that stand directly in a statement, its values' apart. */
export function statementIndexes(statement: Stmt): readonly Index[] {
  switch (statement.kind) {
    case 'store':
    case 'atomic':
    case 'fetch':
      return accessIndexes(statement.access);
    case 'for':
      return [statement.from, statement.to, ...(typeof statement.step === 'number' ? none : [statement.step])];
    case 'shuffle':
      return [statement.distance];
    case 'if':
    case 'while':
      return [statement.test.left, statement.test.right];
    case 'parallel':
      return [statement.total, statement.grain];
    case 'check':
      return statement.count === undefined ? [statement.extent] : [statement.extent, statement.count];
    case 'transpose':
      return [
        statement.from.at,
        statement.from.step,
        statement.to.at,
        statement.to.step,
        statement.rows,
        statement.columns,
      ];
    case 'sort':
      return [
        ...sortCorners(statement).flatMap(({ at, step }) => [at, step]),
        ...[statement.length, statement.kept, statement.scratch.at],
      ];
    case 'prefetch':
      return [statement.at];
    case 'print':
    case 'fail':
      return [statement.unit];
    case 'bounds':
      return [...accessIndexes(statement.access), statement.count, statement.size, statement.unit];
    case 'copyAsync':
      return [statement.from.at, statement.to.at];
    case 'matrixLoad':
      return [statement.from.at];
    case 'matrixMultiply':
      return [statement.sum.at];
    case 'copies':
    case 'let':
    case 'var':
    case 'set':
    case 'scratch':
    case 'barrier':
    case 'fence':
    case 'comment':
      return none;
  }
}
