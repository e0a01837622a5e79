// Which columns of a row count between two products, where a mask leaves out those too far ahead of the diagonal (causal attention), or
// too far behind it (a sliding window), or by a table of blocks. In: the nodes between the products. Out: how far from its row a column
// may be that still counts, on either side, and the table; nothing where all may.
//
// Nodes are evaluated in part, for a column that the mask excludes: what the mask puts there is -Infinity, which a
// maximum passes over; of which, less the largest of the row, exp makes 0, which a sum passes over; and 0 times one over that sum is 0.
// What the second product would multiply by 0 may be left out where that is 0: who leaves it out sees to it that it is.
import { at } from '@tsinductor/base';
import { add, axisIndex, coefficientOf, equal, int, subtract, substitute } from '@tsinductor/ir';
import type { Axis, Body, BufferId, Index, LoopNode, Scalar, ScalarId } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { blockTableIn, isOfTable } from './block-table.ts';
import type { BlockTable } from './block-table.ts';

/** What is known of a value in an excluded column. */
type Known = 'false' | 'minus infinity' | 'zero' | 'unknown';

export interface Between {
  /** In execution order. */
  readonly nodes: readonly LoopNode[];
  readonly rows: Axis;
  /** The names of the loops that all share, rows among them. */
  readonly outer: ReadonlySet<string>;
  /** How many columns there are. */
  readonly columns: Index;
  /** What the last products read. */
  readonly weights: readonly BufferId[];
}

/** Whether a value of a node's body is known to be finite in all columns. */
export type IsFinite = (node: LoopNode, body: Body, id: ScalarId) => boolean;

/** On which side of a row's place on the diagonal columns lie. */
type Side = 'ahead' | 'behind';

/** Columns from row - `behind` to row + `ahead` count; undefined: all on that side. Of these, those of blocks that the table has. */
export interface ColumnBounds extends Readonly<Record<Side, number | undefined>> {
  readonly table: BlockTable | undefined;
}

/**
 * Undefined where all columns count. Each row has one that does by its distance; a table may leave a row none, so who goes by it
 * computes one all the same. `isFinite`: of values that may be multiplied by 0.
 */
export function columnBounds(between: Between & { readonly isFinite: IsFinite }): ColumnBounds | undefined {
  const [ahead, far] = [boundOn('ahead', between), boundOn('behind', between)];
  const behind = far !== undefined && reachesRows(between, far) ? far : undefined;
  const found = first(between, ({ body, ...grid }) => blockTableIn(body, grid, (buffer) => isMadeBy(between, buffer)));
  const table = found !== undefined && excludes(found, between) ? found : undefined;
  return ahead === undefined && behind === undefined && table === undefined ? undefined : { ahead, behind, table };
}

const isMadeBy = ({ nodes }: Between, buffer: BufferId): boolean => nodes.some(({ outs }) => outs.includes(buffer));

/** Whether the last row is no further from the last column than this. */
const reachesRows = ({ rows, columns }: Pick<Between, 'rows' | 'columns'>, behind: number): boolean =>
  rows.extent.kind === 'int' && columns.kind === 'int' && rows.extent.value <= columns.value + behind;

function boundOn(side: Side, between: Between & { readonly isFinite: IsFinite }): number | undefined {
  const bound = first(between, ({ body, rows, columns }) =>
    body.nodes.map((scalar) => boundBy(body, scalar, { rows, column: columns })).find((found) => found?.side === side),
  );
  return bound !== undefined && bound.by >= 0 && excludes(bound, between) ? bound.by : undefined;
}

/** A loop over columns: what it does for each of them. */
interface OverColumns {
  readonly body: Body;
  readonly rows: Axis;
  readonly columns: Axis;
}

/** The first answer for the nodes with loops over columns. */
const first = <T>(between: Between, ask: (loop: OverColumns) => T | undefined): T | undefined =>
  between.nodes
    .map((node) => {
      const columns = columnOf(node, between);
      const body = node.kind === 'map' ? node.body : node.kind === 'reduce' ? node.step : undefined;
      return columns && body && ask({ body, rows: between.rows, columns });
    })
    .find((found) => found !== undefined);

/** Whether a column that a bound excludes changes nothing of what the last products read but to 0. */
function excludes(bound: Bound | BlockTable, between: Between & { readonly isFinite: IsFinite }): boolean {
  const known = new Map<BufferId, KnownBuffer>();
  for (const node of between.nodes) {
    if (innerLoops(node, between).length === 0) continue;
    const column = columnOf(node, between);
    if (column === undefined) return false;
    const masked: Masked = { ...between, node, column, bound, known };
    if (node.kind === 'reduce') {
      if (!passesOver(node.step, masked)) return false;
    } else if (node.kind === 'map') {
      node.outs.forEach((out, slot) => {
        const value = valueOf(node.body, at(node.body.results, slot), masked);
        known.set(out, { value, at: inColumn(at(node.writes, slot), column) });
      });
    } else return false;
  }
  return between.weights.every((weights) => known.get(weights)?.value === 'zero');
}

/** What is known of a buffer's elements, which lie there. */
interface KnownBuffer {
  readonly value: Known;
  readonly at: Index;
}

/** A place with the loop over columns by one name, whatever a node calls it. */
const inColumn = (place: Index, column: Axis): Index =>
  substitute(place, new Map([[column.name, axisIndex({ ...column, name: 'column' })]]));

/** How far from its row a column may be. */
interface Bound {
  readonly side: Side;
  readonly by: number;
}

interface Masked extends Between {
  readonly isFinite: IsFinite;
  readonly node: LoopNode;
  /** The loop over columns. */
  readonly column: Axis;
  readonly bound: Bound | BlockTable;
  /** What is known of buffers in excluded columns. */
  readonly known: ReadonlyMap<BufferId, KnownBuffer>;
}

/** The loops of a node inside those that all share. */
const innerLoops = (node: LoopNode, { outer }: Pick<Between, 'outer'>): readonly Axis[] =>
  [...node.axes, ...(node.kind === 'reduce' ? node.over : [])].filter(({ name }) => !outer.has(name));

/** The loop of a node over columns: the only one inside the loop over rows. */
export function columnOf(node: LoopNode, between: Pick<Between, 'outer' | 'columns'>): Axis | undefined {
  const { columns } = between;
  const [column, ...others] = innerLoops(node, between);
  return others.length === 0 && column !== undefined && equal(column.extent, columns) ? column : undefined;
}

type Axes = Pick<Masked, 'rows' | 'column'>;

/** Whether a condition only bounds the distance from the diagonal, so that it holds for a column of each row. */
export function isDiagonal(
  node: LoopNode,
  body: Body,
  { id, ...between }: Pick<Between, 'rows' | 'outer' | 'columns'> & { readonly id: ScalarId },
): boolean {
  const column = columnOf(node, between);
  const scalar = at(body.nodes, id);
  if (column === undefined || scalar.kind !== 'apply') return false;
  if (scalar.op === 'logicalAnd' || scalar.op === 'bitwiseAnd')
    return scalar.args.every((arg) => isDiagonal(node, body, { ...between, id: arg }));
  const bound = boundBy(body, scalar, { rows: between.rows, column });
  return bound !== undefined && bound.by >= 0 && (bound.side === 'ahead' || reachesRows(between, bound.by));
}

/** `row + by >= column`, `column + by >= row` and the like: how far a column may be for which it holds. */
function boundBy(body: Body, scalar: Scalar, { rows, column }: Axes): Bound | undefined {
  if (scalar.kind !== 'apply') return undefined;
  const form = comparisons[scalar.op];
  if (form === undefined) return undefined;
  const [left, right] = scalar.args.map((id) => indexOf(body, id));
  if (left === undefined || right === undefined) return undefined;
  // What is compared with 0: from each column to the next it changes by one, and as much the other way from row to row.
  const margin = add(form.isAtLeast ? subtract(left, right) : subtract(right, left), int(form.isStrict ? -1 : 0));
  const side = sideOf(coefficientOf(margin, rows), coefficientOf(margin, column));
  if (side === undefined) return undefined;
  const rest = substitute(
    margin,
    new Map([
      [rows.name, int(0)],
      [column.name, int(0)],
    ]),
  );
  return rest.kind === 'int' ? { side, by: rest.value } : undefined;
}

/** By what a margin changes from row to row, and from column to column. */
function sideOf(down: Index | undefined, along: Index | undefined): Side | undefined {
  const isBy = (one: Index | undefined, step: number): boolean => one !== undefined && equal(one, int(step));
  if (isBy(down, 1) && isBy(along, -1)) return 'ahead';
  return isBy(down, -1) && isBy(along, 1) ? 'behind' : undefined;
}

const comparisons: Readonly<Record<string, { readonly isAtLeast: boolean; readonly isStrict: boolean }>> = {
  ge: { isAtLeast: true, isStrict: false },
  gt: { isAtLeast: true, isStrict: true },
  le: { isAtLeast: false, isStrict: false },
  lt: { isAtLeast: false, isStrict: true },
};

/** The index that a value is. */
function indexOf(body: Body, id: ScalarId): Index | undefined {
  const scalar = at(body.nodes, id);
  if (scalar.kind === 'index') return scalar.value;
  if (scalar.kind === 'constant' && typeof scalar.value === 'object') return int(Number(scalar.value.bigint));
  if (scalar.kind === 'constant' && typeof scalar.value === 'number' && Number.isInteger(scalar.value))
    return int(scalar.value);
  return undefined;
}

/** Whether the state after an excluded column is the one before it. */
const passesOver = (step: Body, masked: Masked): boolean =>
  step.results.every((result, slot) => {
    const scalar = at(step.nodes, result);
    if (scalar.kind !== 'apply') return false;
    const neutral = scalar.op === 'maximum' ? 'minus infinity' : scalar.op === 'add' ? 'zero' : undefined;
    const [state, ...others] = [...scalar.args].sort((a, b) => rank(step, a) - rank(step, b));
    const carried = state === undefined ? undefined : at(step.nodes, state);
    return (
      neutral !== undefined &&
      carried?.kind === 'carried' &&
      carried.slot === slot &&
      others.every((other) => valueOf(step, other, masked) === neutral)
    );
  });

const rank = (body: Body, id: ScalarId): number => (at(body.nodes, id).kind === 'carried' ? 0 : 1);

function valueOf(body: Body, id: ScalarId, masked: Masked): Known {
  const scalar = at(body.nodes, id);
  switch (scalar.kind) {
    case 'constant':
      return scalar.value === '-Infinity' ? 'minus infinity' : scalar.value === 0 ? 'zero' : 'unknown';
    case 'cast':
      return valueOf(body, scalar.value, masked);
    case 'load':
      return loadedValue(scalar, masked);
    case 'apply':
      return appliedTo(body, scalar, masked);
    case 'index':
    case 'carried':
    case 'bitcast':
    case 'check':
      return 'unknown';
  }
}

/** What is known of the element of this very column. */
function loadedValue(load: Scalar & { readonly kind: 'load' }, { known, column, bound, rows }: Masked): Known {
  if ('buffer' in bound && isOfTable(load, bound, { rows, columns: column })) return 'false';
  const of = known.get(load.buffer);
  const isHere = load.mask === undefined && of !== undefined && equal(of.at, inColumn(load.at, column));
  return isHere ? of.value : 'unknown';
}

/** A call of an op in an excluded column. */
interface Call {
  readonly body: Body;
  readonly args: readonly ScalarId[];
  readonly masked: Masked;
  /** What is known of an argument. */
  readonly value: (position: number) => Known;
}

const either = ({ value }: Call): Known => (value(0) === 'false' || value(1) === 'false' ? 'false' : 'unknown');

/** What ops make of what is known; of all others nothing is. */
const rules: Readonly<Partial<Record<PointwiseName, (call: Call) => Known>>> = {
  where: ({ value }) => (value(0) === 'false' || value(1) === value(2) ? value(2) : 'unknown'),
  logicalAnd: either,
  bitwiseAnd: either,
  sub: ({ body, args, masked, value }) =>
    value(0) === 'minus infinity' && isOfRow(body, args[1], masked) ? 'minus infinity' : 'unknown',
  exp: ({ value }) => (value(0) === 'minus infinity' ? 'zero' : 'unknown'),
  mul: (call) =>
    isTimesFinite(call, [0, 1]) ||
    isTimesFinite(call, [1, 0]) ||
    isPartOfSum(call, [0, 1], reciprocalOf) ||
    isPartOfSum(call, [1, 0], reciprocalOf)
      ? 'zero'
      : 'unknown',
  div: (call) => (isPartOfSum(call, [0, 1], loadedBy) ? 'zero' : 'unknown'),
};

function appliedTo(body: Body, scalar: Scalar & { readonly kind: 'apply' }, masked: Masked): Known {
  const { op, args } = scalar;
  if (comparisons[op] !== undefined) {
    const [own, { bound }] = [boundBy(body, scalar, masked), masked];
    return 'side' in bound && own?.side === bound.side && own.by === bound.by ? 'false' : 'unknown';
  }
  const value = (position: number): Known => {
    const id = args[position];
    return id === undefined ? 'unknown' : valueOf(body, id, masked);
  };
  return rules[op]?.({ body, args, masked, value }) ?? 'unknown';
}

/** What makes the buffer that a value loads, if a node between the products does. */
const makerOf = (buffer: BufferId | undefined, { nodes }: Masked): LoopNode | undefined =>
  buffer === undefined ? undefined : nodes.find(({ outs }) => outs.includes(buffer));

/** The step of a reduction to one state, where it is a call of `op`. */
function stepOf(node: LoopNode | undefined, op: PointwiseName): (Scalar & { readonly kind: 'apply' }) | undefined {
  if (node?.kind !== 'reduce' || node.step.results.length !== 1) return undefined;
  const step = at(node.step.nodes, at(node.step.results, 0));
  return step.kind === 'apply' && step.op === op ? step : undefined;
}

/** Whether a value is the largest of its row, which is NaN or infinite only where the whole row is undefined. */
const isOfRow = (body: Body, id: ScalarId | undefined, masked: Masked): boolean =>
  stepOf(makerOf(totalLoadedBy(body, id, Number.isFinite), masked), 'maximum') !== undefined;

export const loadedBy = (body: Body, id: ScalarId | undefined): BufferId | undefined => {
  const scalar = id === undefined ? undefined : at(body.nodes, id);
  return scalar?.kind === 'load' && scalar.mask === undefined ? scalar.buffer : undefined;
};

const finiteNumber = (scalar: Scalar | undefined): number =>
  scalar?.kind === 'constant' && typeof scalar.value === 'number' ? scalar.value : NaN;

/** The same of a total in whose place a row without columns has another number: `where(x == c, number, x)`. */
function totalLoadedBy(
  body: Body,
  id: ScalarId | undefined,
  isAllowed: (number: number) => boolean,
): BufferId | undefined {
  const scalar = id === undefined ? undefined : at(body.nodes, id);
  if (scalar?.kind !== 'apply' || scalar.op !== 'where') return loadedBy(body, id);
  const [condition, number] = scalar.args.map((arg) => at(body.nodes, arg));
  const total = loadedBy(body, scalar.args[2]);
  const isCompared = isEquality(condition) && condition.args.some((arg) => loadedBy(body, arg) === total);
  return isCompared && isAllowed(finiteNumber(number)) ? total : undefined;
}

const isEquality = (scalar: Scalar | undefined): scalar is Scalar & { readonly kind: 'apply' } =>
  scalar?.kind === 'apply' && scalar.op === 'eq';

/** The buffer of which a value is one over an element. */
function reciprocalOf(body: Body, id: ScalarId | undefined, masked: Masked): BufferId | undefined {
  const maker = makerOf(loadedBy(body, id), masked);
  if (maker?.kind !== 'map' || maker.body.results.length !== 1) return undefined;
  const scalar = at(maker.body.nodes, at(maker.body.results, 0));
  return scalar.kind === 'apply' && scalar.op === 'reciprocal'
    ? totalLoadedBy(maker.body, scalar.args[0], (number) => Number.isFinite(1 / number))
    : undefined;
}

/** Whether one argument is 0, and the other finite. */
const isTimesFinite = ({ body, args, masked, value }: Call, [zero, other]: readonly [number, number]): boolean =>
  value(zero) === 'zero' && args[other] !== undefined && masked.isFinite(masked.node, body, args[other]);

/**
 * Whether one argument is an element of a row that exp made, and is 0, and the other the sum of that very row: the sum is 0 only
 * where all of the row are, so their quotient is NaN for all of them or 0 for this one.
 */
function isPartOfSum(
  { body, args, masked, value }: Call,
  [part, whole]: readonly [number, number],
  sumOf: (body: Body, id: ScalarId | undefined, masked: Masked) => BufferId | undefined,
): boolean {
  const maker = makerOf(sumOf(body, args[whole], masked), masked);
  const row = loadedBy(body, args[part]);
  const step = stepOf(maker, 'add');
  if (value(part) !== 'zero' || row === undefined || maker?.kind !== 'reduce' || step === undefined) return false;
  return step.args.some((id) => loadedBy(maker.step, id) === row);
}
