// Packing for matrix products: b into panels as wide as the register tile, [panel][k][column]; a into a block,
// [k][row] where rows lie side by side in memory and [row][k] elsewhere. Values are widened to the accumulated dtype.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import { bindAxis, difference, evaluateBody, evaluationAt, named, staticValue, widen } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, int, minimum, multiply, substitute, subtract } from '@tsinductor/ir';
import type { Axis, Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { laneBytes } from '../plan/lanes.ts';
import { vectorLoop } from '../write/loops.ts';
import type { Vector } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { runsWithin } from '../write/runs.ts';
import type { AxisPart } from './in-threads.ts';
import { converted, operandName, placeAt, productAt } from './operands.ts';
import type { Packed, Product } from './operands.ts';
import { stepAlong } from './oriented.ts';
import type { Operand } from './oriented.ts';

interface Packing {
  readonly product: Product;
  readonly from: Index;
  readonly depth: Index;
  readonly buffer: string;
}

interface Panels extends Packing {
  readonly columns: AxisPart;
  /** Where in a panel the first point of k goes. */
  readonly first: Index;
}

/** Panel p of the columns starts at p * panelWidth * plan.depth * plan.taps. */
export function packB(nest: Nest, panels: Panels): void {
  const { product, from, depth } = panels;
  const { plan, oriented } = product;
  const { b, k, taps } = oriented;
  if (!plan.tapsWithin) {
    packPanels(nest, panels, { along: { operand: b, other: k, from, depth }, tap: 0, taps: 1 });
    return;
  }
  if (b.element === undefined) {
    packPanels(nest, panels, { along: withTaps(product, { from, depth }), tap: 0, taps: 1 });
    return;
  }
  const [axis] = taps;
  for (let tap = 0; tap < plan.taps; tap += 1) {
    const here = productAt(product, new Map(axis === undefined ? [] : [[axis.name, int(tap)]]));
    packPanels(
      nest,
      { ...panels, product: here },
      { along: { operand: b, other: k, from, depth }, tap, taps: plan.taps },
    );
  }
}

/** Rows of panels: every one, or every so many of them from the one of a tap on. */
interface PackedRows {
  readonly along: Along;
  readonly tap: number;
  readonly taps: number;
}

function packPanels(nest: Nest, { product, columns, buffer, first }: Panels, { along, tap, taps }: PackedRows): void {
  const { plan, oriented } = product;
  const { b, n, k } = oriented;
  const panelWidth = plan.vectors * plan.lanes;
  const turns = plan.lanes > 1 && stepAlong(b, k) === 1 && stepAlong(b, n) !== 1;
  const isCopied = b.element === undefined && b.dtype === oriented.node.accumulate;
  const pitch = Math.ceil(plan.depth / plan.lanes) * plan.lanes;
  const scratch = turns && !isCopied ? scratchOf(nest, oriented, plan.lanes * pitch) : undefined;
  const name = nest.writer.fresh(n.name);
  const body = nest.writer.block([name], () => {
    const column = named(name, n.extent);
    const start = multiply(difference(column, columns.from), int(plan.depth * plan.taps));
    const base = add(start, add(multiply(first, int(panelWidth)), int(tap * panelWidth)));
    const extent = staticValue(n.extent);
    const present =
      extent !== undefined && extent % panelWidth === 0
        ? int(panelWidth)
        : minimum(int(panelWidth), difference(columns.to, column));
    const copy = { along: n, product, start: column, count: present, ...along };
    const target = { buffer, base, step: panelWidth * taps };
    if (!turns) rowsOf(nest, copy, target);
    else if (scratch === undefined) transposed(nest, copy, target);
    else throughScratch(nest, copy, { target, scratch, pitch });
  });
  nest.writer.emit({ kind: 'for', name, from: columns.from, to: columns.to, step: panelWidth, body });
}

function scratchOf({ writer }: Nest, { node }: Product['oriented'], size: number): string {
  const name = writer.fresh('turned');
  writer.emit({ kind: 'scratch', name, dtype: node.accumulate, size });
  return name;
}

type Along = Pick<Copy, 'operand' | 'other' | 'from' | 'depth'>;

/** Points of k with all taps of each as one axis, along which b lies. */
function withTaps({ oriented, plan }: Product, { from, depth }: Pick<Packing, 'from' | 'depth'>): Along {
  const { b, k, taps } = oriented;
  const count = int(plan.taps);
  const along: Axis = { name: `${k.name}_taps`, extent: multiply(k.extent, count) };
  const start = substitute(b.at, new Map([k, ...taps].map(({ name }) => [name, int(0)])));
  const operand = { ...b, at: add(start, axisIndex(along)) };
  return { operand, other: along, from: multiply(from, count), depth: multiply(depth, count) };
}

/**
 * Elements of a block of rows of a. Vectors are stored whole, and what is beyond a row or a point of k is written again by the next one: only
 * behind the last one there has to be room for it.
 */
export function blockSize({ oriented, plan }: Product): number {
  const step = stepAlong(oriented.a, oriented.k) === 1 ? plan.depth : plan.blockRows;
  return plan.depth * plan.blockRows + (step % plan.lanes === 0 ? 0 : plan.lanes);
}

/** A block of rows of a; where it was put. */
export function packA(nest: Nest, packing: Packing & { readonly rows: AxisPart }): Packed {
  const { product, rows, from, depth, buffer } = packing;
  const { plan, oriented } = product;
  const { a, m, k } = oriented;
  const count = difference(rows.to, rows.from);
  if (stepAlong(a, k) === 1) {
    const copy = { operand: a, along: k, other: m, product, start: from, count: depth, from: rows.from, depth: count };
    rowsOf(nest, copy, { buffer, base: int(0), step: plan.depth });
    return { buffer, base: int(0), step: int(plan.depth), depthStep: int(1) };
  }
  const copy = { operand: a, along: m, other: k, product, start: rows.from, count, from, depth };
  rowsOf(nest, copy, { buffer, base: int(0), step: plan.blockRows });
  return { buffer, base: int(0), step: int(1), depthStep: int(plan.blockRows) };
}

/** `count` points from `start` along one axis, for `depth` points from `from` along the other. */
interface Copy {
  readonly operand: Operand;
  readonly along: Axis;
  readonly other: Axis;
  readonly product: Product;
  readonly start: Index;
  readonly count: Index;
  readonly from: Index;
  readonly depth: Index;
}

interface Target {
  readonly buffer: string;
  readonly base: Index;
  /** Elements from one point of the other axis to the next. */
  readonly step: number;
}

/** Row by row: vectors along `along`, contiguous or not; what is missing of the last vector becomes zero. */
function rowsOf(nest: Nest, copy: Copy, target: Target): void {
  const { writer } = nest;
  const { along, other, product } = copy;
  const { plan, oriented } = product;
  const { accumulate } = oriented.node;
  const name = writer.fresh(other.name);
  const body = writer.block([name], () => {
    const row = named(name, other.extent);
    const axis = { name: along.name, extent: copy.count };
    const lanes = Math.min(plan.lanes, lanesFor(nest.target.isa, laneBytes([oriented.node], along.name, nest)));
    const runs = along.name === oriented.k.name ? product.runs : undefined;
    runsWithin(nest, { runs, axis: along, first: copy.start, count: copy.count }, (part) => {
      vectorLoop(nest, { axis, ...part, lanes, instances: 1, unroll: 4 }, ([vector]) => {
        if (vector === undefined) return;
        const value = (copy.operand.element === undefined ? loadPoint : computePoint)(nest, copy, {
          row,
          vector,
          lanes,
        });
        const place = add(add(target.base, multiply(row, int(target.step))), vector.at);
        const access = { buffer: target.buffer, at: place, step: int(1), align: dtypeInfo[accumulate].bytes };
        writer.emit({ kind: 'store', access, value: converted(nest, value, accumulate) });
      });
    });
  });
  writer.emit({ kind: 'for', name, from: int(0), to: copy.depth, step: 1, body });
}

interface Reading {
  readonly row: Index;
  readonly vector: Vector;
  readonly lanes: number;
}

function loadPoint(
  nest: Nest,
  { operand, along, other, product, start, from }: Copy,
  { row, vector, lanes }: Reading,
): Value {
  const at = (column: Index): Index =>
    placeAt(
      operand.at,
      product,
      new Map([
        [along.name, add(start, column)],
        [other.name, add(from, row)],
      ]),
    );
  const near = at(vector.at);
  const { count } = vector.lane;
  const access = {
    buffer: operandName(nest, operand),
    at: near,
    step: subtract(at(add(vector.at, int(1))), near),
    align: dtypeInfo[operand.dtype].bytes,
    ...(count === undefined || lanes === 1 ? {} : { count }),
  };
  return nest.writer.define(
    { kind: 'load', type: { dtype: operand.dtype, lanes }, access },
    'packed',
    nest.writer.depth,
  );
}

/** What an operand's element is computed to be, in the product's own dtype. */
function computePoint(
  nest: Nest,
  { operand, along, other, product, start, from }: Copy,
  { row, vector, lanes }: Reading,
): Value {
  const { element } = operand;
  invariant(element !== undefined, 'the operand is computed');
  const inBatch: Frame = { axes: new Map(product.batch), lane: vector.lane };
  const frame = bindAxis(bindAxis(inBatch, other.name, add(from, row)), along.name, add(start, vector.at));
  return widen(at(evaluateBody(element, evaluationAt(nest, frame)), 0), lanes, nest.writer);
}

interface Scratch {
  readonly target: Target;
  readonly scratch: string;
  /** Elements from one column in scratch to the next. */
  readonly pitch: number;
}

/** k lies side by side, and elements are computed or widened: vectors along it go to scratch, for as many columns as a vector has, and are transposed from there. */
function throughScratch(nest: Nest, copy: Copy, { target, scratch, pitch }: Scratch): void {
  const { writer } = nest;
  const { along, other, product, count } = copy;
  const { lanes } = product.plan;
  const name = writer.fresh(along.name);
  const body = writer.block([name], () => {
    const column = named(name, count);
    const columns = partOf(count, { at: column, tile: lanes });
    const rows = { start: copy.from, count: copy.depth, from: add(copy.start, column), depth: columns };
    rowsOf(nest, { ...copy, along: other, other: along, ...rows }, { buffer: scratch, base: int(0), step: pitch });
    const row = writer.fresh(other.name);
    const inner = writer.block([row], () => {
      const place = named(row, copy.depth);
      const to = add(add(target.base, multiply(place, int(target.step))), column);
      writer.emit({
        kind: 'transpose',
        dtype: product.oriented.node.accumulate,
        from: { buffer: scratch, at: place, step: int(pitch) },
        to: { buffer: target.buffer, at: to, step: int(target.step) },
        rows: columns,
        columns: partOf(copy.depth, { at: place, tile: lanes }),
        tile: lanes,
      });
    });
    writer.emit({ kind: 'for', name: row, from: int(0), to: copy.depth, step: lanes, body: inner });
  });
  writer.emit({ kind: 'for', name, from: int(0), to: count, step: lanes, body });
}

/** k lies side by side: tiles of lanes x lanes, transposed in registers. */
function transposed(nest: Nest, copy: Copy, target: Target): void {
  const { writer } = nest;
  const { operand, along, other, product, count, depth } = copy;
  const tile = product.plan.lanes;
  const [columnName, rowName] = [writer.fresh(along.name), writer.fresh(other.name)];
  const outer = writer.block([columnName], () => {
    const column = named(columnName, count);
    const inner = writer.block([rowName], () => {
      const row = named(rowName, depth);
      const point = (x: Index, y: Index): Index =>
        placeAt(
          operand.at,
          product,
          new Map([
            [along.name, add(copy.start, x)],
            [other.name, add(copy.from, y)],
          ]),
        );
      const near = point(column, row);
      writer.emit({
        kind: 'transpose',
        dtype: operand.dtype,
        from: {
          buffer: operandName(nest, operand),
          at: near,
          step: subtract(point(add(column, int(1)), row), near),
        },
        to: {
          buffer: target.buffer,
          at: add(add(target.base, multiply(row, int(target.step))), column),
          step: int(target.step),
        },
        rows: partOf(count, { at: column, tile }),
        columns: partOf(depth, { at: row, tile }),
        tile,
      });
    });
    writer.emit({ kind: 'for', name: rowName, from: int(0), to: depth, step: tile, body: inner });
  });
  writer.emit({ kind: 'for', name: columnName, from: int(0), to: count, step: tile, body: outer });
}

const partOf = (count: Index, { at, tile }: { readonly at: Index; readonly tile: number }): Index => {
  const all = staticValue(count);
  return all !== undefined && all % tile === 0 ? int(tile) : minimum(int(tile), difference(count, at));
};
