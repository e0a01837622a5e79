// Elements of tiles as values of the Kernel IR: one element, or a vector of neighbours along a loop's lane axis. What does
// not depend on the lane axis stays a scalar until it meets a vector.
import { at, dtypeInfo, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import {
  apply,
  constantOf,
  elementValue,
  flatIndex,
  scalarOfIndex,
  paramName,
  sourceCoordinates,
  tileIndex,
  valueIndex,
  widened,
  zeroOf,
} from '@tsinductor/codegen';
import type { GatherOp } from '@tsinductor/codegen';
import { coefficientOf, equal, int, isElementOp, printIndex } from '@tsinductor/ir';
import type { Access, Index, PlacedOp, Tile, TileId, TileOp, Value, ValueType } from '@tsinductor/ir';
import type { Binder } from './binder.ts';
import { checkAccess, checkGather } from './check-access.ts';
import { maskTerms } from './mask-terms.ts';
import type { MaskTerms } from './mask-terms.ts';

/** How the loop around relates to a mask that is true for the first elements only. */
export type MaskMode =
  | { readonly kind: 'open' }
  /** All lanes are within, none is, or the first `count` are, for masks with these terms. */
  | { readonly kind: 'within' | 'outside'; readonly terms: MaskTerms }
  | { readonly kind: 'first'; readonly terms: MaskTerms; readonly count: Index };

/** A place in a loop over the elements of a tile. */
export interface Point {
  readonly lanes: number;
  /** The axis along which the lanes lie. */
  readonly lane: string | undefined;
  readonly mode: MaskMode;
  readonly memo: Map<string, Value>;
  /** Told of tiles that are to be kept, with their value here. */
  readonly keep: (id: TileId, value: Value, coordinates: readonly Index[]) => void;
}

const alignmentOf = (dtype: DType): number => dtypeInfo[dtype].bytes;

/** How far the index moves from one lane to the next; undefined where it does not move evenly. */
export function laneStep(index: Index, lane: string | undefined): Index | undefined {
  if (lane === undefined) return int(0);
  return coefficientOf(index, { name: lane, extent: int(2) });
}

const isZero = (index: Index | undefined): boolean => index?.kind === 'int' && index.value === 0;

/** An index as a value of `dtype`: a vector where it moves with the lanes. */
function indexValue(index: Index, dtype: DType, { lane, lanes }: Point): Value {
  if (index.kind === 'int' || lane === undefined || lanes === 1 || isZero(laneStep(index, lane)))
    return scalarOfIndex(index, dtype);
  const narrow: DType = dtype === 'i32' ? 'i32' : 'i64';
  const value: Value = { kind: 'index', value: index, type: { dtype: narrow, lanes }, lane };
  return narrow === dtype ? value : { kind: 'cast', value, type: { dtype, lanes } };
}

/** The value of a tile without axes, or of one of which all elements are the same. */
export function scalarValue(id: TileId, binder: Binder): Value {
  const point: Point = { lanes: 1, lane: undefined, mode: { kind: 'open' }, memo: new Map(), keep: () => undefined };
  const first = binder.tile(id).shape.map(() => int(0));
  return evaluateTile(id, first, { binder, point });
}

export function evaluateTile(id: TileId, coordinates: readonly Index[], context: Evaluation): Value {
  const { binder, point } = context;
  const home = binder.home(id);
  const tile = binder.tile(id);
  if (home.kind === 'scalar') return home.value;
  const key = `${String(id)} ${coordinates.map((index) => printIndex(index)).join(' ')}`;
  const known = point.memo.get(key);
  if (known !== undefined) return known;
  const index = tileIndex(id, coordinates, binder);
  const value =
    index !== undefined && laneStep(index, point.lane) !== undefined && (tile.dtype === 'i32' || tile.dtype === 'i64')
      ? binder.name(indexValue(index, tile.dtype, point), binder.label(id, 'at'))
      : computed(tile, coordinates, context);
  point.memo.set(key, value);
  if (home.kind === 'pending') point.keep(id, value, coordinates);
  return value;
}

function computed(tile: Tile, coordinates: readonly Index[], context: Evaluation): Value {
  const { binder } = context;
  const home = binder.home(tile.id);
  switch (home.kind) {
    case 'scalar':
      return home.value;
    case 'scratch':
      return loadScratch({ name: home.name, tile }, coordinates, context);
    case 'shifted': {
      const from = evaluateTile(home.base, coordinates, context);
      const shift = indexValue(home.shift, tile.dtype, context.point);
      return binder.name(apply('add', [from, shift], tile.dtype), binder.label(tile.id, 'moved'));
    }
    case 'virtual':
    case 'pending':
      return evaluateNode(home.node, coordinates, context);
  }
}

function loadScratch(
  { name, tile }: { name: string; tile: Tile },
  coordinates: readonly Index[],
  { binder, point }: Evaluation,
): Value {
  const at = flatIndex(tile.shape, coordinates);
  const access = accessAt({ buffer: name, dtype: tile.dtype }, at, point);
  invariant(access !== undefined, 'a kept block is read at places that do not move evenly');
  return binder.name(
    { kind: 'load', access: access.access, type: { dtype: tile.dtype, lanes: access.lanes } },
    `${name}_at`,
  );
}

/** The access to elements at an index, and in how many lanes. */
function accessAt(
  { buffer, dtype }: { buffer: string; dtype: DType },
  at: Index,
  point: Point,
): { access: Access; lanes: number } | undefined {
  const step = laneStep(at, point.lane);
  if (step === undefined) return undefined;
  const lanes = isZero(step) ? 1 : point.lanes;
  return { access: { buffer, at, step: lanes === 1 ? int(1) : step, align: alignmentOf(dtype) }, lanes };
}

interface Evaluation {
  readonly binder: Binder;
  readonly point: Point;
}

/** The value of a pure operation or a load at a place. */
function evaluateNode(node: TileOp, coordinates: readonly Index[], { binder, point }: Evaluation): Value {
  if (node.op === 'load') return loadValue(node, coordinates, { binder, point });
  invariant(isElementOp(node), `${node.op} is not computed element by element`);
  const side =
    node.op === 'apply' && node.attrs.op === 'where' ? knownSide(node, coordinates, { binder, point }) : undefined;
  if (side !== undefined) return evaluateTile(side, coordinates, { binder, point });
  return elementValue(node, {
    scope: binder,
    coordinates,
    operand: (slot, where = coordinates) => evaluateTile(at(node.args, slot), where, { binder, point }),
    index: (index, dtype) => indexValue(index, dtype, point),
    source: (moving) => {
      const where = sourceCoordinates(moving, coordinates, binder);
      invariant(where !== undefined, 'a block that is regrouped is kept first');
      return where;
    },
    gather: (gather) => gatherValue(gather, coordinates, { binder, point }),
  });
}

/** The operand that a choice is, where the loop around is cut at its mask: all lanes are within, or none is. */
function knownSide(node: TileOp, coordinates: readonly Index[], context: Evaluation): TileId | undefined {
  const { mode } = context.point;
  if (mode.kind !== 'within' && mode.kind !== 'outside') return undefined;
  if (!sameTerms(maskTerms(at(node.args, 0), coordinates, context), mode.terms)) return undefined;
  return at(node.args, mode.kind === 'within' ? 1 : 2);
}

/** Where the elements of a memory operation lie: an index, or offsets lane by lane. */
export function elementAccess(
  node: TileOp & { readonly op: 'load' | 'store' | 'atomic' | 'atomicCas' },
  coordinates: readonly Index[],
  { binder, point }: Evaluation,
): { readonly access: Access; readonly lanes: number } {
  const { dtype } = at(binder.program.params, node.attrs.param);
  const buffer = paramName(binder.program, node.attrs.param);
  const index = tileIndex(at(node.args, 0), coordinates, binder);
  const direct = index === undefined ? undefined : accessAt({ buffer, dtype }, index, point);
  if (direct !== undefined) return direct;
  const offsets = evaluateTile(at(node.args, 0), coordinates, { binder, point });
  if (offsets.type.lanes > 1)
    return {
      access: { buffer, at: int(0), step: int(1), offsets, align: alignmentOf(dtype) },
      lanes: offsets.type.lanes,
    };
  const named = binder.name(offsets, 'offset');
  return { access: { buffer, at: valueIndex(named), step: int(1), align: alignmentOf(dtype) }, lanes: 1 };
}

const isContiguous = ({ offsets, step }: Access): boolean =>
  offsets === undefined && step.kind === 'int' && step.value === 1;
const sameTerms = (left: MaskTerms | undefined, right: MaskTerms): boolean => left?.key === right.key;

function loadValue(node: TileOp & { readonly op: 'load' }, coordinates: readonly Index[], context: Evaluation): Value {
  const { binder, point } = context;
  const { id, dtype } = at(node.results, 0);
  const label = binder.label(id, `${paramName(binder.program, node.attrs.param)}_at`);
  const maskId = node.args[1];
  const otherId = node.args[2];
  const { access, lanes } = elementAccess(node, coordinates, context);
  const type = { dtype, lanes };
  const plain: Value = { kind: 'load', access, type };
  if (maskId === undefined) {
    checkAccess(node, { access, lanes }, binder);
    return binder.name(plain, label);
  }
  const other = (): Value => (otherId === undefined ? zeroOf(dtype) : evaluateTile(otherId, coordinates, context));
  const { mode } = point;
  if (mode.kind !== 'open' && sameTerms(maskTerms(maskId, coordinates, context), mode.terms)) {
    if (mode.kind === 'outside') return other();
    if (mode.kind === 'within') {
      checkAccess(node, { access, lanes }, binder);
      return binder.name(plain, label);
    }
    const { count } = mode as MaskMode & { readonly kind: 'first' };
    if (isContiguous(access) && lanes > 1) {
      checkAccess(node, { access: { ...access, count }, lanes }, binder);
      const first = binder.name({ ...plain, access: { ...access, count } }, label);
      const test: Value = { kind: 'first', count, type: { dtype: 'bool', lanes } };
      return otherId === undefined ? first : chosen(test, [first, other()], { binder, dtype });
    }
  }
  const mask = evaluateTile(maskId, coordinates, context);
  return maskedLoad({ access, type, mask, other: other() }, { node, binder, label });
}

/** where(mask, x, y) for any dtype: half floats are chosen by their bits. */
function chosen(
  mask: Value,
  [x, y]: readonly [Value, Value],
  { binder, dtype }: { binder: Binder; dtype: DType },
): Value {
  if (dtypeInfo[dtype].compute === dtype) return binder.name(apply('where', [mask, x, y], dtype), 'chosen');
  const bits = (value: Value): Value => ({ kind: 'bitcast', value, type: { dtype: 'i16', lanes: value.type.lanes } });
  const lanes = Math.max(mask.type.lanes, x.type.lanes, y.type.lanes);
  const choice = apply('where', [mask, bits(widened(x, lanes)), bits(widened(y, lanes))], 'i16');
  return binder.name({ kind: 'bitcast', value: binder.name(choice, 'bits'), type: { dtype, lanes } }, 'chosen');
}

interface MaskedLoad {
  readonly access: Access;
  readonly type: ValueType;
  readonly mask: Value;
  readonly other: Value;
}

function maskedLoad(
  { access, type, mask, other }: MaskedLoad,
  { node, binder, label }: { node: PlacedOp; binder: Binder; label: string },
): Value {
  const lanes = Math.max(type.lanes, mask.type.lanes);
  const spread: Access = lanes > type.lanes ? { ...access, step: int(0) } : access;
  checkAccess(node, { access: spread, lanes, mask: widened(mask, lanes) }, binder);
  return binder.name(
    {
      kind: 'load',
      access: spread,
      type: { dtype: type.dtype, lanes },
      mask: widened(mask, lanes),
      other: widened(other, lanes),
    },
    label,
  );
}

function gatherValue(node: GatherOp, coordinates: readonly Index[], { binder, point }: Evaluation): Value {
  const source = binder.tile(at(node.args, 0));
  const home = binder.home(source.id);
  invariant(home.kind === 'scratch', 'what is gathered from is kept first');
  const { axis } = node.attrs;
  const inner = source.shape.slice(axis + 1).reduce((size, extent) => size * extent, 1);
  const where = coordinates.map((coordinate, place) => (place === axis ? int(0) : coordinate));
  const position = evaluateTile(at(node.args, 1), coordinates, { binder, point });
  checkGather(node, { buffer: home.name, position, extent: at(source.shape, axis) }, binder);
  const wide: Value =
    position.type.dtype === 'i64'
      ? position
      : { kind: 'cast', value: position, type: { dtype: 'i64', lanes: position.type.lanes } };
  const distance = inner === 1 ? wide : apply('mul', [wide, constantOf({ bigint: String(inner) }, 'i64')], 'i64');
  const rest = binder.name(indexValue(flatIndex(source.shape, where), 'i64', point), 'row');
  const offsets = binder.name(apply('add', [binder.name(distance, 'distance'), rest], 'i64'), 'place');
  const { dtype } = source;
  const { lanes } = offsets.type;
  const access: Access =
    lanes === 1
      ? { buffer: home.name, at: valueIndex(offsets), step: int(1), align: alignmentOf(dtype) }
      : { buffer: home.name, at: int(0), step: int(1), offsets, align: alignmentOf(dtype) };
  return binder.name(
    { kind: 'load', access, type: { dtype, lanes } },
    binder.label(at(node.results, 0).id, 'gathered'),
  );
}

export const sameIndexes = (left: readonly Index[], right: readonly Index[]): boolean =>
  left.length === right.length && left.every((index, axis) => equal(index, at(right, axis)));
