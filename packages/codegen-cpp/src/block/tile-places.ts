// Blocks that go round a loop, or come from a branch: scratch, written in place where their next value reads only the same
// element. In: tiles and the binder. Out: statements.
import { int } from '@tsinductor/ir';
import type { Index, TileId } from '@tsinductor/ir';
import { tileIndex } from '@tsinductor/codegen';
import type { TilePlaces } from '@tsinductor/codegen';
import type { Binder } from './binder.ts';
import { sameIndexes } from './evaluate-tile.ts';
import { copyTile, fillScratch, keepTile } from './keep-tiles.ts';
import { reachOf } from './reach.ts';

/** Places are names of scratch. */
export const scratchPlaces = (binder: Binder): TilePlaces<string> => ({
  copy: ({ shape }, from) => copyTile(from, shape, binder),
  reserve: ({ id }) => binder.scratch(id),
  fill: ({ id, shape }, name, from) => {
    fillScratch({ name, id, from, shape }, binder);
  },
  hold: ({ id }, name) => {
    binder.homes.set(id, { kind: 'scratch', name });
  },
  advance: (moves) => {
    const names = new Set(moves.map(({ place }) => place));
    const pending = moves.filter(({ place, next }) => !isInPlace(next, place, binder));
    const isSimple = pending.every(({ place, next }) => readsOnlyOwn(next, { own: place, names, binder }));
    if (!isSimple) for (const { next } of pending) copyToOwn(next, names, binder);
    for (const { tile, place, next } of pending)
      fillScratch({ name: place, id: tile.id, from: next, shape: tile.shape }, binder);
  },
  mayShift: (from) => tileIndex(from, anywhere(from, binder), binder) !== undefined,
});

/** Coordinates of which nothing is known. */
const anywhere = (id: TileId, binder: Binder): readonly Index[] =>
  binder
    .tile(id)
    .shape.map((extent, axis) => ({ kind: 'axis', axis: { name: `own${String(axis)}`, extent: int(extent + 1) } }));

/** Computes a tile into scratch that no carried block has. */
function copyToOwn(id: TileId, names: ReadonlySet<string>, binder: Binder): void {
  const home = binder.home(id);
  const name =
    home.kind === 'scratch' && names.has(home.name)
      ? copyTile(id, binder.tile(id).shape, binder)
      : keepTile(id, binder);
  binder.homes.set(id, { kind: 'scratch', name });
}

function isInPlace(next: TileId, scratch: string, binder: Binder): boolean {
  const home = binder.home(next);
  return home.kind === 'scratch' && home.name === scratch;
}

/** Whether computing a tile reads, of the carried blocks, only its own and there only the same element. */
function readsOnlyOwn(
  id: TileId,
  { own, names, binder }: { own: string; names: ReadonlySet<string>; binder: Binder },
): boolean {
  const coordinates = anywhere(id, binder);
  const reach = reachOf([{ tile: id, coordinates }], binder, undefined);
  return reach.scratch.every(
    (visit) => !names.has(visit.name) || (visit.name === own && sameIndexes(visit.coordinates, coordinates)),
  );
}
