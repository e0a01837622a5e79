// Products whose results lie along rows: of [outputs, places] where tiles are of places and outputs, as a convolution's. Tiles one below
// another go to scratch, are transposed there, and what follows runs along rows of the product: so every array that lies as the result
// is read and written in vectors.
import { dtypeInfo, invariant } from '@tsinductor/base';
import { difference, named, staticValue } from '@tsinductor/codegen';
import { add, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { lanesFor } from '../../machine/isa.ts';
import { laneBytes } from '../plan/lanes.ts';
import { scalarLoop, vectorLoop } from '../write/loops.ts';
import type { Nest } from '../write/nest.ts';
import { finishSums } from './epilogue.ts';
import type { Band, Epilogue, MapNode } from './epilogue.ts';
import type { AxisPart } from './in-threads.ts';
import type { Product } from './operands.ts';
import type { Oriented } from './oriented.ts';
import type { ProductPlan } from './plan.ts';

/** Rows of a band at most: a few vectors, so that few of them are partial, and no more than stays in the first-level cache. */
const MOST_ROWS = 64;

/** Whole tiles, and whole vectors of columns where that comes out even. */
function bandRows({ m }: Oriented, { rows, lanes }: ProductPlan): number {
  const height = staticValue(m.extent);
  if (height !== undefined && height <= MOST_ROWS) return Math.ceil(height / rows) * rows;
  const even = [3 * lanes, 2 * lanes, 4 * lanes].find((count) => count % rows === 0 && count <= MOST_ROWS);
  return even ?? Math.max(1, Math.floor(MOST_ROWS / rows)) * rows;
}

interface Unit {
  readonly plan: ProductPlan;
  readonly maps: readonly MapNode[];
  /** Scratch of so many elements; its name. */
  readonly scratch: (base: string, size: number) => string;
}

export function turnedEpilogue(oriented: Oriented, { plan, maps, scratch }: Unit): Epilogue {
  const rows = bandRows(oriented, plan);
  const pitch = Math.ceil(rows / plan.lanes) * plan.lanes;
  const width = plan.vectors * plan.lanes;
  const band = { rows, pitch, columns: scratch('columns', width * pitch) };
  return { maps, scratch: scratch('tile', pitch * width), width, band };
}

interface Rows {
  readonly band: Band;
  readonly m: Axis;
  readonly rows: AxisPart;
}

/** The bands of some rows of a product. */
export function eachBand(nest: Nest, { band, m, rows }: Rows, write: (part: AxisPart) => void): void {
  const count = staticValue(difference(rows.to, rows.from));
  if (count !== undefined && count <= band.rows) {
    write(rows);
    return;
  }
  const name = nest.writer.fresh('band_start');
  const body = nest.writer.block([name], () => {
    const from = named(name, m.extent);
    write({ from, to: minimum(add(from, int(band.rows)), rows.to) });
  });
  nest.writer.emit({ kind: 'for', name, from: rows.from, to: rows.to, step: band.rows, body });
}

/** Columns of the tiles of a band: some vectors from `column` on. */
interface Columns {
  readonly rows: AxisPart;
  readonly column: Index;
  readonly vectors: number;
  readonly lastCount: Index | undefined;
}

/** Stores what lies in scratch by columns, through all that follows the product. */
export function storeColumns(nest: Nest, product: Product, columns: Columns): void {
  const { plan, oriented, epilogue } = product;
  invariant(epilogue?.band !== undefined, 'tiles of a band are in scratch');
  const { band } = epilogue;
  transposeTiles(nest, product, { ...columns, epilogue, band });
  const { m, n } = oriented;
  const width = add(int((columns.vectors - 1) * plan.lanes), columns.lastCount ?? int(plan.lanes));
  const bytes = Math.max(laneBytes(epilogue.maps, m.name, nest), dtypeInfo[oriented.node.accumulate].bytes);
  const lanes = Math.min(plan.lanes, lanesFor(nest.target.isa, bytes));
  const along = { name: `${m.name}_row`, extent: int(band.rows) };
  const rows = { axis: along, from: int(0), to: difference(columns.rows.to, columns.rows.from) };
  const down = { axis: { name: `${n.name}_column`, extent: int(epilogue.width) }, from: int(0), to: width };
  scalarLoop(nest, down, (column) => {
    vectorLoop(nest, { ...rows, lanes, instances: 1, unroll: 2 }, (vectors) => {
      for (const vector of vectors)
        nest.memory.scoped(() => {
          finishSums(nest, product, {
            vector,
            from: { buffer: band.columns, at: add(multiply(column, int(band.pitch)), vector.at) },
            row: add(columns.rows.from, vector.at),
            column: add(columns.column, column),
          });
        });
    });
  });
}

interface Turned extends Columns {
  readonly epilogue: Epilogue;
  readonly band: Band;
}

/** Whole tiles of lanes x lanes: what lies beyond the rows and columns that there are is read and written, and not used. */
function transposeTiles(nest: Nest, { plan, oriented }: Product, { epilogue, band, rows, vectors }: Turned): void {
  const { writer } = nest;
  const { lanes } = plan;
  const dtype = oriented.node.accumulate;
  const [row, column] = [writer.fresh('tile_row'), writer.fresh('tile_column')];
  const size = int(lanes);
  const [y, x] = [named(row, int(band.pitch)), named(column, int(epilogue.width))];
  const inner = writer.block([column], () => {
    writer.emit({
      kind: 'transpose',
      dtype,
      from: { buffer: epilogue.scratch, at: add(multiply(y, int(epilogue.width)), x), step: int(epilogue.width) },
      to: { buffer: band.columns, at: add(multiply(x, int(band.pitch)), y), step: int(band.pitch) },
      rows: size,
      columns: size,
      tile: lanes,
    });
  });
  const body = writer.block([row], () => {
    writer.emit({ kind: 'for', name: column, from: int(0), to: int(vectors * lanes), step: lanes, body: inner });
  });
  writer.emit({ kind: 'for', name: row, from: int(0), to: difference(rows.to, rows.from), step: lanes, body });
}
