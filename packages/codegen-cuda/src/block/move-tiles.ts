// Moving tiles between layouts: into an array of each thread, or through shared memory where a thread needs elements that
// another holds.
import { apply, scalarOfIndex } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Index, TileId, Value } from '@tsinductor/ir';
import type { BlockBinder, SharedTile } from './block-binder.ts';
import { elementAt, evaluateTile, evaluationAt, missingTiles, sharedPlace } from './evaluate-tile.ts';
import type { Evaluation } from './evaluate-tile.ts';
import type { Layout } from './layout.ts';

/** Copies to shared memory whatever evaluating `ids` in a layout would read from other threads; without one: in all threads alike. */
export function prepare(ids: readonly TileId[], layout: Layout | undefined, binder: BlockBinder): void {
  const found = new Set<TileId>();
  const seen = new Set<string>();
  const probe: Index = { kind: 'axis', axis: { name: 'r', extent: int(layout?.registers ?? 1) } };
  const register = layout === undefined || layout.registers === 1 ? int(0) : probe;
  const spot = layout === undefined ? undefined : { layout, register };
  for (const id of ids) {
    const coordinates = layout?.coordinates(register) ?? binder.tile(id).shape.map(() => int(0));
    missingTiles(id, coordinates, { binder, spot, seen, found });
  }
  for (const id of found) copyToShared(id, binder);
}

/** A tile in shared memory, as it is or computed into it. */
export function copyToShared(id: TileId, binder: BlockBinder, granule = 1): SharedTile {
  const home = binder.home(id);
  if (home.kind === 'shared') return home.tile;
  const known = binder.copies.get(id);
  if (known !== undefined) return known;
  const tile = binder.tile(id);
  const layout = home.kind === 'registers' ? home.layout : binder.layoutFor(tile.shape);
  prepare([id], layout, binder);
  const shared = binder.sharedTile(`${binder.label(id, 'tile')}_shared`, tile, granule);
  overElements(layout, binder, (coordinates, evaluation) => {
    storeShared(
      shared,
      { coordinates, value: evaluateTile(id, coordinates, evaluation), owner: ownerMask(layout, binder) },
      binder,
    );
  });
  binder.barrier();
  binder.copies.set(id, shared);
  return shared;
}

interface SharedElement {
  readonly coordinates: readonly Index[];
  readonly value: Value;
  /** Which threads store; all if undefined. */
  readonly owner: Value | undefined;
}

export function storeShared(
  shared: SharedTile,
  { coordinates, value, owner }: SharedElement,
  binder: BlockBinder,
): void {
  const place = sharedPlace(shared, coordinates, binder);
  const access = elementAt(shared.name, place, value.type.dtype);
  binder.writer.emit({ kind: 'store', access, value, ...(owner === undefined ? {} : { mask: owner }) });
}

/** Whether this thread is the one that stands for its elements; undefined: every thread is. */
export function ownerMask({ owners }: Pick<Layout, 'owners'>, binder: BlockBinder): Value | undefined {
  if (owners >= binder.threads) return undefined;
  const args = [scalarOfIndex(binder.thread, 'i64'), scalarOfIndex(int(owners), 'i64')];
  return binder.name(apply('lt', args, 'bool'), 'owns');
}

/** The elements that a thread holds, one after the other. */
function overElements(
  layout: Layout,
  binder: BlockBinder,
  body: (coordinates: readonly Index[], evaluation: Evaluation) => void,
): void {
  binder.overRegisters(layout, (register) => {
    body(layout.coordinates(register), evaluationAt(binder, { layout, register }));
  });
}

/** Puts a tile into an array of each thread. */
export function toRegisters(id: TileId, layout: Layout, binder: BlockBinder): void {
  prepare([id], layout, binder);
  const name = binder.registers(id, layout);
  fillRegisters({ name, layout, from: id }, binder);
  binder.homes.set(id, { kind: 'registers', name, layout });
}

/** Writes the elements of `from`, for which everything is prepared, to an array of each thread. */
export function fillRegisters(
  { name, layout, from }: { readonly name: string; readonly layout: Layout; readonly from: TileId },
  binder: BlockBinder,
): void {
  binder.overRegisters(layout, (register) => {
    const value = evaluateTile(from, layout.coordinates(register), evaluationAt(binder, { layout, register }));
    binder.writer.emit({ kind: 'store', access: elementAt(name, register, value.type.dtype), value });
  });
}

/** The value of a tile without axes, the same in every thread. */
export function scalarValue(id: TileId, binder: BlockBinder): Value {
  prepare([id], undefined, binder);
  const { shape } = binder.tile(id);
  return evaluateTile(
    id,
    shape.map(() => int(0)),
    evaluationAt(binder),
  );
}

/** A scalar that one thread found out, in all of them. */
export function tellAll({ value, base }: { readonly value: Value; readonly base: string }, binder: BlockBinder): Value {
  const { dtype } = value.type;
  const shared = binder.sharedTile(`${base}_shared`, { dtype, shape: [1] });
  const owner = ownerMask({ owners: 1 }, binder);
  storeShared(shared, { coordinates: [int(0)], value, owner }, binder);
  binder.barrier();
  const access = elementAt(shared.name, int(0), dtype);
  return binder.name({ kind: 'load', access, type: { dtype, lanes: 1 } }, base);
}
