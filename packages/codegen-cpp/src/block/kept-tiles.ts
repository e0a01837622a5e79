// The tiles that one loop keeps on its way, in scratch. In: vectors of their elements. Out: stores.
import { dtypeInfo } from '@tsinductor/base';
import { flatIndex } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Index, TileId, Value } from '@tsinductor/ir';
import type { Binder } from './binder.ts';
import { laneStep, sameIndexes } from './evaluate-tile.ts';

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

/** Their scratch is declared before the loop, and is their home after it. */
export class KeptTiles {
  readonly #binder: Binder;
  readonly #names = new Map<TileId, string>();
  readonly #coordinates: readonly Index[];

  constructor(binder: Binder, tiles: readonly TileId[], coordinates: readonly Index[]) {
    this.#binder = binder;
    this.#coordinates = coordinates;
    for (const tile of new Set(tiles)) this.#names.set(tile, binder.scratch(tile));
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
