// Nests that read or write across the grain: lanes along one axis (v) of an access that is contiguous along another (u).
// Such accesses go through square tiles of scratch that are turned in registers, so that memory is touched by whole lines
// on both sides. See `canTurn` for which accesses qualify; all others are as in any vector loop.
import type { DType } from '@tsinductor/base';
import { difference, hasIndirect, isMultipleOf, named, resolveIndex, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, coefficientOf, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree, Stmt } from '@tsinductor/ir';
import { lineBytes } from '../target.ts';
import { canTurn, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { bindAxis, isLarge, scalarFrame } from './nest.ts';
import type { Ahead, Frame, Nest } from './nest.ts';
import { isRowOf, writeAhead } from './row-ahead.ts';
import type { RowLimits } from './row-ahead.ts';

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
  /** What a tile asks for that a later one reads: lanes of turned loads, and points of the others. */
  readonly ahead: { readonly turned: readonly Ahead[]; readonly straight: readonly Ahead[] };
}

/** A block of tiles that is worked off before the next, and which way the tiles of a block follow each other. */
export interface TileBlock {
  readonly across: number;
  readonly along: number;
  readonly order: 'along' | 'across';
}

/**
 * Results that stay in the caches: many rows of the accesses across the grain, few lines of the others. (Measured: 256 by 64
 * elements of f32; twice as fast as one row of tiles after another.)
 */
const cachedBlock: TileBlock = { across: 16, along: 4, order: 'along' };

/**
 * Results that are written past the caches by whole lines may be written in any order: tiles follow what is read across the
 * grain, which the processor then foresees. (Measured on a Cascade Lake: a transposition of 64 MB takes 45 % less; asking four
 * tiles ahead is 5 % of that.)
 */
const streamedBlock: TileBlock = { across: 64, along: 1, order: 'across' };
const tilesAhead = 4;

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
    const isStreamed = writesLines(nest, nodes, { axis: band.axis, lanes });
    best = {
      lane: band.axis,
      across: other.axis,
      accesses: turned,
      ...(isStreamed ? streamedBlocks(nest, { accesses, turned, across: other.axis, lanes }) : cachedBlocks),
    };
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
const cachedBlocks: Blocks = { block: cachedBlock, ahead: { turned: [], straight: [] } };

interface Asking {
  readonly accesses: readonly TurnedAccess[];
  readonly turned: readonly TurnedAccess[];
  readonly across: Axis;
  readonly lanes: number;
}

/**
 * Blocks for results that go past the caches. Where arrays are read with the grain as well, neither order is foreseen: tiles
 * ask for the next row of tiles, of all arrays.
 */
function streamedBlocks(nest: Nest, { accesses, turned, across, lanes }: Asking): Blocks {
  const keys = new Set(turned.map((access) => JSON.stringify(access)));
  const loads = distinct(accesses).filter(
    ({ buffer, position, store }) =>
      !store && !hasIndirect(position) && isRowOf(nest, buffer, { axis: across, ...arraysOfMemory }),
  );
  const isTurned = (access: TurnedAccess): boolean => keys.has(JSON.stringify(access));
  const straight = loads.filter((access) => !isTurned(access));
  const block = straight.length === 0 ? streamedBlock : cachedBlock;
  const tiles = straight.length === 0 ? tilesAhead : 1;
  const ask = ({ buffer, position }: TurnedAccess): readonly Ahead[] => {
    const step = coefficientOf(position, across);
    return step === undefined ? [] : [{ buffer, position: add(position, multiply(step, int(tiles * lanes))) }];
  };
  return { block, ahead: { turned: loads.filter(isTurned).flatMap(ask), straight: straight.flatMap(ask) } };
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
      writer.emit({ kind: 'scratch', name: tile, dtype, size: lanes * lanes });
      return { access, tile, dtype };
    });
}

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
    transpose: turning(nest, { ...entry, corner, rows, plan, lanes }, frame),
  }));
  for (const { access, transpose } of tiles) if (!access.store) writer.emit(transpose);
  writeLanesAhead(nest, tiling, { corner, frame });
  const row = writer.fresh('row');
  const inner = writer.block([row], () => {
    const place = multiply(named(row, int(lanes)), int(lanes));
    for (const { access, tile } of tiles) memory.setTile(access, { name: tile, at: place });
    memory.scoped(() => {
      const point = bindAxis(frame, plan.across.name, add(corner, named(row, int(lanes))));
      body(point);
      writeAhead(nest, plan.ahead.straight, point);
    });
    memory.clearTiles();
  });
  writer.emit({ kind: 'for', name: row, from: int(0), to: rows, step: 1, unroll: 4, body: inner });
  for (const { access, transpose } of tiles) if (access.store) writer.emit(transpose);
}

/** Asks for the lines of turned loads that a later tile reads, lane by lane. */
function writeLanesAhead(
  nest: Nest,
  { plan, lanes }: Tiling,
  { corner, frame }: Pick<TilePlace, 'corner' | 'frame'>,
): void {
  const first = frame.axes.get(plan.lane.name);
  if (plan.ahead.turned.length === 0 || first === undefined || frame.lane?.count !== undefined) return;
  const { writer } = nest;
  const lane = writer.fresh('lane');
  const body = writer.block([lane], () => {
    const here = add(first, axisIndex({ name: lane, extent: int(lanes) }));
    const point = bindAxis(scalarFrame(frame), plan.lane.name, here);
    writeAhead(nest, plan.ahead.turned, bindAxis(point, plan.across.name, corner));
  });
  writer.emit({ kind: 'for', name: lane, from: int(0), to: int(lanes), step: 1, unroll: 4, body });
}

interface Corner {
  readonly access: TurnedAccess;
  readonly tile: string;
  readonly dtype: DType;
  readonly corner: Index;
  readonly rows: Index;
  readonly plan: TilePlan;
  readonly lanes: number;
}

/** The statement that fills a tile from memory, or memory from a tile. */
function turning(nest: Nest, { access, tile, dtype, corner, rows, plan, lanes }: Corner, frame: Frame): Stmt {
  const at = resolveIndex(access.position, bindAxis(frame, plan.across.name, corner));
  const step = coefficientOf(access.position, plan.lane) ?? int(1);
  const far = { buffer: nest.memory.parameter(access.buffer).name, at, step: resolveIndex(step, frame) };
  const scratch = { buffer: tile, at: int(0), step: int(lanes) };
  const count = frame.lane?.count ?? int(lanes);
  return access.store
    ? { kind: 'transpose', dtype, from: scratch, to: far, rows, columns: count, tile: lanes }
    : { kind: 'transpose', dtype, from: far, to: scratch, rows: count, columns: rows, tile: lanes };
}
