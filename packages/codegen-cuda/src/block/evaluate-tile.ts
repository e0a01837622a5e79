// Elements of tiles as values of one thread. A virtual tile is computed in place, down to what is in registers, in shared
// memory or a scalar. `missingTiles` says beforehand which tiles in registers would be read where the thread does not
// hold them: those are copied to shared memory first, for a barrier cannot stand in the middle of an expression.
import { at, get, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  apply,
  elementValue,
  flatIndex,
  paramName,
  scalarOfIndex,
  sourceCoordinates,
  tileIndex,
  valueIndex,
  zeroOf,
} from '@tsinductor/codegen';
import type { GatherOp } from '@tsinductor/codegen';
import { add, floorDivide, int, isElementOp, modulo, multiply, printIndex } from '@tsinductor/ir';
import type { Access, Index, Tile, TileId, TileOp, Value } from '@tsinductor/ir';
import type { BlockBinder, OwnHome, SharedTile } from './block-binder.ts';
import { coordinatesOf } from './layout.ts';
import type { Layout } from './layout.ts';

/** Where a loop over a layout's registers stands. */
interface Spot {
  readonly layout: Layout;
  readonly register: Index;
}

export interface Evaluation {
  readonly binder: BlockBinder;
  /** Absent where every thread computes the same element. */
  readonly spot: Spot | undefined;
  /** Values known in the present block. */
  readonly memo: Map<string, Value>;
}

export const evaluationAt = (binder: BlockBinder, spot?: Spot): Evaluation => ({ binder, spot, memo: new Map() });

const keyOf = (id: TileId, coordinates: readonly Index[]): string =>
  `${String(id)} ${coordinates.map((index) => printIndex(index)).join(', ')}`;

/** The register in which the thread holds the element that it is asked for, if it holds it. */
function ownRegister(
  home: OwnHome & { readonly kind: 'registers' },
  coordinates: readonly Index[],
  spot: Spot | undefined,
): Index | undefined {
  const { layout } = home;
  const register = layout.registers === 1 ? int(0) : layout.key === spot?.layout.key ? spot.register : undefined;
  if (register === undefined) return undefined;
  const own = layout.coordinates(register);
  return own.every((index, axis) => printIndex(index) === printIndex(at(coordinates, axis))) ? register : undefined;
}

/** Where an operation that only moves elements takes its operand's from. */
function movedCoordinates(
  node: TileOp & { readonly op: 'broadcast' | 'reshape' | 'permute' },
  coordinates: readonly Index[],
  binder: BlockBinder,
): readonly Index[] {
  const kept = sourceCoordinates(node, coordinates, binder);
  if (kept !== undefined) return kept;
  const flat = flatIndex(at(node.results, 0).shape, coordinates);
  return coordinatesOf(flat, binder.tile(at(node.args, 0)).shape);
}

/** The element's place in a tile in shared memory: granules of a row change places by its number, so that columns meet no bank twice. */
export function sharedPlace(
  { shape, granule, offset, isTurned = false }: SharedTile,
  coordinates: readonly Index[],
  binder: BlockBinder,
): Index {
  return isTurned
    ? storedPlace({ shape: shape.toReversed(), granule, offset }, coordinates.toReversed(), binder)
    : storedPlace({ shape, granule, offset }, coordinates, binder);
}

interface Stored {
  readonly shape: readonly number[];
  readonly granule: number;
  readonly offset: Index | undefined;
}

function storedPlace({ shape, granule, offset }: Stored, coordinates: readonly Index[], binder: BlockBinder): Index {
  const width = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((count, extent) => count * extent, 1);
  const turns = Math.min(rows, Math.floor(width / granule), granule === 1 ? 32 : 8);
  const start = offset ?? int(0);
  if (turns <= 1) return add(start, flatIndex(shape, coordinates));
  const column = at(coordinates, shape.length - 1);
  const row = flatIndex(shape.slice(0, -1), coordinates.slice(0, -1));
  // Rows of less than the banks' width lie beside each other in them.
  const beside = granule === 1 ? 1 : Math.max(1, Math.floor((8 * granule) / width));
  const turn = modulo(floorDivide(row, int(beside)), int(turns));
  const chunk = floorDivide(column, int(granule));
  const value = apply('bitwiseXor', [scalarOfIndex(chunk, 'i64'), scalarOfIndex(turn, 'i64')], 'i64');
  const turned: Index = {
    kind: 'axis',
    axis: { name: nameOf(binder.name(value, 'swizzled')), extent: int(width / granule) },
  };
  const inGranule = modulo(column, int(granule));
  return add(start, add(multiply(row, int(width)), add(multiply(turned, int(granule)), inGranule)));
}

function nameOf(value: Value): string {
  invariant(value.kind === 'name', 'a value is named before it is an index');
  return value.name;
}

const bytesOf: Readonly<Record<DType, number>> = { f64: 8, f32: 4, f16: 2, bf16: 2, i64: 8, i32: 4, i16: 2, i8: 1, u8: 1, bool: 1 }; // prettier-ignore

/** One element of a buffer or scratch. */
export const elementAt = (buffer: string, place: Index, dtype: DType): Access => ({
  buffer,
  at: place,
  step: int(1),
  align: bytesOf[dtype],
});

const loadOf = (access: Access, dtype: DType): Value => ({ kind: 'load', access, type: { dtype, lanes: 1 } });

export function evaluateTile(id: TileId, coordinates: readonly Index[], evaluation: Evaluation): Value {
  const { binder, memo } = evaluation;
  const home = binder.home(id);
  if (home.kind === 'scalar') return home.value;
  const key = keyOf(id, coordinates);
  const known = memo.get(key);
  if (known !== undefined) return known;
  const tile = binder.tile(id);
  const index = tile.dtype === 'i32' || tile.dtype === 'i64' ? tileIndex(id, coordinates, binder) : undefined;
  const value =
    index === undefined
      ? computed(tile, coordinates, evaluation)
      : binder.name(scalarOfIndex(index, tile.dtype), binder.label(id, 'at'));
  memo.set(key, value);
  return value;
}

function computed(tile: Tile, coordinates: readonly Index[], evaluation: Evaluation): Value {
  const { binder, spot } = evaluation;
  const home = binder.home(tile.id);
  switch (home.kind) {
    case 'scalar':
      return home.value;
    case 'registers': {
      const register = ownRegister(home, coordinates, spot);
      if (register !== undefined)
        return binder.name(loadOf(elementAt(home.name, register, tile.dtype), tile.dtype), `${home.name}_at`);
      return sharedElement(get(binder.copies, tile.id), coordinates, { tile, binder });
    }
    case 'shared':
      return sharedElement(home.tile, coordinates, { tile, binder });
    case 'shifted': {
      const base = evaluateTile(home.base, coordinates, evaluation);
      return binder.name(
        apply('add', [base, scalarOfIndex(home.shift, tile.dtype)], tile.dtype),
        binder.label(tile.id, 'moved'),
      );
    }
    case 'virtual':
      return evaluateNode(home.node, coordinates, evaluation);
  }
}

/** An element of a tile that is in shared memory. */
export function sharedElement(
  from: SharedTile,
  coordinates: readonly Index[],
  { tile, binder }: { tile: Tile; binder: BlockBinder },
): Value {
  const place = sharedPlace(from, coordinates, binder);
  return binder.name(loadOf(elementAt(from.name, place, tile.dtype), tile.dtype), `${from.name}_at`);
}

/** The value of a pure operation or a load at a place. */
export function evaluateNode(node: TileOp, coordinates: readonly Index[], evaluation: Evaluation): Value {
  const { binder } = evaluation;
  if (node.op === 'load') return loadElement(node, coordinates, evaluation);
  invariant(isElementOp(node), `${node.op} is not computed element by element`);
  return elementValue(node, {
    scope: binder,
    coordinates,
    operand: (slot, where = coordinates) => evaluateTile(at(node.args, slot), where, evaluation),
    index: scalarOfIndex,
    source: (moving) => movedCoordinates(moving, coordinates, binder),
    gather: (gather) => gatherElement(gather, coordinates, evaluation),
  });
}

export type MemoryOp = TileOp & { readonly op: 'load' | 'store' | 'atomic' | 'atomicCas' };

/** Where the element of a memory operation lies. */
export function globalAccess(node: MemoryOp, coordinates: readonly Index[], evaluation: Evaluation): Access {
  const { binder } = evaluation;
  const { dtype } = at(binder.program.params, node.attrs.param);
  const offsets = at(node.args, 0);
  const index = tileIndex(offsets, coordinates, binder);
  const place = index ?? valueIndex(binder.name(evaluateTile(offsets, coordinates, evaluation), 'offset'));
  return elementAt(paramName(binder.program, node.attrs.param), place, dtype);
}

function loadElement(
  node: TileOp & { readonly op: 'load' },
  coordinates: readonly Index[],
  evaluation: Evaluation,
): Value {
  const { binder } = evaluation;
  const { dtype, id } = at(node.results, 0);
  const [, maskId, otherId] = node.args;
  const mask = maskId === undefined ? undefined : evaluateTile(maskId, coordinates, evaluation);
  const other = otherId === undefined ? zeroOf(dtype) : evaluateTile(otherId, coordinates, evaluation);
  const access = globalAccess(node, coordinates, evaluation);
  const value: Value = {
    kind: 'load',
    access,
    type: { dtype, lanes: 1 },
    ...(mask === undefined ? {} : { mask, other }),
  };
  return binder.name(value, binder.label(id, `${access.buffer}_at`));
}

function gatherElement(node: GatherOp, coordinates: readonly Index[], evaluation: Evaluation): Value {
  const { binder } = evaluation;
  const [source, index] = [at(node.args, 0), at(node.args, 1)];
  const position = binder.name(evaluateTile(index, coordinates, evaluation), 'picked');
  const extent = int(at(binder.tile(source).shape, node.attrs.axis));
  const named: Value =
    position.type.dtype === 'i64' || position.type.dtype === 'i32'
      ? position
      : binder.name({ kind: 'cast', value: position, type: { dtype: 'i64', lanes: 1 } }, 'picked');
  const place: Index =
    named.kind === 'constant' ? valueIndex(named) : { kind: 'axis', axis: { name: nameOf(named), extent } };
  const where = coordinates.map((coordinate, axis) => (axis === node.attrs.axis ? place : coordinate));
  return evaluateTile(source, where, { ...evaluation, spot: undefined });
}

/** The tiles in registers that evaluating `id` would read where the thread does not hold them. */
export function missingTiles(
  id: TileId,
  coordinates: readonly Index[],
  {
    binder,
    spot,
    seen,
    found,
  }: {
    readonly binder: BlockBinder;
    readonly spot: Spot | undefined;
    readonly seen: Set<string>;
    readonly found: Set<TileId>;
  },
): void {
  const key = `${String(spot === undefined)} ${keyOf(id, coordinates)}`;
  if (seen.has(key)) return;
  seen.add(key);
  const home = binder.home(id);
  if (home.kind === 'registers' && ownRegister(home, coordinates, spot) === undefined && !binder.copies.has(id))
    found.add(id);
  if (home.kind === 'shifted') missingTiles(home.base, coordinates, { binder, spot, seen, found });
  if (home.kind !== 'virtual' || tileIndex(id, coordinates, binder) !== undefined) return;
  for (const read of readsOf(home.node, coordinates, binder))
    missingTiles(read.id, read.coordinates, { binder, spot: read.isOwn ? spot : undefined, seen, found });
}

interface TileRead {
  readonly id: TileId;
  readonly coordinates: readonly Index[];
  /** Whether the place may be one that the thread holds. */
  readonly isOwn: boolean;
}

/** What computing an element of an operation reads of its operands. */
function readsOf(node: TileOp, coordinates: readonly Index[], binder: BlockBinder): readonly TileRead[] {
  const [first] = node.args;
  if (first !== undefined && (node.op === 'broadcast' || node.op === 'reshape' || node.op === 'permute'))
    return [{ id: first, coordinates: movedCoordinates(node, coordinates, binder), isOwn: true }];
  return node.args.map((id, slot) =>
    node.op === 'gather' && slot === 0
      ? { id, coordinates: pickedCoordinates(coordinates, node.attrs.axis), isOwn: false }
      : { id, coordinates, isOwn: true },
  );
}

/** Coordinates of which nothing is known along an axis. */
const pickedCoordinates = (coordinates: readonly Index[], axis: number): readonly Index[] =>
  coordinates.map((coordinate, own) =>
    own === axis ? { kind: 'axis', axis: { name: 'picked', extent: int(2 ** 30) } } : coordinate,
  );
