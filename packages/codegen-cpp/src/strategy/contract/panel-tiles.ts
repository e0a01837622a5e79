// The register tiles of a block: panel by panel, and down each panel; where columns of finished tiles are stored, band by band.
import { difference, named, roundDown, staticValue } from '@tsinductor/codegen';
import { add, int, minimum, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Nest } from '../write/nest.ts';
import type { AxisPart } from './in-threads.ts';
import type { DepthBlock, Packed, PanelMemory, Product, Tile } from './operands.ts';
import { whetherLast, writeRegisterTile } from './register-tile.ts';
import { eachBand, storeColumns } from './turned.ts';

/** What is summed over at once, for some columns. */
export interface Block {
  readonly product: Product;
  readonly block: DepthBlock;
  readonly columns: AxisPart;
  readonly accumulates: Tile['accumulates'];
  readonly panels: PanelMemory | undefined;
}

/** Columns that a tile covers: some vectors from `column` on, of the panel that begins at `start`. */
export interface PanelPart {
  readonly start: Index;
  readonly column: Index;
  readonly vectors: number;
  readonly lastCount: Index | undefined;
}

/** Whole panels in a loop, then what is left of the columns: as vectors, the last of them partial. */
export function eachPanel(nest: Nest, { product, columns }: Block, panel: (part: PanelPart) => void): void {
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
  /** The first row that is packed, if that is not the first of these. */
  readonly packedFrom?: Index;
  readonly bandStart?: Index;
}

/** Tiles down a panel; where columns of finished tiles are stored, band by band. */
export function rowTiles(nest: Nest, given: Block, tiles: RowTiles): void {
  const { product, block, accumulates } = given;
  const band = product.epilogue?.band;
  if (band === undefined) {
    tilesDown(nest, given, tiles);
    return;
  }
  eachBand(nest, { band, m: product.oriented.m, rows: tiles.rows }, (rows) => {
    tilesDown(nest, given, { ...tiles, rows, packedFrom: tiles.rows.from, bandStart: rows.from });
    const last = (): void => {
      storeColumns(nest, product, { ...tiles, rows });
    };
    whetherLast(nest, product, { block, accumulates, last, before: () => undefined });
  });
}

/** Tiles down a panel, then the rows that are left: in one smaller tile where their number is known, else one by one. */
function tilesDown(nest: Nest, { product, block, accumulates }: Block, tiles: RowTiles): void {
  const { plan, oriented } = product;
  const { rows, packedA, packedFrom = rows.from } = tiles;
  const extent = product.isPart === true ? undefined : staticValue(oriented.m.extent);
  const rest = extent === undefined ? undefined : extent % plan.rows;
  const end = rest === 0 ? rows.to : add(rows.from, roundDown(difference(rows.to, rows.from), plan.rows));
  const loop = (range: AxisPart, count: number): void => {
    if (staticValue(difference(range.to, range.from)) === 0) return;
    const name = nest.writer.fresh(oriented.m.name);
    const body = nest.writer.block([name], () => {
      const row = named(name, oriented.m.extent);
      const shifted =
        packedA === undefined
          ? undefined
          : { ...packedA, base: add(packedA.base, multiply(difference(row, packedFrom), packedA.step)) };
      writeRegisterTile(nest, product, { ...tiles, row, rows: count, block, accumulates, packedA: shifted });
    });
    nest.writer.emit({ kind: 'for', name, from: range.from, to: range.to, step: count, body });
  };
  loop({ from: rows.from, to: end }, plan.rows);
  if (rest !== 0) loop({ from: end, to: rows.to }, rest ?? 1);
}
