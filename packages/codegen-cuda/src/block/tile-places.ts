// Tiles that go round a loop, or come from a branch: arrays of each thread. In: tiles and the binder. Out: statements.
import { at } from '@tsinductor/base';
import type { TilePlaces } from '@tsinductor/codegen';
import type { Tile } from '@tsinductor/ir';
import type { BlockBinder } from './block-binder.ts';
import { elementAt, evaluateTile, evaluationAt } from './evaluate-tile.ts';
import type { Layout } from './layout.ts';
import { fillRegisters, prepare } from './move-tiles.ts';

export interface RegisterArray {
  readonly name: string;
  readonly layout: Layout;
}

export const registerPlaces = (binder: BlockBinder): TilePlaces<RegisterArray> => {
  const reserve = ({ id, shape }: Tile): RegisterArray => {
    const layout = binder.layoutFor(shape);
    return { layout, name: binder.registers(id, layout) };
  };
  return {
    reserve,
    copy: (tile, from) => {
      prepare([from], binder.layoutFor(tile.shape), binder);
      const place = reserve(tile);
      fillRegisters({ ...place, from }, binder);
      return place;
    },
    fill: (_, place, from) => {
      prepare([from], place.layout, binder);
      fillRegisters({ ...place, from }, binder);
    },
    hold: ({ id }, { name, layout }) => {
      binder.homes.set(id, { kind: 'registers', name, layout });
    },
    advance: (moves) => {
      advance(moves, binder);
    },
    mayShift: () => true,
  };
};

type Moves = Parameters<TilePlaces<RegisterArray>['advance']>[0];

function advance(moves: Moves, binder: BlockBinder): void {
  const pending = moves.filter(({ place, next }) => {
    const home = binder.home(next);
    return home.kind !== 'registers' || home.name !== place.name;
  });
  for (const { next, place } of pending) prepare([next], place.layout, binder);
  const layouts = new Map(pending.map(({ place: { layout } }) => [layout.key, layout]));
  for (const layout of layouts.values()) {
    const together = pending.filter(({ place }) => place.layout.key === layout.key);
    binder.overRegisters(layout, (register) => {
      const values = together.map(({ next, place }) => {
        const spot = { layout: place.layout, register };
        return binder.name(evaluateTile(next, spot.layout.coordinates(register), evaluationAt(binder, spot)), 'next');
      });
      together.forEach(({ tile, place }, slot) => {
        binder.writer.emit({
          kind: 'store',
          access: elementAt(place.name, register, tile.dtype),
          value: at(values, slot),
        });
      });
    });
  }
}
