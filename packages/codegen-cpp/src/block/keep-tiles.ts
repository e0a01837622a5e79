// Loops over the elements of tiles, with what is kept on their way, and tiles that are written to scratch by a loop of their own
// before: each needs the other.
import { at } from '@tsinductor/base';
import { keepsAxes, widened } from '@tsinductor/codegen';
import { axisIndex, int } from '@tsinductor/ir';
import type { TileId, TileOp } from '@tsinductor/ir';
import { lanesFor } from '../machine/isa.ts';
import type { Binder } from './binder.ts';
import { laneAxis, openLoops, pointOf } from './element-loop.ts';
import type { ElementLoop } from './element-loop.ts';
import { evaluateTile, sameIndexes } from './evaluate-tile.ts';
import { KeptTiles, storeScratch } from './kept-tiles.ts';
import { reachOf } from './reach.ts';
import type { Reach, Visit } from './reach.ts';

/** Runs `loop.body` at all elements; tiles that its loops pass in whole are kept, others that it needs are computed before. */
export function loopElements(loop: ElementLoop, binder: Binder): void {
  const visits = [...loop.tiles, ...(loop.mask === undefined ? [] : [loop.mask])];
  regroupSources(visits, binder);
  if (loop.shape.length === 0) {
    const kept = new KeptTiles(binder, [], []);
    loop.body(pointOf({ lanes: 1, lane: undefined, mode: { kind: 'open' }, kept }), []);
    return;
  }
  const axis = laneAxis(loop.shape);
  const names = loop.shape.map((extent, index) =>
    extent === 1 && index !== axis ? undefined : binder.writer.fresh(index === axis ? 'i' : 'r'),
  );
  const coordinates = names.map((name, index) =>
    name === undefined ? int(0) : axisIndex({ name, extent: int(at(loop.shape, index)) }),
  );
  const lane = at(names, axis) ?? 'i';
  const reach = reachOf(
    visits.map((tile): Visit => ({ tile, coordinates })),
    binder,
    lane,
  );
  const isWhole = !loop.skips || loop.mask === undefined;
  keepPending(reach, { binder, isKeptInLoop: (visit) => isWhole && sameIndexes(visit.coordinates, coordinates) });
  const fused = isWhole ? reach.pending.filter((visit) => binder.home(visit.tile).kind === 'pending') : [];
  const kept = new KeptTiles(
    binder,
    fused.map(({ tile }) => tile),
    coordinates,
  );
  const lanes = loop.isScalar === true ? 1 : Math.min(at(loop.shape, axis), lanesFor(binder.target.isa, reach.bytes));
  const masks = [...reach.masks, ...(loop.mask === undefined ? [] : [{ tile: loop.mask, coordinates }])];
  openLoops(0, { loop, binder, coordinates, names, axis, lane, lanes, masks, kept });
  kept.finish();
}

/** Keeps the pending tiles that a loop reaches and cannot keep itself. */
export function keepPending(
  { pending }: Reach,
  { binder, isKeptInLoop }: { readonly binder: Binder; readonly isKeptInLoop: (visit: Visit) => boolean },
): void {
  const early = new Set(pending.filter((visit) => !isKeptInLoop(visit)).map(({ tile }) => tile));
  for (const tile of [...early].sort((a, b) => a - b)) keepTile(tile, binder);
}

/** Writes a tile to scratch now, unless it is there already or is a scalar. Returns the scratch. */
export function keepTile(id: TileId, binder: Binder): string {
  const home = binder.home(id);
  if (home.kind === 'scratch') return home.name;
  const { shape } = binder.tile(id);
  const regrouped = home.kind === 'virtual' || home.kind === 'pending' ? regroupedSource(home.node, binder) : undefined;
  if (regrouped !== undefined) {
    const name = keepTile(regrouped, binder);
    binder.homes.set(id, { kind: 'scratch', name });
    return name;
  }
  if (home.kind === 'pending') binder.homes.set(id, { kind: 'virtual', node: home.node });
  const name = copyTile(id, shape, binder);
  binder.homes.set(id, { kind: 'scratch', name });
  return name;
}

/** The elements of a tile, now, in scratch of their own. */
export function copyTile(id: TileId, shape: readonly number[], binder: Binder): string {
  regroupSources([id], binder);
  const name = binder.scratch(id);
  fillScratch({ name, id, from: id, shape }, binder);
  return name;
}

interface Filling {
  readonly name: string;
  /** The tile whose layout the scratch has, and the one whose elements go there. */
  readonly id: TileId;
  readonly from: TileId;
  readonly shape: readonly number[];
}

export function fillScratch({ name, id, from, shape }: Filling, binder: Binder): void {
  loopElements(
    {
      shape,
      tiles: [from],
      skips: false,
      body: (point, coordinates) => {
        const value = widened(evaluateTile(from, coordinates, { binder, point }), point.lanes);
        storeScratch({ name, id, value }, { coordinates, lane: point.lane }, binder);
      },
    },
    binder,
  );
}

/** The operand of a reshape that regroups axes: it is kept, and read under both shapes. */
function regroupedSource(node: TileOp, binder: Binder): TileId | undefined {
  if (node.op !== 'reshape') return undefined;
  const source = at(node.args, 0);
  return keepsAxes(binder.tile(source).shape, node.attrs.shape) ? undefined : source;
}

/** Keeps what reshapes regroup and what is gathered from, below tiles that are about to be evaluated. */
export function regroupSources(tiles: readonly TileId[], binder: Binder): void {
  for (const id of tiles) {
    const home = binder.home(id);
    if (home.kind === 'shifted') regroupSources([home.base], binder);
    if (home.kind !== 'virtual' && home.kind !== 'pending') continue;
    const { node } = home;
    regroupSources(node.args, binder);
    if (node.op === 'gather' && binder.tile(at(node.args, 0)).shape.length > 0) keepTile(at(node.args, 0), binder);
    if (regroupedSource(node, binder) !== undefined) keepTile(id, binder);
  }
}
