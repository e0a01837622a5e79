// The loops around the register tile: units for threads, blocks of k, packed panels of b (and blocks of a), rows.
import { at, dtypeInfo } from '@tsinductor/base';
import { difference, named, product as productOf, staticValue, typicalValue } from '@tsinductor/codegen';
import type { Lane } from '@tsinductor/codegen';
import { add, axisIndex, ceilDivide, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Access, Axis, Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { chunkCycles } from '../../machine/target.ts';
import { scalarLoop, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import type { MapNode } from './epilogue.ts';
import { inThreads } from './in-threads.ts';
import type { AxisPart } from './in-threads.ts';
import { productAt, resultOf } from './operands.ts';
import type { DepthBlock, Packed, PanelMemory, Product, Target } from './operands.ts';
import { blockSize, packA, packB } from './pack.ts';
import { eachPanel, rowTiles } from './panel-tiles.ts';
import type { Block, PanelPart } from './panel-tiles.ts';
import { volume } from './oriented.ts';
import type { Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';
import { coordinatesAt, pointsOf, nameBelow } from './points.ts';
import { turnedEpilogue } from './turned.ts';

interface Blocks {
  readonly plan: ProductPlan;
  /** What follows at each element. */
  readonly maps: readonly MapNode[];
}

export function writeBlocks(nest: Nest, oriented: Oriented, { plan, maps }: Blocks): void {
  const { node, n } = oriented;
  const width = plan.panels * plan.vectors * plan.lanes;
  const total = productOf([
    pointsOf(outerBatch(oriented, plan)),
    rowUnitsOf(oriented, plan),
    ceilDivide(n.extent, int(width)),
  ]);
  const parts = [
    `register tiles of ${String(plan.rows)} x ${String(plan.vectors * plan.lanes)}`,
    ...(plan.packB ? ['panels packed'] : []),
    ...(plan.packA ? ['rows packed'] : []),
    ...(plan.rowsFirst ? [`${String(plan.unitRows ?? 0)} rows at a time through all panels`] : []),
    ...(maps.length > 0 ? ['epilogue in the tile'] : []),
  ];
  nest.notes.push(parts.join(', '));
  const cycles =
    (volume(oriented) * node.batch.reduce((left, axis) => left * typicalValue(axis.extent), 1)) / plan.lanes / 1.8;
  const target = targetOf(nest, oriented, { plan, maps });
  const units = { oriented, plan, total, target, maps };
  const write = (range: AxisPart): void => {
    writeUnits(nest, units, range);
  };
  const isSmall = staticValue(total) !== undefined && cycles < 2 * chunkCycles(nest.target);
  if (isSmall) write({ from: int(0), to: total });
  else inThreads(nest, { total, cycles: Math.max(1, cycles / Math.max(1, typicalValue(total))) }, write);
  if (maps.length === 0 && !plan.turned) round(nest, oriented, target);
}

/** The axes of the batch that do not run within a unit. */
const outerBatch = ({ node }: Oriented, { rowAxes }: ProductPlan): readonly Axis[] =>
  node.batch.slice(0, node.batch.length - rowAxes.length);

/** What rows of a unit are counted in: rows of places where axes of the batch run within it, else rows of the product. */
const rowsOf = ({ m }: Oriented, { rowAxes }: ProductPlan): Axis =>
  rowAxes.length === 0 ? m : { name: 'rows', extent: pointsOf(rowAxes) };

const rowUnitsOf = (oriented: Oriented, plan: ProductPlan): Index =>
  plan.unitRows === undefined ? int(1) : ceilDivide(rowsOf(oriented, plan).extent, int(plan.unitRows));

/** Sums over several blocks of k are rounded to the result's dtype once, so they are kept in the accumulated one. */
export function targetOf(nest: Nest, oriented: Oriented, { plan, maps }: Blocks): Target {
  const out = at(oriented.node.outs, 0);
  if (maps.length > 0 || plan.turned) return sumsOf(nest, oriented, plan);
  const result = resultOf(nest, oriented.node);
  if (oriented.outDType === oriented.node.accumulate || isOneBlock(oriented, plan)) return result;
  return nest.memory.workspace('sums', oriented.node.accumulate, nest.memory.decl(out).size);
}

/** Sums of finished tiles are in scratch; those of several blocks of k need a place between them. */
function sumsOf(nest: Nest, oriented: Oriented, plan: ProductPlan): Target {
  const { node, m, n } = oriented;
  if (isOneBlock(oriented, plan)) return { name: '', dtype: node.accumulate };
  const axes = [...node.batch, m, n];
  const place = axes.reduce<Index>((index, axis) => add(multiply(index, axis.extent), axisIndex(axis)), int(0));
  return { ...nest.memory.workspace('sums', node.accumulate, pointsOf(axes)), at: place };
}

/** Whether all that is summed over is one block. */
function isOneBlock({ k, taps }: Oriented, plan: ProductPlan): boolean {
  const [length, count] = [staticValue(k.extent), staticValue(pointsOf(taps))];
  return length !== undefined && count !== undefined && length <= plan.depth && count <= plan.taps;
}

/** result := sums, where those lie in workspace. */
export function round(nest: Nest, { node, outDType }: Oriented, target: Target): void {
  const { writer, memory } = nest;
  const out = at(node.outs, 0);
  const { name } = resultOf(nest, node);
  if (target.name === name) return;
  const lanes = lanesFor(nest.target.isa, dtypeInfo[node.accumulate].bytes);
  const axis = { name: 'element', extent: memory.decl(out).size };
  vectorLoop(nest, { ...wholeRange(axis), lanes, instances: 1, unroll: 2 }, ([vector]) => {
    if (vector === undefined) return;
    const access = (buffer: string): Access => ({
      buffer,
      at: vector.at,
      step: int(1),
      align: 1,
      ...countOf(vector.lane, lanes),
    });
    const type = { dtype: node.accumulate, lanes };
    const sum = writer.define({ kind: 'load', type, access: access(target.name) }, 'sum', writer.depth);
    const value: Value = { kind: 'cast', value: sum, type: { dtype: outDType, lanes } };
    writer.emit({ kind: 'store', access: access(name), value: writer.define(value, 'rounded', writer.depth) });
  });
}

const countOf = ({ count }: Lane, lanes: number): Pick<Access, 'count'> =>
  count === undefined || lanes === 1 ? {} : { count };

interface Units {
  readonly oriented: Oriented;
  readonly plan: ProductPlan;
  readonly total: Index;
  readonly target: Target;
  readonly maps: readonly MapNode[];
}

function writeUnits(nest: Nest, { oriented, plan, total, target, maps }: Units, range: AxisPart): void {
  const { n } = oriented;
  const width = plan.panels * plan.vectors * plan.lanes;
  const rowAxis = rowsOf(oriented, plan);
  if (staticValue(total) === 1) {
    writeUnit(nest, { oriented, plan, batch: new Map(), target }, { rows: whole(rowAxis), columns: whole(n), maps });
    return;
  }
  scalarLoop(nest, { axis: { name: 'unit', extent: total }, ...range }, (unit) => {
    const take = (below: Index, count: Index): readonly [Index, Index] => [
      modulo(below, count),
      floorDivide(below, count),
    ];
    const [columnUnit, afterColumns] = take(unit, ceilDivide(n.extent, int(width)));
    const axes = outerBatch(oriented, plan);
    const [inner, outer] = take(afterColumns, plan.rowsFirst ? pointsOf(axes) : rowUnitsOf(oriented, plan));
    const [rowUnit, point] = plan.rowsFirst ? [outer, inner] : [inner, outer];
    const batch = coordinatesAt(nest, axes, point);
    const column = nameBelow(nest, { name: 'column', extent: n.extent }, multiply(columnUnit, int(width)));
    const columns = { from: column, to: minimum(add(column, int(width)), n.extent) };
    const row = multiply(rowUnit, int(plan.unitRows ?? 0));
    const rows =
      plan.unitRows === undefined
        ? whole(rowAxis)
        : { from: row, to: minimum(add(row, int(plan.unitRows)), rowAxis.extent) };
    const part = { rows, columns: exactColumns(columns, { n, width }), maps };
    writeUnit(nest, { oriented, plan, batch, target }, part);
  });
}

const whole = (axis: Axis): AxisPart => ({ from: int(0), to: axis.extent });

/** Where units divide the columns evenly, their end is their start plus their width. */
function exactColumns(part: AxisPart, { n, width }: { readonly n: Axis; readonly width: number }): AxisPart {
  const extent = staticValue(n.extent);
  return extent !== undefined && extent % width === 0 ? { from: part.from, to: add(part.from, int(width)) } : part;
}

interface UnitParts {
  readonly rows: AxisPart;
  readonly columns: AxisPart;
  readonly maps: readonly MapNode[];
  /** All panels of b, where they are packed already; a unit packs those of its columns for itself, if absent. */
  readonly panels?: PanelMemory;
  /** Where the result has sums that are added to. */
  readonly accumulates?: 'always';
}

/** One unit: all that is summed over, for some rows and some panels of columns. */
export function writeUnit(nest: Nest, given: Product, parts: UnitParts): void {
  const { rows, columns, maps, panels } = parts;
  const { plan, oriented } = given;
  const { node } = oriented;
  const panelWidth = plan.vectors * plan.lanes;
  const scratch = (base: string, size: number): string => {
    const name = nest.writer.fresh(base);
    nest.writer.emit({ kind: 'scratch', name, dtype: node.accumulate, size });
    return name;
  };
  const epilogue = plan.turned
    ? turnedEpilogue(oriented, { plan, maps, scratch })
    : { maps, scratch: scratch('tile', plan.rows * panelWidth), width: panelWidth };
  const product = maps.length === 0 && !plan.turned ? given : { ...given, epilogue };
  const packs = plan.packB && panels === undefined;
  const bufferB = packs ? scratch('panel', plan.taps * plan.depth * panelWidth * plan.panels) : undefined;
  const bufferA = plan.packA ? scratch('block', blockSize(given)) : undefined;
  const accumulates = parts.accumulates ?? (isOneBlock(oriented, plan) ? 'never' : 'after first');
  eachBlock(nest, product, (block) => {
    writeBlock(nest, { product, block, columns, accumulates, panels }, { rows, bufferA, bufferB });
  });
}

/** Blocks in the order of taps, then along k. */
function eachBlock(nest: Nest, { oriented, plan, points }: Product, write: (block: DepthBlock) => void): void {
  const { k, taps } = oriented;
  const count = pointsOf(taps);
  eachPart(nest, { name: 'tap_start', most: 'taps', extent: count, step: plan.taps }, (tap, several) => {
    const inK = { name: 'block_start', most: 'depth', extent: k.extent, step: plan.depth };
    eachPart(nest, points === undefined ? inK : { ...inK, end: points }, (from, depth) => {
      write({ from, depth, tap, taps: several });
    });
  });
}

interface Parts {
  readonly name: string;
  /** What the number of points of the last part is called, if that is less than a step. */
  readonly most: string;
  readonly extent: Index;
  readonly step: number;
  /** Up to where, if not to the end of the extent. */
  readonly end?: Index;
}

/** The parts of an extent: the start and the number of points of each. */
export function eachPart(nest: Nest, parts: Parts, part: (from: Index, points: Index) => void): void {
  const { name, most, extent, step, end = extent } = parts;
  const known = staticValue(extent);
  if (known !== undefined && known <= step) {
    part(int(0), end);
    return;
  }
  const variable = nest.writer.fresh(name);
  nest.memory.multiples.set(variable, step);
  const body = nest.writer.block([variable], () => {
    const from = named(variable, extent);
    const isEven = end === extent && known !== undefined && known % step === 0;
    const left = (): Index => minimum(int(step), difference(end, from));
    part(from, isEven ? int(step) : nameBelow(nest, { name: most, extent: int(step + 1) }, left()));
  });
  nest.writer.emit({ kind: 'for', name: variable, from: int(0), to: end, step, body });
}

interface Inside {
  readonly rows: AxisPart;
  readonly bufferA: string | undefined;
  readonly bufferB: string | undefined;
}

/** A block: packs its panels of b, then runs over blocks of rows, panels and rows. */
function writeBlock(nest: Nest, given: Block, { rows, bufferA, bufferB }: Inside): void {
  const { product } = given;
  const { plan, oriented } = product;
  if (bufferB !== undefined) packPanels(nest, given, bufferB);
  const size = staticValue(difference(rows.to, rows.from));
  if (plan.rowAxes.length > 0) {
    eachPanel(nest, given, (part) => {
      const packedB = packedPanel(given, part, bufferB);
      scalarLoop(nest, { axis: rowsOf(oriented, plan), ...rows }, (row) => {
        const inRow = { ...given, product: productAt(product, coordinatesAt(nest, plan.rowAxes, row)) };
        rowTiles(nest, inRow, { rows: whole(oriented.m), ...part, packedA: undefined, packedB });
      });
    });
    return;
  }
  if (size !== undefined && size <= plan.blockRows) {
    writeRows(nest, given, { rows, bufferA, bufferB });
    return;
  }
  const name = nest.writer.fresh('row_start');
  const body = nest.writer.block([name], () => {
    const from = named(name, product.oriented.m.extent);
    writeRows(nest, given, { rows: { from, to: minimum(add(from, int(plan.blockRows)), rows.to) }, bufferA, bufferB });
  });
  nest.writer.emit({ kind: 'for', name, from: rows.from, to: rows.to, step: plan.blockRows, body });
}

/** Packs the panels of b for each tap of a block, one after another. */
function packPanels(nest: Nest, { product, block, columns }: Block, buffer: string): void {
  const { plan, oriented } = product;
  const { from, depth } = block;
  if (oriented.taps.length === 0 || plan.tapsWithin) {
    packB(nest, { product, from, depth, buffer, columns, first: int(0) });
    return;
  }
  scalarLoop(nest, { axis: { name: 'tap', extent: int(plan.taps) }, from: int(0), to: block.taps }, (tap) => {
    const here = productAt(product, coordinatesAt(nest, oriented.taps, add(block.tap, tap)));
    packB(nest, { product: here, from, depth, buffer, columns, first: multiply(tap, int(plan.depth)) });
  });
}

/** Where a panel of b was put. */
function packedPanel(
  { product, columns, block, panels }: Block,
  { start, column }: PanelPart,
  buffer?: string,
): Packed | undefined {
  const { plan } = product;
  if (panels !== undefined) {
    const panelWidth = int(plan.vectors * plan.lanes);
    const panel = add(multiply(start, panels.depth), difference(column, start));
    const base = add(add(panels.base, panel), multiply(block.from, panelWidth));
    return { buffer: panels.buffer, base, step: int(1), depthStep: panelWidth };
  }
  const base = add(multiply(difference(start, columns.from), int(plan.depth * plan.taps)), difference(column, start));
  if (buffer === undefined) return undefined;
  const width = plan.vectors * plan.lanes;
  const [depthStep, tapStep] = plan.tapsWithin ? [width * plan.taps, width] : [width, width * plan.depth];
  return { buffer, base, step: int(1), depthStep: int(depthStep), tapStep: int(tapStep) };
}

function writeRows(nest: Nest, given: Block, { rows, bufferA, bufferB }: Inside): void {
  const { product, block } = given;
  const { from, depth } = block;
  const packedA = bufferA === undefined ? undefined : packA(nest, { product, from, depth, buffer: bufferA, rows });
  eachPanel(nest, given, (part) => {
    rowTiles(nest, given, { rows, ...part, packedA, packedB: packedPanel(given, part, bufferB) });
  });
}
