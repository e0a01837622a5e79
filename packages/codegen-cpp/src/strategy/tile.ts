// Nests that read or write across the grain: lanes along one axis (v) of an access that is contiguous along another (u).
// Such accesses go through square tiles of scratch that are turned in registers, so that memory is touched by whole lines
// on both sides. See `canTurn` for which accesses qualify; all others are as in any vector loop.
import type { DType } from '@tsinductor/base';
import {
  difference,
  hasIndirect,
  isMultipleOf,
  named,
  resolveIndex,
  staticValue,
  strideAlong,
} from '@tsinductor/codegen';
import { add, axisIndex, coefficientOf, floorDivide, int, minimum, modulo, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree, Stmt, TileCorner } from '@tsinductor/ir';
import { asksForResults, lineBytes, nextRowsBytes } from '../target.ts';
import { canTurn, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { isRowOf } from './memory-rows.ts';
import type { RowLimits } from './memory-rows.ts';
import { bindAxis, isLarge, scalarFrame } from './nest.ts';
import type { Ahead, Frame, Nest } from './nest.ts';
import { writeAhead } from './row-ahead.ts';

/** An access that goes through a tile. */
export interface TurnedAccess {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly store: boolean;
}

export interface TilePlan {
  /** The axis of the lanes, and the one along which the turned accesses are contiguous. */
  readonly lane: Axis;
  readonly across: Axis;
  readonly accesses: readonly TurnedAccess[];
  readonly block: TileBlock;
  readonly ahead: TilesAhead;
}

/** What a tile asks for that a later one reads or writes: lanes of turned accesses, and points of the others. */
export interface TilesAhead {
  readonly turned: readonly Ahead[];
  readonly straight: readonly Ahead[];
  /** Turned accesses whose next rows, as many as there are lanes, are asked for in the order of memory. */
  readonly inOrder: readonly Ahead[];
  /** How many tiles later. */
  readonly tiles: number;
  /** After how many points across the grain tiles go on at the start, among the next lanes, where that is soon. */
  readonly round?: number;
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
const tilesAhead = 4;

/** Rows of a block that is turned before it is computed with, and bytes of one. */
const turnedBlock: Readonly<Record<'rows' | 'rowBytes', number>> = { rows: 128, rowBytes: 1024 };

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
  if (nodes.some(({ kind }) => kind === 'scan')) return { block: cachedBlock, ahead: scannedAhead(nest, asking) };
  if (writesLines(nest, nodes, { axis: lane, lanes })) return streamedBlocks(nest, asking);
  return { block: cachedBlock, ahead: { turned: [], straight: [], inOrder: [], tiles: 0 } };
}

interface Asking {
  readonly accesses: readonly TurnedAccess[];
  readonly turned: readonly TurnedAccess[];
  readonly lane: Axis;
  readonly across: Axis;
  readonly lanes: number;
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
  if (straight.length > 0 && only !== undefined && more.length === 0 && !only.store)
    return { block: blockOf(nest, only, lanes), ahead: { turned: own, straight, inOrder: [], tiles: 1 } };
  if (straight.length > 0) return { block: cachedBlock, ahead: { turned: own, straight, inOrder: [], tiles: 1 } };
  const round = roundOf(across, { lanes, most: streamedBlock.across * lanes });
  return { block: streamedBlock, ahead: { turned: own, straight, inOrder: [], tiles: tilesAhead, ...round } };
}

const blockOf = ({ memory }: Nest, { buffer }: TurnedAccess, lanes: number): TileBlock => ({
  across: turnedBlock.rows / lanes,
  along: turnedBlock.rowBytes / memory.bytesOf(buffer) / lanes,
  order: 'turned',
});

/**
 * What a scan along rows asks for, whose tiles follow each other across the grain: as many rows as there are lanes are too many to
 * be foreseen, of what is read and of what is written. The next rows to be read come in the order of memory where a second-level
 * cache has room for them. (Measured on a Cascade Lake: running sums of rows, 64 MB, take 25 % less time, 6 % of it by that order.)
 */
function scannedAhead(nest: Nest, { turned, across, lanes }: Asking): TilesAhead {
  const asked = turned.filter((access) => isAskedFor(nest, access, across));
  const round = roundOf(across, { lanes, most: Infinity });
  const comesInOrder = ({ buffer, store }: TurnedAccess): boolean =>
    !store && (round.round ?? Infinity) * lanes * nest.memory.bytesOf(buffer) <= nextRowsBytes;
  return {
    turned: asked
      .filter((access) => !comesInOrder(access))
      .map((access) => (access.store ? { ...access, intent: 'write' } : access)),
    straight: [],
    inOrder: asked.filter(comesInOrder),
    tiles: tilesAhead,
    ...round,
  };
}

/** Where tiles follow each other across the grain up to an end that is farther than they ask. */
function roundOf(across: Axis, { lanes, most }: { lanes: number; most: number }): Pick<TilesAhead, 'round'> {
  const extent = staticValue(across.extent);
  if (extent === undefined) return {};
  const round = Math.min(most, Math.ceil(extent / lanes) * lanes);
  return round < 2 * tilesAhead * lanes ? {} : { round };
}

/** Whether an access is of memory that does not stay in the caches. */
function isAskedFor(nest: Nest, { buffer, position, store }: TurnedAccess, across: Axis): boolean {
  if (hasIndirect(position)) return false;
  if (!store) return isRowOf(nest, buffer, { axis: across, ...arraysOfMemory });
  return !nest.memory.isVirtual(buffer) && isLarge(nest.memory.decl(buffer)) && asksForResults(nest.target);
}

/** Which loads are asked for: of arrays that do not stay in the caches. */
const arraysOfMemory: RowLimits = { bufferBytes: 4 * 1024 * 1024, leastRow: 0, mostRow: Infinity };

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
  readonly lanes: number;
  readonly scratch: readonly TileScratch[];
}

/** One tile: the vector of the lane axis in `frame`, and the points of the other axis from `corner` to before `end`. */
export interface TilePlace {
  readonly corner: Index;
  readonly end: Index;
  readonly frame: Frame;
  /** Writes one point. */
  readonly body: (frame: Frame) => void;
}

/** Turns what is read into scratch, runs `body` at every point of the tile, and turns what was written out of scratch. */
export function writeTile(nest: Nest, tiling: Tiling, { corner, end, frame, body }: TilePlace): void {
  const { plan, lanes, scratch } = tiling;
  const { writer, memory } = nest;
  const rows = isMultipleOf(end, lanes, memory.multiples) ? int(lanes) : minimum(int(lanes), difference(end, corner));
  const tiles = scratch.map((entry) => ({
    ...entry,
    transpose: turning(
      nest,
      { ...entry, corner, rows, plan, lanes, scratch: { buffer: entry.tile, at: int(0), step: int(lanes) } },
      frame,
    ),
  }));
  for (const { access, transpose } of tiles) if (!access.store) writer.emit(transpose);
  writeLanesAhead(nest, tiling, { corner, frame });
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

/** Asks for the lines of turned accesses of a later tile, lane by lane. */
function writeLanesAhead(
  nest: Nest,
  { plan, lanes }: Tiling,
  { corner, frame }: Pick<TilePlace, 'corner' | 'frame'>,
): void {
  const first = frame.axes.get(plan.lane.name);
  const { turned, inOrder, round = 1 } = plan.ahead;
  if (turned.length + inOrder.length === 0 || first === undefined || frame.lane?.count !== undefined) return;
  const { writer } = nest;
  const lane = writer.fresh('lane');
  const later = turned.length === 0 ? undefined : laterTile(nest, { plan, lanes }, { first, corner });
  const askAt = (asked: readonly Ahead[], along: Index, across: Index): void => {
    const point = bindAxis(scalarFrame(frame), plan.lane.name, along);
    writeAhead(nest, asked, bindAxis(point, plan.across.name, across));
  };
  const body = writer.block([lane], () => {
    const number = axisIndex({ name: lane, extent: int(lanes) });
    if (later !== undefined) askAt(turned, add(later.first, number), later.corner);
    const place = multiply(add(corner, number), int(lanes));
    const row = add(add(first, int(lanes)), floorDivide(place, int(round)));
    askAt(inOrder, row, modulo(place, int(round)));
  });
  writer.emit({ kind: 'for', name: lane, from: int(0), to: int(lanes), step: 1, unroll: 4, body });
}

/** A tile's first lane, and its first point across. */
interface TileStart {
  readonly first: Index;
  readonly corner: Index;
}

/** The tile some tiles later: further across, or, where the way round ends before, at its start among the next lanes. */
function laterTile(
  nest: Nest,
  { plan, lanes }: Pick<Tiling, 'plan' | 'lanes'>,
  { first, corner }: TileStart,
): TileStart {
  const { tiles, round } = plan.ahead;
  const further = add(corner, int(tiles * lanes));
  if (round === undefined) return { first, corner: further };
  const [start, rounds] = [floorDivide(corner, int(round)), floorDivide(further, int(round))];
  const place = (value: Index, axis: Axis): Index => {
    const type = { dtype: 'i64' as const, lanes: 1 };
    const defined = nest.writer.define({ kind: 'index', value, type }, `later_${axis.name}`, nest.writer.depth);
    return defined.kind === 'name' ? named(defined.name, add(axis.extent, int(lanes))) : value;
  };
  return {
    first: place(add(first, multiply(difference(rounds, start), int(lanes))), plan.lane),
    corner: place(add(multiply(start, int(round)), modulo(further, int(round))), plan.across),
  };
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
