// Nests that read or write across the grain: lanes along one axis (v) of an access that is contiguous along another (u).
// Such accesses go through square tiles of scratch that are turned in registers, so that memory is touched by whole lines
// on both sides. See `canTurn` for which accesses qualify; all others are as in any vector loop.
import type { DType } from '@tsinductor/base';
import { difference, isMultipleOf, named, resolveIndex } from '@tsinductor/codegen';
import { add, coefficientOf, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree, Stmt } from '@tsinductor/ir';
import { canTurn, pointBodies } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { bindAxis } from './nest.ts';
import type { Frame, Nest } from './nest.ts';

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
}

/**
 * A block of tiles that is worked off before the next: many rows of the accesses across the grain, few lines of the
 * others. (Measured: 256 by 64 elements of f32; twice as fast as one row of tiles after another.)
 */
export const blockTiles: { readonly across: number; readonly along: number } = { across: 16, along: 4 };

/** How an innermost tree is tiled, if it gains from it. */
export function planTiles(tree: LoopTree, nodes: readonly LoopNode[], choice: LaneChoice): TilePlan | undefined {
  const { axis, lanes } = choice;
  const band = tree.loops.find((candidate) => candidate.axis.name === axis?.name);
  if (band === undefined || nodes.some((node) => node.kind !== 'map' && node.kind !== 'scan')) return undefined;
  const accesses = nodes.flatMap((node) => turnable(node));
  let best: TilePlan | undefined;
  for (const other of tree.loops) {
    if (other === band) continue;
    const turned = distinct(
      accesses.filter(({ position }) => canTurn({ band, other, index: position }, { nodes, lanes })),
    );
    if (turned.length > (best?.accesses.length ?? 0)) best = { lane: band.axis, across: other.axis, accesses: turned };
  }
  return best;
}

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
  const row = writer.fresh('row');
  const inner = writer.block([row], () => {
    const place = multiply(named(row, int(lanes)), int(lanes));
    for (const { access, tile } of tiles) memory.setTile(access, { name: tile, at: place });
    memory.scoped(() => {
      body(bindAxis(frame, plan.across.name, add(corner, named(row, int(lanes)))));
    });
    memory.clearTiles();
  });
  writer.emit({ kind: 'for', name: row, from: int(0), to: rows, step: 1, unroll: 4, body: inner });
  for (const { access, transpose } of tiles) if (access.store) writer.emit(transpose);
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
