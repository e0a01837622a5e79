// Reductions and scans along an axis. A reduction keeps the order that Block IR defines (see `reductionOrder`), so that its bits
// are those of every other target: a team of up to 32 threads has a row, each the partial results of its lanes, and halves
// them with shuffles. A scan whose combine is associative to the last bit is done by teams as well; any other goes element by
// element, a thread for each row, as its definition says.
import { at, isFloat } from '@tsinductor/base';
import { apply, combineValues, scalarIndexOf, scalarOfIndex, whereTrue } from '@tsinductor/codegen';
import {
  add,
  floorDivide,
  int,
  modulo,
  multiply,
  reductionOrder,
  subtract,
  tileSize,
  warpThreads,
} from '@tsinductor/ir';
import type { FoldNode, Index, Stmt, Value } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import { bindFragmentFold } from './bind-fragment-fold.ts';
import { elementAt, sharedPlace } from './evaluate-tile.ts';
import { coordinatesOf } from './layout.ts';
import { copyToShared, storeShared } from './move-tiles.ts';

/** How the rows of a fold are shared among threads. */
interface Rows {
  readonly node: FoldNode;
  readonly operands: readonly SharedTile[];
  readonly extent: number;
  /** The other axes' extents, and how many rows they make. */
  readonly shape: readonly number[];
  readonly count: number;
  /** Threads of a team, and the number of this thread in it. */
  readonly team: number;
  readonly lane: Index;
}

function rowsOf(node: FoldNode, team: number, binder: BlockBinder): Rows {
  const operands = node.args.map((id) => copyToShared(id, binder));
  const full = binder.tile(at(node.args, 0)).shape;
  const shape = full.filter((_, axis) => axis !== node.axis);
  const lane = modulo(binder.thread, int(team));
  return { node, operands, extent: at(full, node.axis), shape, count: tileSize(shape), team, lane };
}

/** The operands' elements of a row. */
function elementsOf(
  { node, operands, shape }: Rows,
  { row, place }: { row: Index; place: Index },
  binder: BlockBinder,
): readonly Value[] {
  const coordinates = coordinatesOf(row, shape).toSpliced(node.axis, 0, place);
  return operands.map((operand, slot) => {
    const { dtype } = binder.tile(at(node.args, slot));
    const access = elementAt(operand.name, sharedPlace(operand, coordinates, binder), dtype);
    return binder.name({ kind: 'load', access, type: { dtype, lanes: 1 } }, `${operand.name}_at`);
  });
}

/** Runs `body` for every row that this thread's team has; all threads take part in every turn. */
function overRows({ count, team }: Rows, binder: BlockBinder, body: (row: Index) => void): void {
  const teams = binder.threads / team;
  const own = floorDivide(binder.thread, int(team));
  if (count <= teams) {
    body(modulo(own, int(count)));
    return;
  }
  const name = binder.writer.fresh('turn');
  const turn: Index = { kind: 'axis', axis: { name, extent: int(count / teams) } };
  const statements = binder.writer.block([name], () => {
    body(add(multiply(turn, int(teams)), own));
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: int(count / teams), step: 1, body: statements });
}

/** Whether this thread stores what its team found out about a row; undefined: it does. */
function isLeader({ count, team, lane }: Rows, leader: number, binder: BlockBinder): Value | undefined {
  const tests: Value[] = [];
  const test = (op: 'eq' | 'lt', index: Index, limit: number): void => {
    tests.push(
      binder.name(apply(op, [scalarOfIndex(index, 'i64'), scalarOfIndex(int(limit), 'i64')], 'bool'), 'leads'),
    );
  };
  if (team > 1) test('eq', lane, leader);
  if (count * team < binder.threads) test('lt', binder.thread, count * team);
  const [first, second] = tests;
  return first === undefined || second === undefined
    ? first
    : binder.name(apply('logicalAnd', [first, second], 'bool'), 'leads');
}

function shuffled(
  value: Value,
  { mode, distance }: Pick<Stmt & { readonly kind: 'shuffle' }, 'mode' | 'distance'>,
  binder: BlockBinder,
): Value {
  const name = binder.writer.fresh('other');
  binder.writer.emit({ kind: 'shuffle', name, value, mode, distance });
  return { kind: 'name', name, type: value.type };
}

const variableValue = (name: string, like: Value): Value => ({ kind: 'name', name, type: like.type });

export function bindReduction(node: FoldNode, binder: BlockBinder): void {
  if (bindFragmentFold(node, binder)) return;
  const extent = at(binder.tile(at(node.args, 0)).shape, node.axis);
  const { partials } = reductionOrder(extent);
  const rows = rowsOf(node, Math.min(warpThreads, partials), binder);
  if (rows.shape.length === 0) {
    const states = reduceRow(rows, { row: int(0), partials }, binder);
    const first = subtract(modulo(binder.thread, int(warpThreads)), rows.lane);
    node.results.forEach((tile, slot) => {
      const state = at(states, slot);
      const value = rows.team === 1 ? state : shuffled(state, { mode: 'from', distance: first }, binder);
      binder.homes.set(tile.id, { kind: 'scalar', value, index: scalarIndexOf(value) });
    });
    return;
  }
  const results = node.results.map((tile) => binder.sharedTile(`${binder.label(tile.id, 'reduced')}_shared`, tile));
  overRows(rows, binder, (row) => {
    const states = reduceRow(rows, { row, partials }, binder);
    storeRow(rows, { results, values: states, coordinates: coordinatesOf(row, rows.shape), leader: 0 }, binder);
  });
  binder.barrier();
  results.forEach((tile, slot) => binder.homes.set(at(node.results, slot).id, { kind: 'shared', tile }));
}

interface RowResult {
  readonly results: readonly SharedTile[];
  readonly values: readonly Value[];
  readonly coordinates: readonly Index[];
  readonly leader: number;
}

function storeRow(rows: Rows, { results, values, coordinates, leader }: RowResult, binder: BlockBinder): void {
  const owner = isLeader(rows, leader, binder);
  results.forEach((result, slot) => {
    storeShared(result, { coordinates, value: at(values, slot), owner }, binder);
  });
}

/** The states of a row, right in the first thread of the team. */
function reduceRow(
  rows: Rows,
  { row, partials }: { row: Index; partials: number },
  binder: BlockBinder,
): readonly Value[] {
  const { node, team, lane, extent } = rows;
  const own = Array.from({ length: partials / team }, (_, part) =>
    partial(rows, { row, partials, first: add(lane, int(part * team)) }, binder),
  );
  let states = at(own, 0);
  for (const further of own.slice(1)) states = combineValues(node, [states, further], binder);
  for (let distance = Math.min(team, extent) / 2; distance >= 1; distance /= 2) {
    const others = states.map((state) => shuffled(state, { mode: 'down', distance: int(distance) }, binder));
    states = combineValues(node, [states, others], binder);
  }
  return states;
}

/** A partial result: every `partials`th element of the row, in order. */
function partial(
  rows: Rows,
  { row, partials, first }: { row: Index; partials: number; first: Index },
  binder: BlockBinder,
): readonly Value[] {
  const { node, extent } = rows;
  const start = elementsOf(rows, { row, place: first }, binder);
  if (extent === partials) return start;
  const variables = start.map((value) => {
    const name = binder.writer.fresh('state');
    binder.writer.emit({ kind: 'var', name, value });
    return name;
  });
  const name = binder.writer.fresh('from');
  const from: Index = { kind: 'axis', axis: { name, extent: int(extent) } };
  const body = binder.writer.block([name], () => {
    const next = elementsOf(rows, { row, place: add(from, first) }, binder);
    const states = variables.map((variable, slot) => variableValue(variable, at(start, slot)));
    const combined = combineValues(node, [states, next], binder);
    variables.forEach((variable, slot) =>
      binder.writer.emit({ kind: 'set', name: variable, value: at(combined, slot) }),
    );
  });
  binder.writer.emit({ kind: 'for', name, from: int(partials), to: int(extent), step: partials, body });
  return variables.map((variable, slot) => variableValue(variable, at(start, slot)));
}

/** Whether a combine gives the same bits in whatever way its operands are grouped. */
const isExact = (node: FoldNode, binder: BlockBinder): boolean => {
  const values = new Map(node.left.map((tile, slot) => [tile.id, slot]));
  return (
    node.combine.nodes.length === node.args.length &&
    node.args.every((id) => !isFloat(binder.tile(id).dtype)) &&
    node.combine.nodes.every(
      (inner, slot) =>
        inner.kind === 'op' &&
        inner.op === 'apply' &&
        pointwise[inner.attrs.op].traits.associative === true &&
        values.get(at(inner.args, 0)) === slot &&
        inner.args[1] === node.right[slot]?.id &&
        node.combine.yields[slot] === inner.results[0]?.id,
    )
  );
};

export function bindScan(node: FoldNode, binder: BlockBinder): void {
  const extent = at(binder.tile(at(node.args, 0)).shape, node.axis);
  const rows = rowsOf(node, isExact(node, binder) ? Math.min(warpThreads, extent) : 1, binder);
  const results = node.results.map((tile) => binder.sharedTile(`${binder.label(tile.id, 'scanned')}_shared`, tile));
  overRows(rows, binder, (row) => {
    if (rows.team === 1) scanInOrder(rows, { row, results }, binder);
    else scanByTeam(rows, { row, results }, binder);
  });
  binder.barrier();
  results.forEach((tile, slot) => binder.homes.set(at(node.results, slot).id, { kind: 'shared', tile }));
}

interface Scanning {
  readonly row: Index;
  readonly results: readonly SharedTile[];
}

const scanPlace = ({ node, extent }: Rows, step: Index): Index =>
  node.reverse ? subtract(int(extent - 1), step) : step;

const placedIn = ({ node, shape }: Rows, row: Index, place: Index): readonly Index[] =>
  coordinatesOf(row, shape).toSpliced(node.axis, 0, place);

function scanInOrder(rows: Rows, { row, results }: Scanning, binder: BlockBinder): void {
  const { node, extent } = rows;
  const first = scanPlace(rows, int(0));
  const start = elementsOf(rows, { row, place: first }, binder);
  storeRow(rows, { results, values: start, coordinates: placedIn(rows, row, first), leader: 0 }, binder);
  const variables = start.map((value) => {
    const name = binder.writer.fresh('state');
    binder.writer.emit({ kind: 'var', name, value });
    return name;
  });
  const name = binder.writer.fresh('step');
  const step: Index = { kind: 'axis', axis: { name, extent: int(extent) } };
  const body = binder.writer.block([name], () => {
    const place = scanPlace(rows, step);
    const next = elementsOf(rows, { row, place }, binder);
    const states = variables.map((variable, slot) => variableValue(variable, at(start, slot)));
    const combined = combineValues(node, [states, next], binder);
    storeRow(rows, { results, values: combined, coordinates: placedIn(rows, row, place), leader: 0 }, binder);
    variables.forEach((variable, slot) =>
      binder.writer.emit({ kind: 'set', name: variable, value: at(combined, slot) }),
    );
  });
  binder.writer.emit({ kind: 'for', name, from: int(1), to: int(extent), step: 1, body });
}

/** A row in chunks as long as the team, each scanned by shuffles of doubling distance; the last state goes on to the next chunk. */
function scanByTeam(rows: Rows, { row, results }: Scanning, binder: BlockBinder): void {
  const { node, team, lane, extent } = rows;
  const chunk = (from: Index, before: readonly Value[] | undefined): readonly Value[] => {
    const place = scanPlace(rows, add(from, lane));
    let states = elementsOf(rows, { row, place }, binder);
    for (let distance = 1; distance < team; distance *= 2) states = joined(rows, { states, distance }, binder);
    if (before !== undefined) states = combineValues(node, [before, states], binder);
    results.forEach((result, slot) => {
      const owner = isLeader({ ...rows, team: 1, count: rows.count * team }, 0, binder);
      storeShared(result, { coordinates: placedIn(rows, row, place), value: at(states, slot), owner }, binder);
    });
    return states;
  };
  const last = add(subtract(modulo(binder.thread, int(warpThreads)), lane), int(team - 1));
  const carry = (states: readonly Value[]): readonly Value[] =>
    states.map((state) => shuffled(state, { mode: 'from', distance: last }, binder));
  const first = chunk(int(0), undefined);
  if (extent === team) return;
  const variables = carry(first).map((value) => {
    const name = binder.writer.fresh('carry');
    binder.writer.emit({ kind: 'var', name, value });
    return variableValue(name, value);
  });
  const name = binder.writer.fresh('from');
  const from: Index = { kind: 'axis', axis: { name, extent: int(extent) } };
  const body = binder.writer.block([name], () => {
    const next = carry(chunk(from, variables));
    variables.forEach((variable, slot) =>
      binder.writer.emit({ kind: 'set', name: variable.kind === 'name' ? variable.name : '', value: at(next, slot) }),
    );
  });
  binder.writer.emit({ kind: 'for', name, from: int(team), to: int(extent), step: team, body });
}

/** States joined with those `distance` threads before; the first ones have nobody before them. */
function joined(
  rows: Rows,
  { states, distance }: { states: readonly Value[]; distance: number },
  binder: BlockBinder,
): readonly Value[] {
  const before = states.map((state) => shuffled(state, { mode: 'up', distance: int(distance) }, binder));
  const variables = states.map((state) => {
    const name = binder.writer.fresh('state');
    binder.writer.emit({ kind: 'var', name, value: state });
    return name;
  });
  const hasBefore = apply('ge', [scalarOfIndex(rows.lane, 'i64'), scalarOfIndex(int(distance), 'i64')], 'bool');
  whereTrue(hasBefore, binder, {
    run: () => {
      const combined = combineValues(rows.node, [before, states], binder);
      variables.forEach((name, slot) => binder.writer.emit({ kind: 'set', name, value: at(combined, slot) }));
    },
  });
  return variables.map((name, slot) => variableValue(name, at(states, slot)));
}
