// What goes round a loop. Scalars are variables; a tile of integers that moves by a scalar is that scalar; every other tile is
// in memory of the target's. In: a loop's first values and what its body yields. Out: statements, and where the tiles are.
import { at, isInteger } from '@tsinductor/base';
import { negate } from '@tsinductor/ir';
import type { ForNode, Region, Tile, TileId, Value, WhileNode } from '@tsinductor/ir';
import { scalarIndex } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { apply, scalarOfIndex, zeroOf } from './block-values.ts';
import type { BlockWalk, MovedTile } from './block-walk.ts';
import { scalarIndexOf } from './statements.ts';
import { scalarTileIndex } from './tile-index.ts';

type Carried<Place> =
  | { readonly kind: 'scalar'; readonly tile: Tile; readonly variable: string }
  | { readonly kind: 'tile'; readonly tile: Tile; readonly place: Place }
  /** A tile of integers that every iteration adds a scalar to. */
  | (MovedTile & { readonly kind: 'moved'; readonly variable: string });

const wide = { dtype: 'i64', lanes: 1 } as const;

/** Before the loop: memory with the first values. */
export function beginCarried<Place>(
  { initial, carried, body }: Pick<ForNode | WhileNode, 'initial' | 'carried' | 'body'>,
  walk: BlockWalk<Place>,
): readonly Carried<Place>[] {
  const { scope, places } = walk;
  return carried.map((tile, slot): Carried<Place> => {
    const from = at(initial, slot);
    if (tile.shape.length === 0) {
      const variable = scope.writer.fresh(scope.label(tile.id, 'carried'));
      scope.writer.emit({ kind: 'var', name: variable, value: walk.scalar(from) });
      return { kind: 'scalar', tile, variable };
    }
    const by = movementOf(tile, at(body.yields, slot), { body, scope });
    if (by === undefined || !places.mayShift(from)) return { kind: 'tile', tile, place: places.copy(tile, from) };
    const variable = scope.writer.fresh('moved');
    scope.writer.emit({ kind: 'var', name: variable, value: zeroOf('i64') });
    return { kind: 'moved', tile, base: from, variable, ...by };
  });
}

interface Within {
  readonly body: Region;
  readonly scope: BlockScope;
}

/** `next` = `tile` plus (or minus) one scalar for all elements: how a pointer moves. */
function movementOf(tile: Tile, next: TileId, within: Within): Pick<MovedTile, 'amount' | 'isDown'> | undefined {
  if (!isInteger(tile.dtype)) return undefined;
  const node = makerIn(within.body, next);
  if (node?.kind !== 'op' || node.op !== 'apply' || (node.attrs.op !== 'add' && node.attrs.op !== 'sub'))
    return undefined;
  const [left, right] = [at(node.args, 0), at(node.args, 1)];
  const other = left === tile.id ? right : node.attrs.op === 'add' && right === tile.id ? left : undefined;
  const amount = other === undefined ? undefined : uniformScalar(other, within);
  return amount === undefined ? undefined : { amount, isDown: node.attrs.op === 'sub' };
}

const makerIn = ({ nodes }: Region, id: TileId): Region['nodes'][number] | undefined =>
  nodes.find(({ results }) => results.some((result) => result.id === id));

/** The tile of which one element stands for all: a scalar that is broadcast, or a constant. */
function uniformScalar(id: TileId, { body, scope }: Within): TileId | undefined {
  const inside = makerIn(body, id);
  const home = inside === undefined ? scope.known(id) : undefined;
  const node = inside?.kind === 'op' ? inside : home?.kind === 'virtual' ? home.node : undefined;
  if (node?.op === 'constant') return id;
  if (node?.op !== 'broadcast') return undefined;
  const source = at(node.args, 0);
  return scope.tile(source).shape.length === 0 ? source : undefined;
}

/** Says where the carried tiles are at the beginning of an iteration, or after the loop. */
export function bindCarried<Place>(
  carried: readonly Carried<Place>[],
  tiles: readonly Tile[],
  { scope, places }: BlockWalk<Place>,
): void {
  carried.forEach((item, slot) => {
    const tile = at(tiles, slot);
    if (item.kind === 'scalar') readVariable(tile, item.variable, scope);
    else if (item.kind === 'tile') places.hold(tile, item.place);
    else {
      const name = scope.writer.fresh(`${item.variable}_by`);
      scope.writer.emit({ kind: 'let', name, value: { kind: 'name', name: item.variable, type: wide } });
      scope.learn(tile.id, { kind: 'shifted', base: item.base, shift: scalarIndex(name) });
    }
  });
}

/** The tile is what a variable holds from here on. */
export function readVariable({ id, dtype }: Tile, variable: string, scope: BlockScope): void {
  const type = { dtype, lanes: 1 };
  const name = scope.writer.fresh(variable);
  scope.writer.emit({ kind: 'let', name, value: { kind: 'name', name: variable, type } });
  const value: Value = { kind: 'name', name, type };
  scope.learn(id, { kind: 'scalar', value, index: scalarIndexOf(value) });
}

/** At the end of an iteration: what it yields goes to where it is carried. */
export function advanceCarried<Place>(
  carried: readonly Carried<Place>[],
  yields: readonly TileId[],
  walk: BlockWalk<Place>,
): void {
  const { scope, places } = walk;
  const scalars = carried.flatMap((item, slot) => {
    if (item.kind === 'tile') return [];
    const value = item.kind === 'moved' ? movedValue(item, walk) : walk.scalar(at(yields, slot));
    return [{ name: item.variable, value: scope.name(value, 'next') }];
  });
  const moves = carried.flatMap((item, slot) =>
    item.kind === 'tile' ? [{ tile: item.tile, place: item.place, next: at(yields, slot) }] : [],
  );
  places.advance(moves);
  for (const { name, value } of scalars) scope.writer.emit({ kind: 'set', name, value });
}

function movedValue<Place>(
  { amount, isDown, variable }: Carried<Place> & { readonly kind: 'moved' },
  { scope, scalar }: Pick<BlockWalk<Place>, 'scope' | 'scalar'>,
): Value {
  const index = scalarTileIndex(amount, scope);
  const distance =
    index === undefined
      ? scope.name({ kind: 'cast', value: scalar(amount), type: wide }, 'distance')
      : scalarOfIndex(isDown ? negate(index) : index, 'i64');
  const op = index === undefined && isDown ? 'sub' : 'add';
  return apply(op, [{ kind: 'name', name: variable, type: wide }, distance], 'i64');
}
