// Nests that read or write across the grain: lanes along one axis (v) of an access that is contiguous along another (u).
// Such accesses go through square tiles that are turned in registers, so that memory is touched by whole lines on both sides: by way
// of scratch, but for copies (tile-copy.ts). See `canTurn` for which accesses qualify; all others are as in any vector loop.
import type { DType } from '@tsinductor/base';
import { difference, isMultipleOf, named, resolveIndex, strideAlong, typicalValue } from '@tsinductor/codegen';
import { add, coefficientOf, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, Index, LoopNode, LoopTree, Stmt, TileCorner } from '@tsinductor/ir';
import { habitsOf, lineBytes, unitsPerThread } from '../target.ts';
import { canTurn, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { bindAxis, isLarge } from './nest.ts';
import type { Frame, Nest } from './nest.ts';
import { writeAhead } from './row-ahead.ts';
import { copiedTile } from './tile-copy.ts';
import type { TileCopy } from './tile-copy.ts';
import {
  blockAcross,
  fewTilesAhead,
  hasRows,
  isAskedFor,
  nextRowAhead,
  noneAhead,
  scannedAhead,
  writeTilesAhead,
} from './tiles-ahead.ts';
import type { TileAxes, TilesAhead, TurnedAccess } from './tiles-ahead.ts';

export interface TilePlan {
  /** The axis of the lanes, and the one along which the turned accesses are contiguous. */
  readonly lane: Axis;
  readonly across: Axis;
  readonly accesses: readonly TurnedAccess[];
  readonly block: TileBlock;
  readonly ahead: TilesAhead;
}

/**
 * A block of tiles that is worked off before the next, and which way the tiles of a block follow each other; `turned`: a whole block
 * is turned into scratch before its points are computed, row by row (see turned-block.ts).
 */
export interface TileBlock {
  readonly across: number;
  readonly along: number;
  readonly order: 'along' | 'across' | 'turned';
}

/**
 * Results that stay in the caches: many rows of the accesses across the grain, few lines of the others. (Measured: 256 by 64
 * elements of f32; twice as fast as one row of tiles after another.)
 */
const cachedBlock: TileBlock = { across: 16, along: 4, order: 'along' };

/**
 * Results that are written past the caches by whole lines may be written in any order: tiles follow what is read across the
 * grain, which the processor then foresees. (Measured on a Cascade Lake: a transposition of 64 MB takes 45 % less; asking four
 * tiles ahead is 5 % of that, and 5 to 15 % more where it is also asked for what begins the next row of tiles.)
 */
const streamedBlock: TileBlock = { across: 64, along: 1, order: 'across' };

/**
 * Tiles across the grain in a block where the next row of tiles is asked for in the order of memory. (Measured on a Zen 4: of 4,096
 * columns 4 % less than with those above, of 4,112 columns 5 to 8.)
 */
const orderedAcross = 128;

/** Rows of a block that is turned before it is computed with, and bytes of one; also where it asks in two phases (turned-block.ts). */
const turnedBlock: Readonly<Record<'rows' | 'rowBytes', number>> = { rows: 128, rowBytes: 1024 };
const phasedBlocks: Readonly<Record<'rows' | 'rowBytes', number>> = { rows: 512, rowBytes: 256 };

/** How an innermost tree is tiled, if it gains from it. */
export function planTiles(
  nest: Nest,
  { tree, nodes, choice }: { tree: LoopTree; nodes: readonly LoopNode[]; choice: LaneChoice },
): TilePlan | undefined {
  const { axis, lanes } = choice;
  const band = tree.loops.find((candidate) => candidate.axis.name === axis?.name);
  if (band === undefined || nodes.some((node) => node.kind !== 'map' && node.kind !== 'scan')) return undefined;
  const accesses = nodes.flatMap((node) => turnable(node));
  let best: TilePlan | undefined;
  for (const other of tree.loops) {
    // The states of a scan live as long as a tile's column: its loop is the other one, or there are no tiles.
    if (other === band || tree.loops.some((loop) => loop.role === 'reduction' && loop !== other)) continue;
    const turned = distinct(
      accesses.filter(({ position }) => canTurn({ band, other, index: position }, { nodes, lanes })),
    );
    if (turned.length <= (best?.accesses.length ?? 0)) continue;
    const [lane, across] = [band.axis, other.axis];
    best = { lane, across, accesses: turned, ...blocksFor(nest, nodes, { accesses, turned, lane, across, lanes }) };
  }
  return best;
}

/** Whether all results go past the caches, a line for each vector along `axis`. */
export function writesLines(
  { memory }: Nest,
  nodes: readonly LoopNode[],
  { axis, lanes }: { readonly axis: Axis; readonly lanes: number },
): boolean {
  return nodes.every(
    (node) =>
      node.kind === 'map' &&
      node.writes.every((position, slot) => {
        const buffer = node.outs[slot] ?? 0;
        if (memory.isVirtual(buffer)) return true;
        const isLine = strideAlong(position, axis.name) === 1 && lanes * memory.bytesOf(buffer) === lineBytes;
        return isLine && isLarge(memory.decl(buffer));
      }),
  );
}

type Blocks = Pick<TilePlan, 'block' | 'ahead'>;

function blocksFor(nest: Nest, nodes: readonly LoopNode[], asking: Asking): Blocks {
  const { lane, lanes } = asking;
  if (nodes.some(({ kind }) => kind === 'scan'))
    return { block: cachedBlock, ahead: scannedAhead(nest, asking, asking.turned) };
  if (writesLines(nest, nodes, { axis: lane, lanes })) return streamedBlocks(nest, asking);
  return { block: cachedBlock, ahead: cachedAhead(nest, asking) };
}

/**
 * Where results stay in the caches, the next tile across the grain, which comes a row of tiles later: as many rows as it has lines
 * are too many to be foreseen. (Measured on a Granite Rapids, arrays of 16 MB, which its third-level cache has: NCHW to NHWC takes 24 %
 * less, a transposition 3, a.T + b as long. Where a thread has a tile across alone, what is asked for is nobody's: 5 to 17 % more.)
 */
function cachedAhead(nest: Nest, { turned, across, lanes }: Asking): TilesAhead {
  const { threads } = nest.target;
  if (!habitsOf(nest.target).asksInTiles || unitRows(across, { lanes, threads }) < leastAcross * lanes)
    return noneAhead;
  const own = turned.filter((access) => !access.store && isAskedFor(nest, access, across));
  return { ...noneAhead, turned: own.map((access) => ({ ...access, into: 'second' })), tiles: 1 };
}

/** Tiles across the grain that a thread has at least where each asks for the next one. */
const leastAcross = 4;

interface Asking extends TileAxes {
  readonly accesses: readonly TurnedAccess[];
  readonly turned: readonly TurnedAccess[];
}

/**
 * Blocks for results that go past the caches. Where arrays are read with the grain as well, neither order is foreseen: one array
 * is turned by blocks, else tiles ask for the next row of tiles, of all arrays.
 */
function streamedBlocks(nest: Nest, asking: Asking): Blocks {
  const { accesses, turned, across, lanes } = asking;
  const loads = distinct(accesses).filter((access) => !access.store && isAskedFor(nest, access, across));
  const keys = new Set(turned.map((access) => JSON.stringify(access)));
  const isTurned = (access: TurnedAccess): boolean => keys.has(JSON.stringify(access));
  const [own, straight] = [loads.filter(isTurned), loads.filter((access) => !isTurned(access))];
  const [only, ...more] = turned;
  if (straight.length === 0) return acrossBlocks(nest, asking, own);
  const ahead: TilesAhead = { ...noneAhead, turned: own, straight, tiles: 1 };
  if (only === undefined || more.length > 0 || only.store) return { block: cachedBlock, ahead };
  const phased = phasedBlock(nest, asking, only);
  if (phased !== undefined) return { block: phased, ahead: { ...noneAhead, inOrder: own, straight, rows: 1 } };
  return { block: blockOf(nest, only, { lanes, ...turnedBlock }), ahead };
}

/** Tiles follow each other across the grain, in wider blocks where they ask for the next row of tiles in the order of memory. */
function acrossBlocks(nest: Nest, asking: Asking, own: readonly TurnedAccess[]): Blocks {
  const { across, lanes } = asking;
  const width = blockAcross(across, { lanes, most: orderedAcross * lanes });
  const ordered = nextRowAhead(nest, asking, { own, most: width });
  if (ordered !== undefined) return { block: { ...streamedBlock, across: width / lanes }, ahead: ordered };
  return { block: streamedBlock, ahead: fewTilesAhead(asking, { own, most: streamedBlock.across * lanes }) };
}

const blockOf = (
  { memory }: Nest,
  { buffer }: TurnedAccess,
  { lanes, rows, rowBytes }: { readonly lanes: number; readonly rows: number; readonly rowBytes: number },
): TileBlock => ({ across: rows / lanes, along: rowBytes / memory.bytesOf(buffer) / lanes, order: 'turned' });

/** A block that asks in two phases: of the rows that a unit has, where these are many, and of lanes that go on for several blocks. */
function phasedBlock(nest: Nest, { lane, across, lanes }: Asking, only: TurnedAccess): TileBlock | undefined {
  const { asksInOrder } = habitsOf(nest.target);
  const rows = Math.min(phasedBlocks.rows, unitRows(across, { lanes, threads: nest.target.threads }));
  const block = blockOf(nest, only, { lanes, rows, rowBytes: phasedBlocks.rowBytes });
  return asksInOrder && rows >= turnedBlock.rows && hasRows(lane, block.along * lanes) ? block : undefined;
}

/** Points along an axis for each unit, where threads have several. */
export const unitRows = (
  axis: Axis,
  { lanes, threads }: { readonly lanes: number; readonly threads: number },
): number => Math.ceil(typicalValue(axis.extent) / (threads * unitsPerThread) / lanes) * lanes;

/** Loads without mask, and stores. */
function turnable(node: LoopNode): readonly TurnedAccess[] {
  const loads = pointBodies(node).flatMap((body) =>
    body.nodes.flatMap((scalar): readonly TurnedAccess[] =>
      scalar.kind === 'load' && scalar.mask === undefined
        ? [{ buffer: scalar.buffer, position: scalar.at, store: false }]
        : [],
    ),
  );
  const stores = node.writes.map((position, slot) => ({ buffer: node.outs[slot] ?? 0, position, store: true }));
  return [...loads, ...stores];
}

function distinct(accesses: readonly TurnedAccess[]): readonly TurnedAccess[] {
  const seen = new Set<string>();
  return accesses.filter((access) => {
    const key = JSON.stringify(access);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Scratch for one access. */
export interface TileScratch {
  readonly access: TurnedAccess;
  readonly tile: string;
  readonly dtype: DType;
}

/** Declares a tile of scratch for every access that goes through memory. */
export function declareTiles(nest: Nest, plan: TilePlan, lanes: number): readonly TileScratch[] {
  const { writer, memory } = nest;
  return plan.accesses
    .filter(({ buffer }) => !memory.isVirtual(buffer) && memory.row(buffer) === undefined)
    .map((access) => {
      const { dtype, name } = memory.decl(access.buffer);
      const tile = writer.fresh(`${name}_tile`);
      writer.emit({ kind: 'scratch', name: tile, dtype, size: scratchSize(plan, lanes) });
      return { access, tile, dtype };
    });
}

/** Elements of a tile; of a block's rows, where a block is turned whole. */
const scratchSize = ({ block }: TilePlan, lanes: number): number =>
  block.order === 'turned' ? block.across * lanes * rowPitch(block, lanes) : lanes * lanes;

/** From one row of a turned block to the next: a vector more than it has, so that rows do not fall into few sets of a cache. */
export const rowPitch = ({ along }: TileBlock, lanes: number): number => (along + 1) * lanes;

export interface Tiling {
  readonly plan: TilePlan;
  /** That tiles are copied without scratch. */
  readonly copy?: TileCopy;
  readonly lanes: number;
  readonly scratch: readonly TileScratch[];
}

/** One tile: the vector of the lane axis in `frame`, and the points of the other axis from `corner` to before `end`. */
export interface TilePlace {
  readonly corner: Index;
  readonly end: Index;
  /** The first point of the other axis in this block of tiles. */
  readonly start: Index;
  readonly frame: Frame;
  /** Writes one point. */
  readonly body: (frame: Frame) => void;
}

/** Turns what is read into scratch, runs `body` at every point of the tile, and turns what was written out of scratch. */
export function writeTile(nest: Nest, tiling: Tiling, { corner, end, start, frame, body }: TilePlace): void {
  const { plan, copy, lanes, scratch } = tiling;
  const { writer, memory } = nest;
  const rows = isMultipleOf(end, lanes, memory.multiples) ? int(lanes) : minimum(int(lanes), difference(end, corner));
  if (copy !== undefined) {
    writer.emit(copiedTile(nest, { ...plan, copy, lanes }, { corner, rows, frame }));
    writeTilesAhead(nest, { ...plan, lanes }, { corner, start, frame });
    return;
  }
  const tiles = scratch.map((entry) => ({
    ...entry,
    transpose: turning(
      nest,
      { ...entry, corner, rows, plan, lanes, scratch: { buffer: entry.tile, at: int(0), step: int(lanes) } },
      frame,
    ),
  }));
  for (const { access, transpose } of tiles) if (!access.store) writer.emit(transpose);
  writeTilesAhead(nest, { ...plan, lanes }, { corner, start, frame });
  const row = writer.fresh('row');
  const inner = writer.block([row], () => {
    const place = multiply(named(row, int(lanes)), int(lanes));
    for (const { access, tile } of tiles) memory.setTile(access, { name: tile, at: place });
    memory.scoped(() => {
      const place = add(corner, named(row, int(lanes)));
      body(bindAxis(frame, plan.across.name, place));
      const later = add(place, int(plan.ahead.tiles * lanes));
      writeAhead(nest, plan.ahead.straight, bindAxis(frame, plan.across.name, later));
    });
    memory.clearTiles();
  });
  writer.emit({ kind: 'for', name: row, from: int(0), to: rows, step: 1, unroll: 4, body: inner });
  for (const { access, transpose } of tiles) if (access.store) writer.emit(transpose);
}

interface Corner {
  readonly access: TurnedAccess;
  readonly dtype: DType;
  readonly corner: Index;
  readonly rows: Index;
  readonly plan: TilePlan;
  readonly lanes: number;
  readonly scratch: TileCorner;
}

/** The statement that fills a tile from memory, or memory from a tile. */
export function turning(nest: Nest, { access, dtype, corner, rows, plan, lanes, scratch }: Corner, frame: Frame): Stmt {
  const at = resolveIndex(access.position, bindAxis(frame, plan.across.name, corner));
  const step = coefficientOf(access.position, plan.lane) ?? int(1);
  const far = { buffer: nest.memory.parameter(access.buffer).name, at, step: resolveIndex(step, frame) };
  const count = frame.lane?.count ?? int(lanes);
  return access.store
    ? { kind: 'transpose', dtype, from: scratch, to: far, rows, columns: count, tile: lanes }
    : { kind: 'transpose', dtype, from: far, to: scratch, rows: count, columns: rows, tile: lanes };
}
