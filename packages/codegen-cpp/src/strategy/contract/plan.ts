// How a matrix product is done: its form, the register tile, the blocks (contract/layout.ts), and the units that threads share. See Note [matrix products].
//
// Note [matrix products]
// The register tile has a few rows by a few vectors of columns, all accumulators in named variables. Elements of a are
// broadcast from where they lie (each row of a is read once per panel of b, in order); b is read in place while it is
// small, and otherwise copied into panels as wide as the tile, one after another, so that it streams from the second
// level cache. Units are blocks of rows and columns that share nothing: no barrier, and any number of threads. The sum
// over k is never divided between units, so results do not depend on threads.
//
// A convolution sums over places of a window (taps) and then along k, which has the channels, and often a row of the window. Its tiles
// have rows of one row of places; the axes of the batch of which b is independent (images, rows of places) run within a unit, so that
// all of them use a panel while it is in the cache. A block of k is a part of one tap, or a few whole ones; or some channels with all
// taps, where b is a weight of [outputs, channels, window]: there a channel's taps lie side by side, and a panel has them so.
import { dtypeInfo } from '@tsinductor/base';
import { nextPowerOfTwo, staticValue, typicalValue } from '@tsinductor/codegen';
import type { Axis } from '@tsinductor/ir';
import type { Choices } from '../../machine/choices.ts';
import type { RegisterTile } from '../../machine/choices/contract.ts';
import { lanesFor } from '../../machine/isa.ts';
import type { Planning } from '../plan/planning.ts';
import { hasTapsWithin, layoutOf } from './layout.ts';
import type { Layout } from './layout.ts';
import { isAlone, isInterleaved, liesAcross, stepAlong, typicalPoints, volume } from './oriented.ts';
import type { Oriented } from './oriented.ts';
import { unitsOf } from './units.ts';
import type { Extents, Units } from './units.ts';

/** `tiles`: register tiles; `dots`: sums along the reduced axis; `rows`: one row, as a reduction; `plain`: loops. */
type ProductForm = 'tiles' | 'dots' | 'rows' | 'plain';

/**
 * Long rows of both operands side by side and few rows of the result: dot products. One row: a reduction. Anything else of some size:
 * register tiles. The rest: plain loops.
 */
export function formOf({ choices }: Planning, oriented: Oriented): ProductForm {
  const known = [oriented.m, oriented.n, oriented.k, ...oriented.taps].every(
    (axis) => staticValue(axis.extent) !== undefined,
  );
  if ((known && volume(oriented) < choices.plainVolume) || !isAffine(oriented)) return 'plain';
  const hasTaps = oriented.taps.length > 0;
  if (!hasTaps && favoursDots(choices, oriented)) return 'dots';
  const mayBeRows = !hasTaps || isInterleaved(oriented);
  return mayBeRows && isRowTimesRows(choices, oriented) ? 'rows' : 'tiles';
}

const isAffine = ({ a, b, k }: Oriented): boolean => stepAlong(a, k) !== undefined || stepAlong(b, k) !== undefined;

/** Few rows, and k side by side in both operands: packing would cost more than the product. */
function favoursDots({ dotRows }: Choices, { a, b, m, k, node }: Oriented): boolean {
  const rows = staticValue(m.extent);
  const direct = [a, b].every((operand) => operand.element === undefined && operand.dtype === node.accumulate);
  return rows !== undefined && rows <= dotRows && direct && stepAlong(a, k) === 1 && stepAlong(b, k) === 1;
}

/**
 * One row, and rows of b that are contiguous and long, each used once. Or a few rows, and columns of b that are widened or computed
 * from what is contiguous along them: a panel would be computed, stored, transposed and read for a few rows.
 */
function isRowTimesRows({ rowColumns, stateRows }: Choices, { node, a, b, m, n, k }: Oriented): boolean {
  const rows = staticValue(m.extent) ?? Infinity;
  if (rows === 1 && stepAlong(b, n) === 1 && (staticValue(n.extent) ?? 0) >= rowColumns) return true;
  const isMade = b.element !== undefined || b.dtype !== node.accumulate;
  return rows <= (a.element === undefined ? stateRows : 1) && isMade && stepAlong(b, k) === 1;
}

export interface ProductPlan extends Units, Layout {
  readonly lanes: number;
  readonly rows: number;
  readonly vectors: number;
  /** Whether a panel of b has all taps of each point of k side by side, as the weight of a convolution has them. */
  readonly tapsWithin: boolean;
  /** Whether results lie along m, so that columns of finished tiles are stored. */
  readonly turned: boolean;
  /** Axes of the batch that run within a unit: b is the same for all their points. */
  readonly rowAxes: readonly Axis[];
  /** Rows per block, of which the packed part of a is kept. */
  readonly blockRows: number;
}

/**
 * A register tile for so many rows: few rows leave registers for more columns. With registers of AVX-512 what is left of the rows has enough sums to hide the latency
 * of an addition; elsewhere tiles have equal parts of the rows.
 */
function tileFor({ target, choices }: Planning, rows: number, lanes: number): RegisterTile {
  const full = choices.registerTiles[target.isa];
  if (lanes === 1) return { rows: Math.min(rows, 4), vectors: 1 };
  if (target.isa !== 'avx512') return { ...full, rows: Math.ceil(rows / Math.max(1, Math.ceil(rows / full.rows))) };
  if (rows >= full.rows) return full;
  return { rows, vectors: choices.fewRowsVectors[rows] ?? full.vectors };
}

interface Tiling {
  readonly lanes: number;
  readonly streams: boolean;
  /** Whether rows are short runs, one after another. */
  readonly isShort: boolean;
}

/** The register tile: of more rows where there are few columns and the number of rows is known, since what is left of others goes row by row. */
function tileOf(planning: Planning, { m, n }: Oriented, { lanes, streams, isShort }: Tiling): RegisterTile {
  const { target, choices } = planning;
  const [rows, columns] = [staticValue(m.extent), staticValue(n.extent)];
  const height = rows ?? 64;
  const tile = streams
    ? streamedTileFor(planning, height)
    : isShort
      ? shortTileFor(planning, height, lanes)
      : tileFor(planning, height, lanes);
  const wide = columns === undefined ? tile.vectors : Math.ceil(columns / lanes);
  const most = choices.fewVectorsRows[target.isa]?.[wide];
  const isKnown = most !== undefined && rows !== undefined;
  // Blocks of a chain are whole tiles of both products.
  if (streams || !isKnown || wide >= tile.vectors || lanes === 1 || !isAlone(planning))
    return { ...tile, vectors: Math.min(tile.vectors, wide) };
  return { rows: Math.ceil(height / Math.ceil(height / most)), vectors: wide };
}

/** A register tile for short runs of rows, one after another: all of a run, or of parts of it that have about as many. */
function shortTileFor(planning: Planning, rows: number, lanes: number): RegisterTile {
  const { target, choices } = planning;
  const full = tileFor(planning, rows, lanes);
  const isWhole = lanes > 1 && rows <= (choices.wholeRunRows[target.isa] ?? 0);
  const even = isWhole ? rows : Math.ceil(rows / Math.ceil(rows / full.rows));
  const wide = choices.evenRowsVectors[target.isa]?.[even];
  return { rows: even, vectors: lanes === 1 ? full.vectors : (wide ?? full.vectors) };
}

/**
 * Whether a product has few rows and a second operand that no cache holds: it is bound by reading that once, so tiles take it from where
 * it lies, a few points of k at a time and as many columns as there are sums in the second-level cache. Then what is read runs along rows.
 */
function isStreamed({ choices }: Planning, { node, b, m, n, k, taps }: Oriented): boolean {
  const extents = [m, n, k, ...node.batch].map((axis) => staticValue(axis.extent));
  const [rows, columns, depth] = extents;
  if (rows === undefined || columns === undefined || depth === undefined || extents.includes(undefined)) return false;
  const { streamedRows, streamedBytes } = choices;
  const bytes = columns * depth * dtypeInfo[b.dtype].bytes;
  return taps.length === 0 && rows <= streamedRows && stepAlong(b, n) === 1 && bytes >= streamedBytes;
}

/** A register tile for all rows of a streamed product, or for equal parts of them. */
function streamedTileFor({ target, choices }: Planning, height: number): RegisterTile {
  const full = choices.registerTiles[target.isa];
  const most = target.isa === 'avx512' ? Math.max(full.rows, 8) : full.rows;
  const rows = Math.ceil(height / Math.ceil(height / most));
  const vectors = choices.fewRowsVectors[rows] ?? (rows > full.rows ? full.vectors / 2 : full.vectors);
  return { rows, vectors: target.isa === 'avx512' ? vectors : full.vectors };
}

function extentsOf({ node, m, n, k, taps }: Oriented, rowAxes: readonly Axis[]): Extents {
  const batch = typicalPoints(node.batch.slice(0, node.batch.length - rowAxes.length));
  return {
    height: typicalPoints([...rowAxes, m]),
    width: typicalValue(n.extent),
    length: typicalPoints([...taps, k]),
    batch,
  };
}

/** The last axes of the batch of which b is independent, where neither operand is computed. */
function rowAxesOf({ node, a, b, taps }: Oriented): readonly Axis[] {
  if (taps.length === 0 || a.element !== undefined || b.element !== undefined) return [];
  const first = node.batch.findLastIndex((axis) => stepAlong(b, axis) !== 0) + 1;
  return node.batch.slice(first);
}

export function planProduct(planning: Planning, oriented: Oriented): ProductPlan {
  const { target, choices } = planning;
  const { node, a, m, n } = oriented;
  const { bytes } = dtypeInfo[node.accumulate];
  const columns = staticValue(n.extent);
  const full = lanesFor(target.isa, bytes);
  const lanes = columns === undefined ? full : Math.min(full, nextPowerOfTwo(columns));
  const rowAxes = rowAxesOf(oriented);
  const height = staticValue(m.extent) ?? 64;
  const streams = lanes > 1 && isStreamed(planning, oriented);
  const { rows, vectors } = tileOf(planning, oriented, { lanes, streams, isShort: rowAxes.length > 0 });
  const extents = extentsOf(oriented, rowAxes);
  const tapsWithin = hasTapsWithin(oriented);
  const panelWidth = vectors * lanes;
  const laidOut = layoutOf(planning, oriented, { bytes, tapsWithin, panelWidth, extents, rows, streams });
  const { panels, packA, packB } = laidOut;
  // A unit packs panels for itself: each part of the rows would pack them anew.
  const isShared = !packB && rowAxes.length === 0 && node.batch.every((axis) => stepAlong(a, axis) === 0);
  const together = rowAxes.length > 0 ? typicalValue(m.extent) : 1;
  const units = unitsOf(planning, { extents, rows, columns: panelWidth * panels, bytes, together, isShared });
  // Whole tiles: what is left of the last block alone is a tile of its own height.
  const most = packA ? choices.blockRows.packed : choices.blockRows.inPlace;
  const blockRows = Math.max(1, Math.floor(most / rows)) * rows;
  const turned = lanes > 1 && height >= FEW_ROWS && isAlone(planning) && liesAcross(planning, node, oriented);
  const blocks = { ...laidOut, ...units, tapsWithin, blockRows };
  return { lanes, rows, vectors, turned, rowAxes, ...blocks };
}

/** Fewer rows are too few for their columns to be stored as vectors. */
const FEW_ROWS = 4;
