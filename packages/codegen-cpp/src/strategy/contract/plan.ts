// How a matrix product is laid out: orientation, register tile, cache blocks, what is packed, and the units that threads
// share. See Note [matrix products].
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
import { at, dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { nextPowerOfTwo, staticValue, typicalValue } from '@tsinductor/codegen';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, ContractOperand, Index, LoopNode } from '@tsinductor/ir';
import type { Choices } from '../../machine/choices.ts';
import type { RegisterTile } from '../../machine/choices/contract.ts';
import { lanesFor } from '../../machine/isa.ts';
import type { Planning } from '../plan/planning.ts';
import { unitsOf } from './units.ts';
import type { Extents, Units } from './units.ts';

export type Contract = LoopNode & { readonly kind: 'contract' };

export interface Operand extends ContractOperand {
  readonly dtype: DType;
}

/** A product with its roles settled: n is the axis along which the result is contiguous, if there is one. */
export interface Oriented {
  readonly node: Contract;
  readonly a: Operand;
  readonly b: Operand;
  readonly m: Axis;
  readonly n: Axis;
  /** The innermost axis that is summed over. */
  readonly k: Axis;
  /** Those around it, outermost first. */
  readonly taps: readonly Axis[];
  readonly outDType: DType;
}

/** Steps of an operand, where they are numbers. */
export const stepAlong = (operand: ContractOperand, axis: Axis): number | undefined => {
  const step = coefficientOf(operand.at, axis);
  return step?.kind === 'int' ? step.value : undefined;
};

export function orient({ memory, group }: Pick<Planning, 'memory' | 'group'>, node: Contract): Oriented {
  const operand = (given: ContractOperand): Operand => ({ ...given, dtype: memory.decl(given.buffer).dtype });
  const [a, b] = [operand(node.a), operand(node.b)];
  const outDType = memory.decl(at(node.outs, 0)).dtype;
  const [k, taps] = [at(node.over, node.over.length - 1), node.over.slice(0, -1)];
  const follows = group.nodes.length > 1;
  const isAcross = liesAcross({ memory, group }, node, node) && staticValue(node.m.extent) !== 1;
  const swaps =
    (isAcross && (stepAlong(a, node.m) === 1 || (!follows && taps.length === 0))) || staticValue(node.n.extent) === 1;
  return swaps
    ? { node, a: b, b: a, m: node.n, n: node.m, k, taps, outDType }
    : { node, a, b, m: node.m, n: node.n, k, taps, outDType };
}

/**
 * Whether what a group with one product leaves in memory lies along m, and not along n. A result that lies so is stored by columns of
 * finished tiles (contract/turned.ts), unless the roles of the operands are exchanged.
 */
function liesAcross(
  { memory, group }: Pick<Planning, 'memory' | 'group'>,
  { writes }: Contract,
  { m, n }: Pick<Oriented, 'm' | 'n'>,
): boolean {
  if (!isAlone({ group })) return writesAcross(at(writes, 0), { m, n });
  const results = group.nodes.flatMap(({ outs: all, writes: places }) =>
    all.flatMap((out, slot) => (memory.isVirtual(out) || memory.row(out) !== undefined ? [] : [at(places, slot)])),
  );
  const places = results.length === 0 ? [at(writes, 0)] : results;
  return places.every((place) => writesAcross(place, { m, n }));
}

function writesAcross(place: Index, { m, n }: Pick<Oriented, 'm' | 'n'>): boolean {
  const step = (axis: Axis): number | undefined => {
    const coefficient = coefficientOf(place, axis);
    return coefficient && staticValue(coefficient);
  };
  return step(m) === 1 && step(n) !== 1;
}

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

/** Whether taps are those of elements that lie interleaved in b (scheduler/interleaved), of which a reduction takes one after the other. */
const isInterleaved = ({ b, taps }: Oriented): boolean =>
  b.element !== undefined && taps.length === 1 && taps.every((tap) => stepAlong(b, tap) === 0);

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

export interface ProductPlan extends Units {
  readonly lanes: number;
  readonly rows: number;
  readonly vectors: number;
  /** Points of k per block, and how many taps: more than one where all of k is in a block, or all taps are. */
  readonly depth: number;
  readonly taps: number;
  /** Whether a panel of b has all taps of each point of k side by side, as the weight of a convolution has them. */
  readonly tapsWithin: boolean;
  /** Whether results lie along m, so that columns of finished tiles are stored. */
  readonly turned: boolean;
  /** Axes of the batch that run within a unit: b is the same for all their points. */
  readonly rowAxes: readonly Axis[];
  readonly packA: boolean;
  readonly packB: boolean;
  /** Rows per block, of which the packed part of a is kept. */
  readonly blockRows: number;
  /** Panels that are packed before they are used, and that a unit has. */
  readonly panels: number;
}

/** A register tile for so many rows: few rows leave registers for more columns. */
function tileFor({ target, choices }: Planning, rows: number, lanes: number): RegisterTile {
  const full = choices.registerTiles[target.isa];
  if (lanes === 1) return { rows: Math.min(rows, 4), vectors: 1 };
  if (rows >= full.rows || target.isa !== 'avx512') return { ...full, rows: Math.min(rows, full.rows) };
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

const typicalPoints = (axes: readonly Axis[]): number =>
  axes.reduce((left, axis) => left * typicalValue(axis.extent), 1);

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

interface Laying extends Blocking, Packing {
  readonly streams: boolean;
}

/** What a block has of k, what is packed, and the panels of a unit. */
function layoutOf(
  planning: Planning,
  oriented: Oriented,
  { streams, ...laying }: Laying,
): Pick<ProductPlan, 'depth' | 'taps' | 'packA' | 'packB' | 'panels'> {
  const { choices } = planning;
  const { extents, bytes, panelWidth } = laying;
  const packs = packing(choices, oriented, laying);
  if (streams) {
    // What a unit has of the second operand is not kept: its sums are.
    const panelBytes = extents.height * panelWidth * bytes;
    const panels = panelsFor({ extents, panelWidth, panelBytes, packA: packs.packA, most: Infinity }, planning);
    return { depth: choices.streamedDepth, taps: 1, panels, packA: packs.packA, packB: false };
  }
  const block = blockOf(choices, oriented, laying);
  const panelBytes = block.depth * block.taps * panelWidth * bytes;
  const panels = panelsFor({ extents, panelWidth, panelBytes, packA: packs.packA, most: choices.panels }, planning);
  return { ...block, ...packs, panels };
}

/** Fewer rows are too few for their columns to be stored as vectors. */
const FEW_ROWS = 4;

const isAlone = ({ group }: Pick<Planning, 'group'>): boolean =>
  group.nodes.filter((node) => node.kind === 'contract').length === 1;

/** Whether b lies across its columns, with the taps of each point of k side by side; or in one element, as interleaved ones do. */
function hasTapsWithin(oriented: Oriented): boolean {
  const { b, n, k, taps, node } = oriented;
  if (isInterleaved(oriented)) return true;
  if (taps.length === 0 || b.element !== undefined || b.dtype !== node.accumulate || stepAlong(b, n) === 1)
    return false;
  const axes = [k, ...taps];
  const steps = axes.map((_, position) =>
    axes.slice(position + 1).reduce((step, { extent }) => step * (staticValue(extent) ?? NaN), 1),
  );
  return axes.every((axis, position) => stepAlong(b, axis) === steps[position]);
}

interface Blocking {
  readonly bytes: number;
  readonly tapsWithin: boolean;
  readonly panelWidth: number;
}

/** What a block has of k and of taps. */
function blockOf(
  choices: Choices,
  { b, k, taps }: Oriented,
  { bytes, tapsWithin, panelWidth }: Blocking,
): Pick<ProductPlan, 'depth' | 'taps'> {
  // All rows of places use a panel, and sums of so many are large: the fewest blocks.
  const deep = depthFor(choices, undefined, bytes);
  const isComputed = b.element !== undefined;
  const points = isComputed ? deep : Math.max(deep, Math.floor(choices.windowBytes / panelWidth / bytes));
  if (tapsWithin) {
    const count = typicalPoints(taps);
    const most = Math.max(8, Math.floor(points / count));
    return { depth: evenDepth(typicalValue(k.extent), most, isComputed ? groupDepth : 8), taps: count };
  }
  const depth = depthFor(choices, staticValue(k.extent), bytes);
  const length = staticValue(k.extent);
  if (taps.length === 0 || length === undefined || length > depth) return { depth, taps: 1 };
  const fits = Math.max(1, Math.floor(points / length));
  return { depth: length, taps: Math.min(fits, typicalPoints(taps)) };
}

/** Points of k per block: blocks of about equal size. */
function depthFor({ contractDepth }: Choices, length: number | undefined, bytes: number): number {
  const most = bytes === 8 ? contractDepth / 2 : contractDepth;
  return length === undefined ? most : evenDepth(length, most);
}

function evenDepth(length: number, most: number, unit = 8): number {
  const blocks = Math.max(1, Math.ceil(length / most));
  return Math.max(unit, Math.ceil(Math.ceil(length / blocks) / unit) * unit);
}

/** A block of what is computed of groups with a scale each has whole groups, so that a vector has one scale. */
const groupDepth = 64;

interface Packing {
  readonly extents: Extents;
  readonly rows: number;
  readonly bytes: number;
}

/** What is copied before it is used: what must be widened, what lies across the grain, what is large. */
function packing(
  { packedBytes }: Choices,
  { node, a, b, n, k }: Oriented,
  { extents, rows, bytes }: Packing,
): Pick<ProductPlan, 'packA' | 'packB'> {
  const { height, width, length } = extents;
  const isComputed = (operand: Operand): boolean => operand.element !== undefined || operand.dtype !== node.accumulate;
  const widens = isComputed(b);
  const inPlace = !widens && stepAlong(b, n) === 1;
  const isLarge = length * width * bytes > packedBytes && height > 2 * rows;
  const strides = stepAlong(a, k) !== 1 && length * height * bytes > packedBytes / 4;
  const reads = node.over.length > 1;
  return { packA: !reads && (isComputed(a) || strides), packB: inPlace ? isLarge : widens || height > rows };
}

interface Panels {
  readonly extents: Extents;
  readonly panelWidth: number;
  readonly panelBytes: number;
  readonly packA: boolean;
  readonly most: number;
}

/** Panels per unit: as many as fit beside a block of a, but not so many that threads go without a unit. */
function panelsFor({ extents, panelWidth, panelBytes, packA, most }: Panels, { target, choices }: Planning): number {
  const inAll = Math.ceil(extents.width / panelWidth);
  const spread = Math.floor((inAll * extents.batch) / Math.max(2, (target.threads * choices.unitsPerThread) / 2));
  const fits = Math.floor((packA ? choices.panelBytes / 2 : choices.panelBytes) / panelBytes);
  return Math.max(1, Math.min(most, fits, spread));
}

/** The op that adds a product to a sum, fused for floats. */
export const fuses = (dtype: DType): boolean => isFloat(dtype);

export const volume = ({ m, n, k, taps }: Oriented): number => typicalPoints([m, n, k, ...taps]);
