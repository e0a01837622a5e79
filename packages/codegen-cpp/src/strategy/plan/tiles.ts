// Nests that read or write across the grain: lanes along one axis of an access that is contiguous along another. Such accesses go
// through square tiles that are transposed in registers, so that memory is touched by whole lines on both sides. In: an innermost tree
// and its lanes. Out: which accesses go through tiles, along which axes, and in which blocks; nothing where no access does.
// See `canTranspose` for which accesses qualify; all others are as in any vector loop.
import { hasIndirect, staticValue, strideAlong, typicalValue } from '@tsinductor/codegen';
import type { TileAccess } from '@tsinductor/codegen';
import type { Axis, LoopNode, LoopTree } from '@tsinductor/ir';
import type { TransposedExtent } from '../../machine/choices/layout.ts';
import { lineBytes } from '../../machine/facts.ts';
import { canTranspose } from './lanes.ts';
import type { LaneChoice } from './lanes.ts';
import { isNonTemporal } from './planning.ts';
import type { Planning } from './planning.ts';
import { isRowOf } from './rows.ts';
import { pointBodies } from './work.ts';

/** The axes of tiles, and the points of one along each. */
export interface TileAxes {
  /** The axis of the lanes. */
  readonly lane: Axis;
  /** The axis along which the transposed accesses are contiguous. */
  readonly across: Axis;
  readonly lanes: number;
}

/**
 * How tiles follow each other. `scanned`: down one column of tiles after another. `cached`: blocks whose results stay in the caches.
 * `streamed`: along what is read across the grain, as results written by non-temporal stores may come in any order; `ordered`: the
 * same where the next row of tiles is prefetched in the order of memory. `mixed`: as cached, with arrays beside that are read with the
 * grain. `transposed`: a whole block is transposed into scratch before its points are computed, row by row (see
 * write/transposed-block.ts); `phased`: the same, prefetched in two phases of one order each.
 */
type TileStyle = 'scanned' | 'cached' | 'streamed' | 'ordered' | 'mixed' | 'transposed' | 'phased';

/** A block of tiles that is worked off before the next. */
export interface TileBlock {
  readonly style: TileStyle;
  /** Tiles of a block, across the grain and along it. */
  readonly across: number;
  readonly along: number;
}

export interface TilePlan extends TileAxes {
  readonly accesses: readonly TileAccess[];
  /** Loads of memory with the grain, beside the transposed ones of a nest whose results are written by non-temporal stores. */
  readonly straight: readonly TileAccess[];
  readonly block: TileBlock;
}

/** Whether tiles of a block follow each other across the grain. */
export const runsAcross = ({ style }: TileBlock): boolean => style === 'streamed' || style === 'ordered';

/** Whether blocks are transposed as a whole. */
export const isTransposed = ({ style }: TileBlock): boolean => style === 'transposed' || style === 'phased';

/** How an innermost tree is tiled, if it gains from it. */
export function planTiles(
  planning: Planning,
  { tree, nodes, choice }: { tree: LoopTree; nodes: readonly LoopNode[]; choice: LaneChoice },
): TilePlan | undefined {
  const { axis, lanes } = choice;
  const band = tree.loops.find((candidate) => candidate.axis.name === axis?.name);
  if (band === undefined || nodes.some((node) => node.kind !== 'map' && node.kind !== 'scan')) return undefined;
  const accesses = nodes.flatMap(unmaskedAccesses);
  let best: TilePlan | undefined;
  for (const other of tree.loops) {
    // The states of a scan live as long as a tile's column: its loop is the other one, or there are no tiles.
    if (other === band || tree.loops.some((loop) => loop.role === 'reduction' && loop !== other)) continue;
    const transposed = distinct(
      accesses.filter(({ position }) => canTranspose({ band, other, index: position }, { nodes, lanes })),
    );
    if (transposed.length <= (best?.accesses.length ?? 0)) continue;
    const axes = { lane: band.axis, across: other.axis, lanes };
    best = { ...axes, accesses: transposed, ...blocksFor(planning, nodes, { ...axes, accesses, transposed }) };
  }
  return best;
}

/** Whether all results are written by non-temporal stores, a line for each vector along `axis`. */
export function writesLines(
  planning: Planning,
  nodes: readonly LoopNode[],
  { axis, lanes }: { readonly axis: Axis; readonly lanes: number },
): boolean {
  const { memory } = planning;
  return nodes.every(
    (node) =>
      node.kind === 'map' &&
      node.writes.every((position, slot) => {
        const buffer = node.outs[slot] ?? 0;
        if (memory.isVirtual(buffer)) return true;
        const isLine = strideAlong(position, axis.name) === 1 && lanes * memory.bytesOf(buffer) === lineBytes;
        return isLine && isNonTemporal(planning, buffer);
      }),
  );
}

type Blocks = Pick<TilePlan, 'block' | 'straight'>;

interface Tiled extends TileAxes {
  readonly accesses: readonly TileAccess[];
  readonly transposed: readonly TileAccess[];
}

function blocksFor(planning: Planning, nodes: readonly LoopNode[], tiled: Tiled): Blocks {
  const { cachedTiles } = planning.choices;
  if (nodes.some(({ kind }) => kind === 'scan')) return { block: { style: 'scanned', ...cachedTiles }, straight: [] };
  if (writesLines(planning, nodes, { axis: tiled.lane, lanes: tiled.lanes })) return streamedBlocks(planning, tiled);
  return { block: { style: 'cached', ...cachedTiles }, straight: [] };
}

/**
 * Blocks for results that are written by non-temporal stores. Where arrays are read with the grain as well, the hardware prefetcher
 * follows neither order: then one array is transposed by blocks, or tiles prefetch the next row of tiles, of all arrays.
 */
function streamedBlocks(planning: Planning, tiled: Tiled): Blocks {
  const { accesses, transposed, across } = tiled;
  const keys = new Set(transposed.map(keyOf));
  const straight = distinct(accesses).filter(
    (access) => isLoadOfMemory(planning, access, across) && !keys.has(keyOf(access)),
  );
  const [only, ...more] = transposed;
  if (straight.length === 0) return { block: acrossBlock(planning, tiled), straight };
  if (only === undefined || more.length > 0 || only.store)
    return { block: { style: 'mixed', ...planning.choices.cachedTiles }, straight };
  return { block: phasedBlock(planning, tiled, only) ?? transposedBlock(planning, tiled, only), straight };
}

/** Tiles follow each other across the grain, in wider blocks where the next row of tiles is prefetched in the order of memory. */
function acrossBlock(planning: Planning, tiled: Tiled): TileBlock {
  const { streamedTiles, orderedTilesAcross, prefetchesInAddressOrder } = planning.choices;
  const { lane, across, lanes, transposed } = tiled;
  const width = widthAcross(across, { lanes, most: orderedTilesAcross * lanes });
  const loads = transposed.filter((access) => isLoadOfMemory(planning, access, across));
  const rows = rowsOfTilesAhead(planning, { across, lanes, most: width }, loads);
  const isOrdered = prefetchesInAddressOrder && rows !== undefined && hasRows(planning, lane, rows * lanes);
  return isOrdered
    ? { style: 'ordered', ...streamedTiles, across: width / lanes }
    : { style: 'streamed', ...streamedTiles };
}

/** Points across the grain that tiles follow each other for: equal blocks, of whole tiles' points where there are several. */
function widthAcross(across: Axis, { most, lanes }: { readonly most: number; readonly lanes: number }): number {
  const extent = staticValue(across.extent);
  if (extent === undefined || extent <= most) return most;
  const points = lanes * lanes;
  return Math.min(most, Math.ceil(extent / Math.ceil(extent / most) / points) * points);
}

interface Across extends Pick<TileAxes, 'across' | 'lanes'> {
  /** Tiles follow each other across the grain up to so many points. */
  readonly most: number;
}

/** How many rows of tiles are prefetched in the order of memory; nothing where rows are too short for it. */
export function rowsOfTilesAhead(
  { memory, choices }: Planning,
  { across, lanes, most }: Across,
  loads: readonly TileAccess[],
): number | undefined {
  const round = pointsOfRound(choices.tilesAhead, { across, lanes, most });
  if (round === undefined || loads.length === 0) return undefined;
  const bytes = round * lanes * Math.min(...loads.map(({ buffer }) => memory.bytesOf(buffer)));
  return Math.max(1, Math.ceil(choices.tileRowDistance.bytes / bytes));
}

/** After how many points across the grain tiles go on at the start, among the next lanes; nothing where that is soon. */
export function pointsOfRound(tilesAhead: number, { across, lanes, most }: Across): number | undefined {
  const extent = staticValue(across.extent);
  if (extent === undefined) return undefined;
  const round = Math.min(most, Math.ceil(extent / lanes) * lanes);
  return round < 2 * tilesAhead * lanes ? undefined : round;
}

/** Whether an axis has several times as many points as are prefetched along it. */
const hasRows = ({ choices }: Planning, lane: Axis, points: number): boolean =>
  (staticValue(lane.extent) ?? Infinity) >= choices.tileRowDistance.leastRows * points;

const transposedBlock = (planning: Planning, { lanes }: Tiled, only: TileAccess): TileBlock => ({
  style: 'transposed',
  ...tilesIn(planning, only, { lanes, ...planning.choices.transposedBlock }),
});

/** A block that is prefetched in two phases: of the rows that a unit has, where these are many, and of lanes that go on for several blocks. */
function phasedBlock(planning: Planning, { lane, across, lanes }: Tiled, only: TileAccess): TileBlock | undefined {
  const { prefetchesInAddressOrder, transposedBlock: least, phasedBlock: wanted } = planning.choices;
  const rows = Math.min(wanted.rows, unitRows(planning, across, lanes));
  const block = tilesIn(planning, only, { lanes, rows, rowBytes: wanted.rowBytes });
  const isLong = prefetchesInAddressOrder && rows >= least.rows && hasRows(planning, lane, block.along * lanes);
  return isLong ? { style: 'phased', ...block } : undefined;
}

const tilesIn = (
  { memory }: Planning,
  { buffer }: TileAccess,
  { lanes, rows, rowBytes }: TransposedExtent & { readonly lanes: number },
): Pick<TileBlock, 'across' | 'along'> => ({ across: rows / lanes, along: rowBytes / memory.bytesOf(buffer) / lanes });

/** Points along an axis for each unit, where threads have several. */
export const unitRows = ({ target, choices }: Planning, axis: Axis, lanes: number): number =>
  Math.ceil(typicalValue(axis.extent) / (target.threads * choices.unitsPerThread) / lanes) * lanes;

/** Whether an access loads memory that does not stay in the caches, and whose places are known. */
export const isLoadOfMemory = (planning: Planning, { buffer, position, store }: TileAccess, across: Axis): boolean =>
  !store && !hasIndirect(position) && isRowOf(planning, buffer, { axis: across, ...planning.choices.prefetchedRows });

/** Loads without mask, and stores. */
function unmaskedAccesses(node: LoopNode): readonly TileAccess[] {
  const loads = pointBodies(node).flatMap((body) =>
    body.nodes.flatMap((scalar): readonly TileAccess[] =>
      scalar.kind === 'load' && scalar.mask === undefined
        ? [{ buffer: scalar.buffer, position: scalar.at, store: false }]
        : [],
    ),
  );
  const stores = node.writes.map((position, slot) => ({ buffer: node.outs[slot] ?? 0, position, store: true }));
  return [...loads, ...stores];
}

const keyOf = (access: TileAccess): string => JSON.stringify(access);

function distinct(accesses: readonly TileAccess[]): readonly TileAccess[] {
  const seen = new Set<string>();
  return accesses.filter((access) => {
    const key = keyOf(access);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
