// The loops around the register tile: units for threads, blocks of k, packed panels of b (and blocks of a), rows.
import { at, dtypeInfo } from '@tsinductor/base';
import { difference, named, product as productOf, roundDown, staticValue, typicalValue } from '@tsinductor/codegen';
import type { Lane } from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Access, Axis, Index, Value } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { chunkCycles } from '../../machine/target.ts';
import { grainOf } from '../plan/chunks.ts';
import { scalarLoop, vectorLoop, wholeRange } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import type { Epilogue, MapNode } from './epilogue.ts';
import { resultOf } from './operands.ts';
import type { Packed, Product, Tile } from './operands.ts';
import { packA, packB } from './pack.ts';
import { volume } from './plan.ts';
import type { Oriented, ProductPlan } from './plan.ts';
import { writeRegisterTile } from './register-tile.ts';

/** A part of an axis, [from, to). */
export interface AxisPart {
  readonly from: Index;
  readonly to: Index;
}

interface Blocks {
  readonly plan: ProductPlan;
  /** What follows at each element. */
  readonly maps: readonly MapNode[];
}

export function writeBlocks(nest: Nest, oriented: Oriented, { plan, maps }: Blocks): void {
  const { writer } = nest;
  const { node, m, n } = oriented;
  const width = plan.panels * plan.vectors * plan.lanes;
  const factors = [
    ...node.batch.map((axis) => axis.extent),
    plan.unitRows === undefined ? int(1) : ceilDivide(m.extent, int(plan.unitRows)),
    ceilDivide(n.extent, int(width)),
  ];
  const total = productOf(factors);
  nest.notes.push(
    `register tiles of ${String(plan.rows)} x ${String(plan.vectors * plan.lanes)}${plan.packB ? ', panels packed' : ''}${plan.packA ? ', rows packed' : ''}${maps.length > 0 ? ', epilogue in the tile' : ''}`,
  );
  const cycles =
    (volume(oriented) * node.batch.reduce((left, axis) => left * typicalValue(axis.extent), 1)) / plan.lanes / 1.8;
  const target = targetOf(nest, oriented, { plan, maps });
  if (nest.target.threads === 1 || (staticValue(total) !== undefined && cycles < 2 * chunkCycles(nest.target))) {
    writeUnits(nest, { oriented, plan, total, target, maps }, { from: int(0), to: total });
    if (maps.length === 0) round(nest, oriented, target);
    return;
  }
  const [begin, end] = [writer.fresh('begin'), writer.fresh('end')];
  const body = writer.sealedBlock([begin, end], () => {
    writeUnits(
      nest,
      { oriented, plan, total, target, maps },
      { from: named(begin, total), to: named(end, add(total, int(1))) },
    );
  });
  const each = Math.max(1, cycles / Math.max(1, typicalValue(total)));
  writer.emit({ kind: 'parallel', begin, end, total, grain: grainOf(nest, total, each), body });
  if (maps.length === 0) round(nest, oriented, target);
}

/** Sums over several blocks of k are rounded to the result's dtype once, so they are kept in the accumulated one. */
function targetOf(nest: Nest, oriented: Oriented, { plan, maps }: Blocks): Product['target'] {
  const out = at(oriented.node.outs, 0);
  const length = staticValue(oriented.k.extent);
  if (maps.length > 0) return sumsOf(nest, oriented, { plan, maps });
  const result = resultOf(nest, oriented.node);
  if (oriented.outDType === oriented.node.accumulate || (length !== undefined && length <= plan.depth)) return result;
  return nest.memory.workspace('sums', oriented.node.accumulate, nest.memory.decl(out).size);
}

/** Sums of finished tiles are in scratch; those of several blocks of k need a place between them. */
function sumsOf(nest: Nest, { node, k }: Oriented, { plan }: Blocks): Product['target'] {
  const length = staticValue(k.extent);
  if (length !== undefined && length <= plan.depth) return { name: '', dtype: node.accumulate };
  return nest.memory.workspace('sums', node.accumulate, nest.memory.decl(at(node.outs, 0)).size);
}

/** result := sums, where those lie in workspace. */
function round(nest: Nest, { node, outDType }: Oriented, target: Product['target']): void {
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
  readonly target: Product['target'];
  readonly maps: readonly MapNode[];
}

function writeUnits(nest: Nest, { oriented, plan, total, target, maps }: Units, range: AxisPart): void {
  const { node, m, n } = oriented;
  const width = plan.panels * plan.vectors * plan.lanes;
  if (staticValue(total) === 1) {
    writeUnit(nest, { oriented, plan, batch: new Map(), target }, { rows: whole(m), columns: whole(n), maps });
    return;
  }
  scalarLoop(nest, { axis: { name: 'unit', extent: total }, ...range }, (unit) => {
    const take = (below: Index, count: Index): readonly [Index, Index] => [
      modulo(below, count),
      floorDivide(below, count),
    ];
    const [columnUnit, afterColumns] = take(unit, ceilDivide(n.extent, int(width)));
    const rowUnits = plan.unitRows === undefined ? int(1) : ceilDivide(m.extent, int(plan.unitRows));
    const [rowUnit, afterRows] = take(afterColumns, rowUnits);
    let below = afterRows;
    const batch = new Map<string, Index>();
    for (const axis of node.batch.toReversed()) {
      const [here, rest] = axis === node.batch[0] ? [below, int(0)] : take(below, axis.extent);
      batch.set(axis.name, nameIndex(nest, axis, here));
      below = rest;
    }
    const column = nameIndex(nest, { name: 'column', extent: n.extent }, multiply(columnUnit, int(width)));
    const columns = { from: column, to: minimum(add(column, int(width)), n.extent) };
    const row = multiply(rowUnit, int(plan.unitRows ?? 0));
    const rows =
      plan.unitRows === undefined ? whole(m) : { from: row, to: minimum(add(row, int(plan.unitRows)), m.extent) };
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

function nameIndex(nest: Nest, axis: Axis, value: Index): Index {
  const defined = nest.writer.define(
    { kind: 'index', value, type: { dtype: 'i64', lanes: 1 } },
    axis.name,
    nest.writer.depth,
  );
  return defined.kind === 'name' ? named(defined.name, axis.extent) : value;
}

interface UnitParts {
  readonly rows: AxisPart;
  readonly columns: AxisPart;
  readonly maps: readonly MapNode[];
}

/** One unit: all of k, for some rows and some panels of columns. */
function writeUnit(nest: Nest, given: Product, { rows, columns, maps }: UnitParts): void {
  const { plan, oriented } = given;
  const { k, node } = oriented;
  const panelWidth = plan.vectors * plan.lanes;
  const scratch = (base: string, size: number): string => {
    const name = nest.writer.fresh(base);
    nest.writer.emit({ kind: 'scratch', name, dtype: node.accumulate, size });
    return name;
  };
  const epilogue = (): Epilogue => ({ maps, scratch: scratch('tile', plan.rows * panelWidth), width: panelWidth });
  const product = maps.length === 0 ? given : { ...given, epilogue: epilogue() };
  const bufferB = plan.packB ? scratch('panel', plan.depth * panelWidth * plan.panels) : undefined;
  const bufferA = plan.packA ? scratch('block', plan.depth * plan.blockRows) : undefined;
  const extent = staticValue(k.extent);
  const single = extent !== undefined && extent <= plan.depth;
  const inBlock = (from: Index, depth: Index): void => {
    const block: Block = { product, from, depth, columns, accumulates: single ? 'never' : 'after first' };
    writeBlock(nest, block, { rows, bufferA, bufferB });
  };
  if (single) {
    inBlock(int(0), k.extent);
    return;
  }
  const name = nest.writer.fresh('block_start');
  const body = nest.writer.block([name], () => {
    const from = named(name, k.extent);
    const even = extent !== undefined && extent % plan.depth === 0;
    const left = (): Index => minimum(int(plan.depth), difference(k.extent, from));
    inBlock(from, even ? int(plan.depth) : nameIndex(nest, { name: 'depth', extent: int(plan.depth + 1) }, left()));
  });
  nest.writer.emit({ kind: 'for', name, from: int(0), to: k.extent, step: plan.depth, body });
}

interface Block {
  readonly product: Product;
  readonly from: Index;
  readonly depth: Index;
  readonly columns: AxisPart;
  readonly accumulates: Tile['accumulates'];
}

interface Inside {
  readonly rows: AxisPart;
  readonly bufferA: string | undefined;
  readonly bufferB: string | undefined;
}

/** A block of k: packs its panels of b, then runs over blocks of rows, panels and rows. */
function writeBlock(nest: Nest, block: Block, { rows, bufferA, bufferB }: Inside): void {
  const { product, columns } = block;
  const { plan } = product;
  if (bufferB !== undefined) packB(nest, { ...block, buffer: bufferB, columns });
  const size = staticValue(difference(rows.to, rows.from));
  if (size !== undefined && size <= plan.blockRows) {
    writeRows(nest, block, { rows, bufferA, bufferB });
    return;
  }
  const name = nest.writer.fresh('row_start');
  const body = nest.writer.block([name], () => {
    const from = named(name, product.oriented.m.extent);
    writeRows(nest, block, { rows: { from, to: minimum(add(from, int(plan.blockRows)), rows.to) }, bufferA, bufferB });
  });
  nest.writer.emit({ kind: 'for', name, from: rows.from, to: rows.to, step: plan.blockRows, body });
}

function writeRows(nest: Nest, block: Block, { rows, bufferA, bufferB }: Inside): void {
  const { product, columns } = block;
  const { plan } = product;
  const panelWidth = plan.vectors * plan.lanes;
  const packedA = bufferA === undefined ? undefined : packA(nest, { ...block, buffer: bufferA, rows });
  eachPanel(nest, block, ({ start, column, vectors, lastCount }) => {
    const base = add(multiply(difference(start, columns.from), int(plan.depth)), difference(column, start));
    const packedB: Packed | undefined =
      bufferB === undefined ? undefined : { buffer: bufferB, base, step: int(1), depthStep: int(panelWidth) };
    rowTiles(nest, block, { rows, column, vectors, lastCount, packedA, packedB });
  });
}

/** Columns that a tile covers: some vectors from `column` on, of the panel that begins at `start`. */
interface PanelPart {
  readonly start: Index;
  readonly column: Index;
  readonly vectors: number;
  readonly lastCount: Index | undefined;
}

/** Whole panels in a loop, then what is left of the columns: as vectors, the last of them partial. */
function eachPanel(nest: Nest, { product, columns }: Block, panel: (part: PanelPart) => void): void {
  const { plan, oriented } = product;
  const panelWidth = plan.vectors * plan.lanes;
  const extent = staticValue(oriented.n.extent);
  const rest = extent === undefined ? undefined : extent % panelWidth;
  const end = rest === 0 ? columns.to : add(columns.from, roundDown(difference(columns.to, columns.from), panelWidth));
  const loop = (range: AxisPart, step: number, body: (column: Index) => void): void => {
    if (staticValue(difference(range.to, range.from)) === 0) return;
    const name = nest.writer.fresh(oriented.n.name);
    const block = nest.writer.block([name], () => {
      body(named(name, oriented.n.extent));
    });
    nest.writer.emit({ kind: 'for', name, from: range.from, to: range.to, step, body: block });
  };
  loop({ from: columns.from, to: end }, panelWidth, (column) => {
    panel({ start: column, column, vectors: plan.vectors, lastCount: undefined });
  });
  if (rest === 0) return;
  if (rest === undefined) {
    loop({ from: end, to: columns.to }, plan.lanes, (column) => {
      const lastCount = minimum(int(plan.lanes), difference(columns.to, column));
      panel({ start: end, column, vectors: 1, lastCount });
    });
    return;
  }
  const vectors = Math.ceil(rest / plan.lanes);
  const lastCount = rest % plan.lanes === 0 ? undefined : int(rest % plan.lanes);
  loop({ from: end, to: columns.to }, panelWidth, (column) => {
    panel({ start: column, column, vectors, lastCount });
  });
}

interface RowTiles {
  readonly rows: AxisPart;
  readonly column: Index;
  readonly vectors: number;
  readonly lastCount: Index | undefined;
  readonly packedA: Packed | undefined;
  readonly packedB: Packed | undefined;
}

/** Tiles down a panel, then the rows that are left: in one smaller tile where their number is known, else one by one. */
function rowTiles(nest: Nest, { product, from, depth, accumulates }: Block, tiles: RowTiles): void {
  const { plan, oriented } = product;
  const { rows, packedA } = tiles;
  const extent = staticValue(oriented.m.extent);
  const rest = extent === undefined ? undefined : extent % plan.rows;
  const end = rest === 0 ? rows.to : add(rows.from, roundDown(difference(rows.to, rows.from), plan.rows));
  const loop = (range: AxisPart, count: number): void => {
    if (staticValue(difference(range.to, range.from)) === 0) return;
    const name = nest.writer.fresh(oriented.m.name);
    const block = nest.writer.block([name], () => {
      const row = named(name, oriented.m.extent);
      const shifted =
        packedA === undefined
          ? undefined
          : { ...packedA, base: add(packedA.base, multiply(difference(row, rows.from), packedA.step)) };
      writeRegisterTile(nest, product, { ...tiles, row, rows: count, from, depth, accumulates, packedA: shifted });
    });
    nest.writer.emit({ kind: 'for', name, from: range.from, to: range.to, step: count, body: block });
  };
  loop({ from: rows.from, to: end }, plan.rows);
  if (rest !== 0) loop({ from: end, to: rows.to }, rest ?? 1);
}
