// Matrix products as dot products: few rows, k side by side in both operands. Vectors run along k; several columns at a
// time share the loads of a, and each has an accumulator of its own whose lanes are added at the end. Long sums are taken in blocks.
import { at, dtypeInfo, invariant, isFloat } from '@tsinductor/base';
import {
  assignVariables,
  declareVariable,
  difference,
  named,
  product as productOf,
  roundDown,
  staticValue,
  typicalValue,
} from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { chunkCycles } from '../../machine/target.ts';
import { cascadeOf, mostIterations } from '../plan/cascade.ts';
import { grainOf } from '../plan/chunks.ts';
import { inBlocks, scalarLoop, stepOf, vectorParts, writeVectorPart } from '../write/loops.ts';
import type { Vector } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { converted, placeAt, resultOf } from './operands.ts';
import type { Product } from './operands.ts';
import { fuses, stepAlong, volume } from './oriented.ts';
import type { Operand, Oriented } from './oriented.ts';

export function writeDots(nest: Nest, oriented: Oriented): void {
  const { writer } = nest;
  const { node, n } = oriented;
  const unitColumns = nest.choices.dotColumns;
  const total = multiply(productOf(node.batch.map((axis) => axis.extent)), ceilDivide(n.extent, int(unitColumns)));
  nest.notes.push('dot products');
  const cycles = (volume(oriented) * node.batch.reduce((left, axis) => left * typicalValue(axis.extent), 1)) / 8;
  if (nest.target.threads === 1 || cycles < 2 * chunkCycles(nest.target)) {
    writeUnits(nest, oriented, { from: int(0), to: total, total });
    return;
  }
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    writeUnits(nest, oriented, { from: named(begin, total), to: named(end, add(total, int(1))), total });
  });
  const each = Math.max(1, cycles / Math.max(1, typicalValue(total)));
  writer.emit({ kind: 'parallel', begin, end, total, grain: grainOf(nest, total, each), body });
}

interface Units {
  readonly from: Index;
  readonly to: Index;
  readonly total: Index;
}

function writeUnits(nest: Nest, oriented: Oriented, { from, to, total }: Units): void {
  const { node, n } = oriented;
  const unitColumns = nest.choices.dotColumns;
  const units = ceilDivide(n.extent, int(unitColumns));
  scalarLoop(nest, { axis: { name: 'unit', extent: total }, from, to }, (unit) => {
    let below = floorDivide(unit, units);
    const batch = new Map<string, Index>();
    for (const axis of node.batch.toReversed()) {
      batch.set(axis.name, axis === node.batch[0] ? below : modulo(below, axis.extent));
      below = floorDivide(below, axis.extent);
    }
    const start = multiply(modulo(unit, units), int(unitColumns));
    const stop = minimum(add(start, int(unitColumns)), n.extent);
    writeColumns(nest, { oriented, batch }, { start, stop });
  });
}

interface Columns {
  readonly start: Index;
  readonly stop: Index;
}

type Dots = Omit<Product, 'plan' | 'target'>;

function writeColumns(nest: Nest, dots: Dots, { start, stop }: Columns): void {
  const { n, m } = dots.oriented;
  const rows = staticValue(m.extent) ?? 1;
  const wide = rows <= 2 ? 4 : 2;
  const end = add(start, roundDown(difference(stop, start), wide));
  const loop = (range: Columns, count: number): void => {
    if (staticValue(difference(range.stop, range.start)) === 0) return;
    const name = nest.writer.fresh(n.name);
    const block = nest.writer.block([name], () => {
      writeTile(nest, dots, { column: named(name, n.extent), count, rows });
    });
    nest.writer.emit({ kind: 'for', name, from: range.start, to: range.stop, step: count, body: block });
  };
  loop({ start, stop: end }, wide);
  if ((staticValue(n.extent) ?? 1) % wide !== 0) loop({ start: end, stop }, 1);
}

interface Tile {
  readonly column: Index;
  readonly count: number;
  readonly rows: number;
}

function writeTile(nest: Nest, dots: Dots, { column, count, rows }: Tile): void {
  const { writer } = nest;
  const { oriented } = dots;
  const { node, k } = oriented;
  const lanes = lanesFor(nest.target.isa, dtypeInfo[node.accumulate].bytes);
  const type = { dtype: node.accumulate, lanes };
  const instances = rows * count < 4 ? 2 : 1;
  const [first, ...rest] = vectorParts(nest, { axis: k, from: int(0), to: k.extent, lanes, instances, unroll: 1 });
  invariant(first !== undefined, 'a dot product has no loop');
  const step = stepOf(first);
  const [blocks = []] = isFloat(type.dtype) ? cascadeOf(nest, [{ iterations: mostIterations(k.extent, step) }]) : [];
  const begin = (): Totals =>
    Array.from({ length: instances }, () =>
      Array.from({ length: rows * count }, () =>
        declareVariable(writer, 'total', { kind: 'constant', value: 0, type }),
      ),
    );
  const joined = (totals: Totals, place: number): Value =>
    totals.map((of) => at(of, place)).reduce((left, right) => sumOf(nest, left, right));
  const within = (around: Totals, _isInnermost: boolean, write: (inner: Totals) => void): void => {
    const totals = begin();
    write(totals);
    at(around, 0).forEach((total, place) => {
      assignVariables(writer, [total], [{ kind: 'apply', op: 'add', args: [total, joined(totals, place)], type }]);
    });
  };
  const totals = begin();
  [first, ...rest].forEach((part, index) => {
    const sizes = index === 0 ? blocks.map((iterations) => iterations * step) : [];
    inBlocks(nest, { ...part, sizes, context: totals, within }, (range, inner) => {
      writeVectorPart(nest, { ...part, ...range }, (vectors) => {
        advance(nest, dots, { vectors, column, count, rows, lanes, totals: inner });
      });
    });
  });
  for (let row = 0; row < rows; row++) {
    for (let slot = 0; slot < count; slot++) {
      const value = addLanes(nest, joined(totals, row * count + slot));
      storeResult(nest, dots, { value, row, column: add(column, int(slot)) });
    }
  }
}

/** The sums of products: for each vector side by side, of row by row those of each column. */
type Totals = readonly (readonly Value[])[];

interface Advance extends Tile {
  readonly vectors: readonly Vector[];
  readonly lanes: number;
  readonly totals: Totals;
}

/** Adds the products of some vectors along k. */
function advance(nest: Nest, dots: Dots, { vectors, column, count, rows, lanes, totals }: Advance): void {
  const { oriented } = dots;
  vectors.forEach((vector, instance) => {
    const right = Array.from({ length: count }, (_, slot) => {
      const place = add(column, int(slot));
      return loadAlong(nest, dots, { operand: oriented.b, axis: oriented.n.name, place, vector, lanes });
    });
    for (let row = 0; row < rows; row++) {
      const left = loadAlong(nest, dots, {
        operand: oriented.a,
        axis: oriented.m.name,
        place: int(row),
        vector,
        lanes,
      });
      right.forEach((value, slot) => {
        accumulate(nest, at(at(totals, instance), row * count + slot), [left, value]);
      });
    }
  });
}

interface Loading {
  readonly operand: Operand;
  readonly axis: string;
  readonly place: Index;
  readonly vector: Vector;
  readonly lanes: number;
}

function loadAlong(nest: Nest, dots: Dots, { operand, axis, place, vector, lanes }: Loading): Value {
  const { k } = dots.oriented;
  const index = placeAt(
    operand.at,
    dots,
    new Map([
      [axis, place],
      [k.name, vector.at],
    ]),
  );
  const { count } = vector.lane;
  const access = {
    buffer: nest.memory.parameter(operand.buffer).name,
    at: index,
    step: int(stepAlong(operand, k) ?? 1),
    align: dtypeInfo[operand.dtype].bytes,
    ...(count === undefined || lanes === 1 ? {} : { count }),
  };
  return nest.writer.define({ kind: 'load', type: { dtype: operand.dtype, lanes }, access }, axis, nest.writer.depth);
}

function accumulate(nest: Nest, sum: Value, factors: readonly [Value, Value]): void {
  const { type } = sum;
  const value: Value = fuses(type.dtype)
    ? { kind: 'apply', op: 'fma', args: [...factors, sum], type }
    : { kind: 'apply', op: 'add', args: [sum, { kind: 'apply', op: 'mul', args: factors, type }], type };
  assignVariables(nest.writer, [sum], [value]);
}

const sumOf = (nest: Nest, left: Value, right: Value): Value =>
  nest.writer.define({ kind: 'apply', op: 'add', args: [left, right], type: left.type }, 'sum', nest.writer.depth);

function addLanes(nest: Nest, value: Value): Value {
  let sum = value;
  while (sum.type.lanes > 1) {
    const type = { dtype: sum.type.dtype, lanes: sum.type.lanes / 2 };
    const whole = sum;
    const half = (part: 'low' | 'high'): Value =>
      nest.writer.define({ kind: 'half', value: whole, part, type }, part, nest.writer.depth);
    sum = sumOf(nest, half('low'), half('high'));
  }
  return sum;
}

interface Storing {
  readonly value: Value;
  readonly row: number;
  readonly column: Index;
}

function storeResult(nest: Nest, dots: Dots, { value, row, column }: Storing): void {
  const { node, m, n } = dots.oriented;
  const { name, dtype } = resultOf(nest, node);
  const place = placeAt(
    at(node.writes, 0),
    dots,
    new Map([
      [m.name, int(row)],
      [n.name, column],
    ]),
  );
  const access = { buffer: name, at: place, step: int(0), align: dtypeInfo[dtype].bytes };
  nest.writer.emit({ kind: 'store', access, value: converted(nest, value, dtype) });
}
