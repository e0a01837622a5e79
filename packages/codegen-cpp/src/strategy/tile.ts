// Nests that read or write across the grain: lanes along one axis (v) of an access that is contiguous along another (u).
// Such accesses go through square tiles of scratch that are turned in registers, so that memory is touched by whole lines
// on both sides. See `canTurn` for which accesses qualify; all others are as in any vector loop.
import type { DType } from '@tsinductor/base';
import { add, coefficientOf, int, minimum, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode, LoopTree, Stmt } from '@tsinductor/ir';
import { resolveIndex } from './evaluate-body.ts';
import { difference, isMultipleOf, named } from './index-math.ts';
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

/** Tiles along each axis of a block that is worked off before the next: its rows of memory stay within reach. */
export const tilesPerBlock: number = 16;

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

export interface TileColumn {
  readonly plan: TilePlan;
  readonly lanes: number;
  /** The part of `across` to run over. */
  readonly from: Index;
  readonly to: Index;
  readonly frame: Frame;
}

/** Runs down `across` at one vector of the lane axis, a tile at a time. `body` writes one point of `across`. */
export function writeTileColumn(nest: Nest, column: TileColumn, body: (frame: Frame) => void): void {
  const { writer, memory } = nest;
  const { plan, lanes, from, to, frame } = column;
  const scratch = plan.accesses
    .filter(({ buffer }) => !memory.isVirtual(buffer) && memory.row(buffer) === undefined)
    .map((access) => {
      const { dtype, name } = memory.decl(access.buffer);
      const tile = writer.fresh(`${name}_tile`);
      writer.emit({ kind: 'scratch', name: tile, dtype, size: lanes * lanes });
      return { access, tile, dtype };
    });
  const start = writer.fresh(plan.across.name);
  memory.multiples.set(start, lanes);
  const block = writer.block([start], () => {
    const corner = named(start, plan.across.extent);
    const rows = isMultipleOf(to, lanes, memory.multiples) ? int(lanes) : minimum(int(lanes), difference(to, corner));
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
  });
  writer.emit({ kind: 'for', name: start, from, to, step: lanes, body: block });
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
