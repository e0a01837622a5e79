// Tiles that are computed once: written to scratch by a loop of their own, or by the first loop that passes all of their
// elements anyway.
import { at, dtypeInfo } from '@tsinductor/base';
import { flatIndex, keepsAxes, widened } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Index, TileId, TileOp, Value } from '@tsinductor/ir';
import type { Binder } from './binder.ts';
import { loopElements } from './element-loop.ts';
import { evaluateTile, laneStep, sameIndexes } from './evaluate-tile.ts';
import type { Reach, Visit } from './reach.ts';

export const bytesOf = (dtype: keyof typeof dtypeInfo): number => dtypeInfo[dtype].bytes;

/** Writes a vector of a tile's elements to scratch. */
export function storeScratch(
  { name, id, value }: { readonly name: string; readonly id: TileId; readonly value: Value },
  { coordinates, lane }: { readonly coordinates: readonly Index[]; readonly lane: string | undefined },
  binder: Binder,
): void {
  const { shape, dtype } = binder.tile(id);
  const place = flatIndex(shape, coordinates);
  const step = laneStep(place, lane) ?? int(1);
  const access = {
    buffer: name,
    at: place,
    step: value.type.lanes === 1 ? int(1) : step,
    align: dtypeInfo[dtype].bytes,
  };
  binder.writer.emit({ kind: 'store', access, value });
}

/** The tiles that one loop keeps on its way: their scratch is declared before it, and is their home after it. */
export class KeptTiles {
  readonly #binder: Binder;
  readonly #names = new Map<TileId, string>();
  readonly #coordinates: readonly Index[];

  constructor(binder: Binder, tiles: readonly TileId[], coordinates: readonly Index[]) {
    this.#binder = binder;
    this.#coordinates = coordinates;
    for (const tile of new Set(tiles)) this.#names.set(tile, binder.scratch(tile, bytesOf));
  }

  store(
    id: TileId,
    value: Value,
    where: { readonly coordinates: readonly Index[]; readonly lane: string | undefined },
  ): void {
    const name = this.#names.get(id);
    if (name === undefined || !sameIndexes(where.coordinates, this.#coordinates)) return;
    storeScratch({ name, id, value }, where, this.#binder);
  }

  /** The same at coordinates that the caller vouches for: each element is stored once. */
  storeAt(
    id: TileId,
    value: Value,
    where: { readonly coordinates: readonly Index[]; readonly lane: string | undefined },
  ): void {
    const name = this.#names.get(id);
    if (name !== undefined) storeScratch({ name, id, value }, where, this.#binder);
  }

  finish(): void {
    for (const [id, name] of this.#names) this.#binder.homes.set(id, { kind: 'scratch', name });
  }
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
  const name = binder.scratch(id, bytesOf);
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
