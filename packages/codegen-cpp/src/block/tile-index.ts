// Where a tile of integers is known as index expressions: by its home, or by what computes it.
import { get, isInteger } from '@tsinductor/base';
import { nodeIndex } from '@tsinductor/codegen';
import { add } from '@tsinductor/ir';
import type { Index, TileId, TileOp } from '@tsinductor/ir';
import type { Binder } from './binder.ts';

/** The element of `id` at `coordinates`, if it is an index expression. */
export function tileIndex(id: TileId, coordinates: readonly Index[], binder: Binder): Index | undefined {
  const tile = binder.tile(id);
  if (!isInteger(tile.dtype)) return undefined;
  const home = get(binder.homes, id);
  switch (home.kind) {
    case 'scalar':
      return home.index;
    case 'scratch':
      return undefined;
    case 'shifted': {
      const base = tileIndex(home.base, coordinates, binder);
      return base === undefined ? undefined : add(base, home.shift);
    }
    case 'virtual':
    case 'pending':
      return opIndex(home.node, coordinates, binder);
  }
}

/** The same of an operation's result. */
export const opIndex = (node: TileOp, coordinates: readonly Index[], binder: Binder): Index | undefined =>
  nodeIndex(node, coordinates, {
    scope: binder,
    indexOf: (id, where) => tileIndex(id, where, binder),
  });
