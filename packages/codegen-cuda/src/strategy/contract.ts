// Matrix products. A block computes a square tile of the result: tiles of both operands go through shared memory, in the
// dtype of accumulation, and each thread sums a few rows of one column in registers, in ascending order of k.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import type { DType } from '@tsinductor/base';
import {
  bindAxis,
  declareVariable,
  emptyFrame,
  evaluateBody,
  evaluationAt,
  placesAt,
  product,
  strideAlong,
} from '@tsinductor/codegen';
import {
  add,
  axisIndex,
  BodyBuilder,
  ceilDivide,
  floorDivide,
  int,
  modulo,
  multiply,
  replayBody,
  substitute,
  substituteAxes,
} from '@tsinductor/ir';
import type { Axis, Body, ContractOperand, Index, LoopNode, Value } from '@tsinductor/ir';
import { mapThreads, mostBlocks, tileSide } from '../target.ts';
import { axisValue, clipped, gridOf, indexType, loop, nameIndex, threadOf, unravel, writeResult } from './nest.ts';
import type { Grid, Nest } from './nest.ts';

type Contract = LoopNode & { readonly kind: 'contract' };

/** One element longer than a row needs: the threads of a warp read a column from different banks. */
const pitch = tileSide + 1;
const rowsAtOnce = mapThreads / tileSide;
const rowsPerThread = tileSide / rowsAtOnce;

/** A product over one axis. */
interface Product extends Contract {
  readonly k: Axis;
}

/** What is summed over as one axis: a convolution is a product whose first operand is computed from windows as it is read. */
function overOneAxis(node: Contract): Product {
  const { over, a, b } = node;
  const [first, ...others] = over;
  if (first !== undefined && others.length === 0) return { ...node, k: first };
  const k: Axis = { name: over.map(({ name }) => name).join('_'), extent: product(over.map(({ extent }) => extent)) };
  const map = new Map<string, Index>();
  let rest: Index = axisIndex(k);
  for (const axis of over.toReversed()) {
    map.set(axis.name, axis === first ? rest : modulo(rest, axis.extent));
    rest = floorDivide(rest, axis.extent);
  }
  const operand = ({ buffer, at: place, element }: ContractOperand): ContractOperand => ({
    buffer,
    at: substitute(place, map),
    ...(element !== undefined && { element: substituteAxes(element, map) }),
  });
  return { ...node, over: [k], k, a: operand(a), b: operand(b) };
}

/** `reason` says why it is not computed by matrix instructions, where it might be. */
export function writeContract(nest: Nest, given: Contract, reason?: string): Grid {
  const node = overOneAxis(given);
  const { batch, m, n } = node;
  const tileOf = (axis: Axis): Axis => ({ name: `${axis.name}_tile`, extent: ceilDivide(axis.extent, int(tileSide)) });
  const units = [...batch, tileOf(m), tileOf(n)];
  const total = product(units.map(({ extent }) => extent));
  nest.notes.push(
    `matrix product, tiles of ${String(tileSide)} x ${String(tileSide)} through shared memory${reason === undefined ? '' : `: ${reason}`}`,
  );
  const shared: SharedTiles = {
    a: nest.shared.declare('a_tile', node.accumulate, tileSide * pitch),
    b: nest.shared.declare('b_tile', node.accumulate, tileSide * pitch),
  };
  const range = { from: axisValue(nest, 'block'), to: total, step: axisValue(nest, 'blocks'), extent: total };
  loop(nest, { name: 'tile', ...range }, (unit) => {
    const frame = unravel(nest, units, { point: unit, frame: emptyFrame });
    writeTile(nest, node, { frame, shared });
  });
  return gridOf(total, { threads: mapThreads, most: mostBlocks });
}

interface SharedTiles {
  readonly a: string;
  readonly b: string;
}

interface Tile {
  readonly frame: Frame;
  readonly shared: SharedTiles;
}

function writeTile(nest: Nest, node: Product, { frame, shared }: Tile): void {
  const { m, n, k, accumulate } = node;
  const first = (axis: Axis): Index => {
    const value = multiply(frame.axes.get(`${axis.name}_tile`) ?? int(0), int(tileSide));
    return nameIndex(nest, { base: `${axis.name}_first`, value, extent: axis.extent });
  };
  const [mFirst, nFirst] = [first(m), first(n)];
  const type = { dtype: accumulate, lanes: 1 };
  const zero: Value = { kind: 'constant', value: 0, type };
  const totals = Array.from({ length: rowsPerThread }, () => declareVariable(nest.writer, 'total', zero));
  loop(nest, { name: `${k.name}_first`, from: int(0), to: k.extent, step: tileSide, extent: k.extent }, (kFirst) => {
    const rows = { axis: m, first: mFirst };
    const columns = { axis: n, first: nFirst };
    const depth = { axis: k, first: kFirst };
    fetch(nest, node, { operand: node.a, tile: shared.a, rows, columns: depth, frame });
    fetch(nest, node, { operand: node.b, tile: shared.b, rows: depth, columns, frame });
    nest.writer.emit({ kind: 'barrier', scope: 'block' });
    accumulateTile(nest, { totals, shared });
    nest.writer.emit({ kind: 'barrier', scope: 'block' });
  });
  const [column, row] = threadPlace(nest);
  totals.forEach((total, slot) => {
    writeTotal(nest, node, { total, frame, m: add(mFirst, add(row, int(slot * rowsAtOnce))), n: add(nFirst, column) });
  });
}

/** A thread's column and first row in a tile. */
function threadPlace(nest: Nest): readonly [Index, Index] {
  const thread = threadOf(nest, mapThreads);
  return [modulo(thread, int(tileSide)), floorDivide(thread, int(tileSide))];
}

interface Side {
  readonly axis: Axis;
  readonly first: Index;
}

interface Fetching {
  readonly operand: ContractOperand;
  readonly tile: string;
  readonly rows: Side;
  readonly columns: Side;
  readonly frame: Frame;
}

/** A tile of an operand; zeros beyond its edges. Neighbouring threads take neighbouring elements in memory. */
function fetch(nest: Nest, node: Contract, { operand, tile, rows, columns, frame }: Fetching): void {
  const byRows = strideAlong(operand.at, rows.axis.name) === 1 && strideAlong(operand.at, columns.axis.name) !== 1;
  const [fast, slow] = byRows ? [rows, columns] : [columns, rows];
  const [column, row] = threadPlace(nest);
  loop(
    nest,
    { name: 'part', from: int(0), to: int(rowsPerThread), unroll: rowsPerThread, extent: int(rowsPerThread) },
    (part) => {
      const slowAt = add(row, multiply(part, int(rowsAtOnce)));
      const place = byRows ? add(multiply(column, int(pitch)), slowAt) : add(multiply(slowAt, int(pitch)), column);
      const inner = bindAxis(
        bindAxis(frame, fast.axis.name, add(fast.first, column)),
        slow.axis.name,
        add(slow.first, slowAt),
      );
      const value = elementOrZero(nest, node, { operand, frame: inner, sides: [rows, columns] });
      nest.writer.emit({ kind: 'store', access: { buffer: tile, at: place, step: int(0), align: 1 }, value });
    },
  );
}

interface Element {
  readonly operand: ContractOperand;
  readonly frame: Frame;
  readonly sides: readonly Side[];
}

function elementOrZero(nest: Nest, node: Contract, { operand, frame, sides }: Element): Value {
  const { writer, memory } = nest;
  if (operand.element !== undefined) {
    const body = withinSides(operand.element, sides, node.accumulate);
    return at(evaluateBody(body, evaluationAt(nest, frame)), 0);
  }
  const { dtype } = memory.decl(operand.buffer);
  const index = indexType(nest);
  const bool = { dtype: 'bool' as const, lanes: 1 };
  const tests = sides.map(({ axis }): Value => {
    const args: readonly Value[] = [frame.axes.get(axis.name) ?? int(0), axis.extent].map((value) =>
      value.kind === 'int'
        ? { kind: 'constant', value: value.value, type: index }
        : { kind: 'index', value, type: index },
    );
    return { kind: 'apply', op: 'lt', args, type: bool };
  });
  const [first, second] = [at(tests, 0), at(tests, 1)];
  const inside = writer.define(
    { kind: 'apply', op: 'bitwiseAnd', args: [first, second], type: bool },
    'inside',
    writer.depth,
  );
  const evaluator = placesAt(nest, frame);
  const access = {
    buffer: (memory.row(operand.buffer) ?? memory.parameter(operand.buffer)).name,
    at: evaluator.resolve(operand.at),
    step: int(0),
    align: dtypeInfo[dtype].bytes,
  };
  const loaded = writer.define(
    { kind: 'load', type: { dtype, lanes: 1 }, access, mask: inside },
    'element',
    writer.depth,
  );
  if (dtype === node.accumulate) return loaded;
  return writer.define(
    { kind: 'cast', value: loaded, type: { dtype: node.accumulate, lanes: 1 } },
    'wide',
    writer.depth,
  );
}

/** What `element` computes within the axes, where alone it reads, and zero elsewhere. */
function withinSides(element: Body, sides: readonly Side[], dtype: DType): Body {
  const body = new BodyBuilder();
  const mask = sides
    .map(({ axis }) => body.apply('lt', [body.index(axisIndex(axis)), body.index(axis.extent)]))
    .reduce((left, right) => body.apply('logicalAnd', [left, right]));
  const value = at(replayBody(element, body, { mask }).results, 0);
  return body.finish([body.apply('where', [mask, value, body.constant(0, dtype)])]);
}

function accumulateTile(nest: Nest, { totals, shared }: { totals: readonly Value[]; shared: SharedTiles }): void {
  const { writer } = nest;
  const [column, row] = threadPlace(nest);
  const side = int(tileSide);
  loop(nest, { name: 'depth', from: int(0), to: side, unroll: 8, extent: side }, (depth) => {
    const { type } = at(totals, 0);
    const load = (buffer: string, place: Index): Value =>
      writer.define(
        { kind: 'load', type, access: { buffer, at: place, step: int(0), align: 1 } },
        'of_tile',
        writer.depth,
      );
    const right = load(shared.b, add(multiply(depth, int(pitch)), column));
    totals.forEach((total, slot) => {
      const left = load(shared.a, add(multiply(add(row, int(slot * rowsAtOnce)), int(pitch)), depth));
      invariant(total.kind === 'name', 'a total is a variable');
      writer.emit({ kind: 'set', name: total.name, value: multiplyAdd(left, right, total) });
    });
  });
}

/** left * right + total, rounded once where it is a float. */
function multiplyAdd(left: Value, right: Value, total: Value): Value {
  const { type } = total;
  if (dtypeInfo[type.dtype].category === 'float') return { kind: 'apply', op: 'fma', args: [left, right, total], type };
  return { kind: 'apply', op: 'add', args: [total, { kind: 'apply', op: 'mul', args: [left, right], type }], type };
}

interface Total {
  readonly total: Value;
  readonly frame: Frame;
  readonly m: Index;
  readonly n: Index;
}

/** Writes one element of the result, if it has it. */
function writeTotal(nest: Nest, node: Contract, { total, frame, m, n }: Total): void {
  const once = (axis: Axis, from: Index) => ({
    name: axis.name,
    from,
    to: clipped(add(from, int(1)), axis),
    extent: axis.extent,
    guards: true,
  });
  loop(nest, once(node.m, m), (mAt) => {
    loop(nest, once(node.n, n), (nAt) => {
      const { dtype } = nest.memory.decl(at(node.outs, 0));
      const value: Value =
        dtype === node.accumulate ? total : { kind: 'cast', value: total, type: { dtype, lanes: 1 } };
      const inner = bindAxis(bindAxis(frame, node.m.name, mAt), node.n.name, nAt);
      writeResult(
        nest,
        { node, slot: 0, value: nest.writer.define(value, 'rounded', nest.writer.depth) },
        { frame: inner, by: 'thread' },
      );
    });
  });
}
