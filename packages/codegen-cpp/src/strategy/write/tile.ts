// One tile of accesses across the grain (see plan/tiles.ts): what is read is transposed into scratch, the tile's points are computed, and
// what is written is transposed out of scratch; tiles that are copies alone go through registers (tile-copy.ts).
import type { DType } from '@tsinductor/base';
import { bindAxis, difference, isMultipleOf, named, resolveIndex } from '@tsinductor/codegen';
import type { Frame, TileAccess } from '@tsinductor/codegen';
import { add, coefficientOf, int, minimum, multiply } from '@tsinductor/ir';
import type { Index, Stmt, TileCorner } from '@tsinductor/ir';
import { isInMemory } from '../plan/planning.ts';
import type { TileCopy } from '../plan/tile-copy.ts';
import { isTransposed } from '../plan/tiles.ts';
import type { TileBlock, TilePlan } from '../plan/tiles.ts';
import type { TileTraffic } from '../traffic/traffic.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';
import { copiedTile } from './tile-copy.ts';
import { writeTilePrefetches } from './tile-prefetch.ts';

/** Scratch for one access. */
interface TileScratch {
  readonly access: TileAccess;
  readonly tile: string;
  readonly dtype: DType;
}

/** Declares a tile of scratch for every access that goes through memory. */
export function declareTiles(nest: Nest, plan: TilePlan): readonly TileScratch[] {
  const { writer, memory } = nest;
  return plan.accesses
    .filter(({ buffer }) => isInMemory(nest, buffer))
    .map((access) => {
      const { dtype, name } = memory.decl(access.buffer);
      const tile = writer.fresh(`${name}_tile`);
      writer.emit({ kind: 'scratch', name: tile, dtype, size: scratchSize(plan) });
      return { access, tile, dtype };
    });
}

/** Elements of a tile; of a block's rows, where a block is transposed whole. */
const scratchSize = ({ block, lanes }: TilePlan): number =>
  isTransposed(block) ? block.across * lanes * rowPitch(block, lanes) : lanes * lanes;

/** From one row of a transposed block to the next: a vector more than it has, so that rows do not fall into few sets of a cache. */
export const rowPitch = ({ along }: TileBlock, lanes: number): number => (along + 1) * lanes;

export interface Tiling {
  readonly plan: TilePlan;
  readonly traffic: TileTraffic;
  /** That tiles are copied without scratch. */
  readonly copy?: TileCopy;
  readonly scratch: readonly TileScratch[];
}

/** One tile: the vector of the lane axis in `frame`, and the points of the other axis from `corner` to before `end`. */
interface TilePlace {
  readonly corner: Index;
  readonly end: Index;
  /** The first point of the other axis in this block of tiles. */
  readonly start: Index;
  readonly frame: Frame;
  /** Writes one point. */
  readonly body: (frame: Frame) => void;
}

/** Transposes what is read into scratch, runs `body` at every point of the tile, and transposes what was written out of scratch. */
export function writeTile(nest: Nest, tiling: Tiling, { corner, end, start, frame, body }: TilePlace): void {
  const { plan, traffic, copy, scratch } = tiling;
  const { lanes } = plan;
  const { writer, memory } = nest;
  const rows = isMultipleOf(end, lanes, memory.multiples) ? int(lanes) : minimum(int(lanes), difference(end, corner));
  if (copy !== undefined) {
    writer.emit(copiedTile(nest, { ...plan, copy }, { corner, rows, frame }));
    writeTilePrefetches(nest, { ...plan, traffic }, { corner, start, frame });
    return;
  }
  const tiles = scratch.map((entry) => ({
    ...entry,
    transpose: transposition(
      nest,
      { ...entry, corner, rows, plan, scratch: { buffer: entry.tile, at: int(0), step: int(lanes) } },
      frame,
    ),
  }));
  for (const { access, transpose } of tiles) if (!access.store) writer.emit(transpose);
  writeTilePrefetches(nest, { ...plan, traffic }, { corner, start, frame });
  const row = writer.fresh('row');
  const inner = writer.block([row], () => {
    const place = multiply(named(row, int(lanes)), int(lanes));
    for (const { access, tile } of tiles) memory.setTile(access, { name: tile, at: place });
    memory.scoped(() => {
      const place = add(corner, named(row, int(lanes)));
      body(bindAxis(frame, plan.across.name, place));
      const later = add(place, int(traffic.tiles * lanes));
      writePrefetches(nest, traffic.straight, bindAxis(frame, plan.across.name, later));
    });
    memory.clearTiles();
  });
  writer.emit({ kind: 'for', name: row, from: int(0), to: rows, step: 1, unroll: 4, body: inner });
  for (const { access, transpose } of tiles) if (access.store) writer.emit(transpose);
}

interface Corner {
  readonly access: TileAccess;
  readonly dtype: DType;
  readonly corner: Index;
  readonly rows: Index;
  readonly plan: TilePlan;
  readonly scratch: TileCorner;
}

/** The statement that fills a tile from memory, or memory from a tile. */
export function transposition(nest: Nest, { access, dtype, corner, rows, plan, scratch }: Corner, frame: Frame): Stmt {
  const { lanes } = plan;
  const at = resolveIndex(access.position, bindAxis(frame, plan.across.name, corner));
  const step = coefficientOf(access.position, plan.lane) ?? int(1);
  const far = { buffer: nest.memory.parameter(access.buffer).name, at, step: resolveIndex(step, frame) };
  const count = frame.lane?.count ?? int(lanes);
  return access.store
    ? { kind: 'transpose', dtype, from: scratch, to: far, rows, columns: count, tile: lanes }
    : { kind: 'transpose', dtype, from: far, to: scratch, rows: count, columns: rows, tile: lanes };
}
