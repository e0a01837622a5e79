// Stores and atomic updates. A store is a loop over its elements into which everything that only it uses is fused; an update
// goes element by element, as one step each.
import { at, dtypeInfo } from '@tsinductor/base';
import { isMultipleOf, readVariable, tileIndex, updateOf, whereTrue, widened, zeroOf } from '@tsinductor/codegen';
import type { Update } from '@tsinductor/codegen';
import { add, allTileNodes, axisIndex, int, isElementOp, tileSize } from '@tsinductor/ir';
import type { Access, Index, TileId, TileOp, Value } from '@tsinductor/ir';
import { lineBytes } from '../machine/facts.ts';
import { lanesFor } from '../machine/isa.ts';
import { loadsAlong, prefetchesStores, writeRowPrefetches } from './row-prefetch.ts';
import type { Binder } from './binder.ts';
import { checkAccess } from './check-access.ts';
import { elementAccess, evaluateTile } from './evaluate-tile.ts';
import type { Point } from './evaluate-tile.ts';
import { keepTile, loopElements } from './keep-tiles.ts';
import { storeScratch } from './kept-tiles.ts';
import { maskTerms } from './mask-terms.ts';

export function bindStore(node: TileOp & { readonly op: 'store' }, binder: Binder): void {
  const [offsets, value, mask] = [at(node.args, 0), at(node.args, 1), node.args[2]];
  const { shape } = binder.tile(offsets);
  const loads = loadsAlong(node, shape, binder);
  loopElements(
    {
      shape,
      tiles: [offsets, value],
      ...(mask === undefined ? {} : { mask }),
      skips: true,
      body: (point, coordinates) => {
        storeElements(node, { point, coordinates, binder });
        writeRowPrefetches(loads, { point, coordinates, binder });
      },
    },
    binder,
  );
}

interface ElementContext {
  readonly binder: Binder;
  readonly point: Point;
  readonly coordinates: readonly Index[];
}

function storeElements(node: TileOp & { readonly op: 'store' }, { binder, point, coordinates }: ElementContext): void {
  const value = widened(evaluateTile(at(node.args, 1), coordinates, { binder, point }), point.lanes);
  const { access, lanes } = elementAccess(node, coordinates, { binder, point });
  // Many lanes that go to one element: the last of them stays.
  const spread: Access = lanes < point.lanes ? { ...access, step: int(0) } : access;
  const maskId = node.args[2];
  if (maskId === undefined) {
    storeWhole(node, { access: spread, value }, { binder, point });
    return;
  }
  const { mode } = point;
  const isCut =
    mode.kind !== 'open' &&
    maskTerms(maskId, coordinates, { binder, point: { lane: point.lane } })?.key === mode.terms.key;
  if (mode.kind === 'within' && isCut) {
    storeWhole(node, { access: spread, value }, { binder, point });
    return;
  }
  const isContiguous = spread.offsets === undefined && spread.step.kind === 'int' && spread.step.value === 1;
  if (isCut && mode.kind === 'first' && isContiguous) {
    checkAccess(node, { access: { ...spread, count: mode.count }, lanes: point.lanes }, binder);
    binder.writer.emit({ kind: 'store', access: { ...spread, count: mode.count }, value });
    return;
  }
  const mask = evaluateTile(maskId, coordinates, { binder, point });
  checkAccess(node, { access: spread, lanes: point.lanes, mask: widened(mask, point.lanes) }, binder);
  storeMasked({ access: spread, value, mask }, { binder, point });
}

interface WholeStore {
  readonly access: Access;
  readonly value: Value;
}

/**
 * All lanes. Lines of a result larger than the caches, which the program does not read, are prefetched before they are written (see
 * strategy/traffic/results.ts); whole ones are written by non-temporal stores instead if it is far larger.
 */
function storeWhole(
  node: TileOp & { readonly op: 'store' },
  { access, value }: WholeStore,
  { binder, point }: Pick<ElementContext, 'binder' | 'point'>,
): void {
  const { writer, program, target } = binder;
  checkAccess(node, { access, lanes: point.lanes }, binder);
  const isRow = writesRow(node, access, { binder, point });
  const isPrefetched = isRow && prefetchesStores(binder);
  // The lane coordinate counts from 0 by whole vectors.
  const steps = point.lane === undefined ? undefined : new Map([[point.lane, point.lanes]]);
  const isWide = point.lanes * dtypeInfo[value.type.dtype].bytes === lineBytes;
  const isLine = isRow && isWide && isMultipleOf(access.at, point.lanes, steps);
  const isNonTemporal =
    isLine && !isPrefetched && target.large?.get(at(program.params, node.attrs.param).name) === 'huge';
  if (isPrefetched) {
    const place = add(access.at, int(binder.choices.resultPrefetch.distance / dtypeInfo[value.type.dtype].bytes));
    writer.emit({ kind: 'prefetch', buffer: access.buffer, at: place, intent: 'write' });
  }
  writer.emit({
    kind: 'store',
    access: isLine ? { ...access, align: lineBytes } : access,
    value,
    ...(isNonTemporal ? { hint: 'non-temporal' as const } : {}),
  });
}

/** Whether the lanes are a register's neighbours in a result larger than the caches, which the program does not read. */
function writesRow(
  node: TileOp & { readonly op: 'store' },
  { step, offsets }: Access,
  { binder, point }: Pick<ElementContext, 'binder' | 'point'>,
): boolean {
  const { target, program } = binder;
  const { name, dtype } = at(program.params, node.attrs.param);
  if (target.mayAlias || target.large?.has(name) !== true || point.lane === undefined) return false;
  const isRead = [...allTileNodes(program.body)].some(
    (other) =>
      other.kind === 'op' && other.op !== 'store' && 'param' in other.attrs && other.attrs.param === node.attrs.param,
  );
  const isRegister = lanesFor(target.isa, dtypeInfo[dtype].bytes) === point.lanes;
  return !isRead && isRegister && offsets === undefined && step.kind === 'int' && step.value === 1;
}

function storeMasked(
  { access, value, mask }: { readonly access: Access; readonly value: Value; readonly mask: Value },
  { binder, point }: { readonly binder: Binder; readonly point: Point },
): void {
  if (point.lanes > 1) {
    binder.writer.emit({ kind: 'store', access, value, mask: widened(mask, point.lanes) });
    return;
  }
  whereTrue(mask, binder, {
    run: () => {
      binder.writer.emit({ kind: 'store', access, value });
    },
  });
}

export function bindAtomic(node: Update, binder: Binder): void {
  const result = at(node.results, 0);
  const isUsed = (binder.plan.get(result.id)?.direct ?? 0) > 0;
  const isBlock = result.shape.length > 0;
  const kept = isUsed && isBlock ? binder.scratch(result.id) : undefined;
  const variable = isUsed && !isBlock ? binder.writer.fresh('before') : undefined;
  if (variable !== undefined) binder.writer.emit({ kind: 'var', name: variable, value: zeroOf(result.dtype) });
  const keep = (value: Value, coordinates: readonly Index[]): void => {
    if (kept !== undefined)
      storeScratch({ name: kept, id: result.id, value }, { coordinates, lane: undefined }, binder);
    if (variable !== undefined) binder.writer.emit({ kind: 'set', name: variable, value });
  };
  for (const operand of node.args) keepComputed(operand, binder);
  loopElements(
    {
      shape: result.shape,
      tiles: node.args,
      skips: false,
      isScalar: true,
      body: (point, coordinates) => {
        updateElement(node, { binder, point, coordinates }, keep);
      },
    },
    binder,
  );
  if (kept !== undefined) binder.homes.set(result.id, { kind: 'scratch', name: kept });
  else if (variable !== undefined) readVariable(result, variable, binder);
  else binder.homes.set(result.id, { kind: 'scalar', value: zeroOf(result.dtype), index: undefined });
}

/** Operands of updates that are longer stay where they are: they would take too much of an instance's scratch. */
const keptBytes = 1 << 16;

/** Computes what arithmetic there is in an operand by whole vectors, before the updates go through its elements one by one. */
function keepComputed(id: TileId, binder: Binder): void {
  const home = binder.home(id);
  if (home.kind !== 'virtual' && home.kind !== 'pending') return;
  const { node } = home;
  if (node.op === 'apply') {
    const { shape, dtype } = binder.tile(id);
    const isSmall = tileSize(shape) * dtypeInfo[dtype].bytes <= keptBytes;
    if (shape.length > 0 && isSmall && !hasIndex(id, binder)) keepTile(id, binder);
  } else if (isElementOp(node)) for (const operand of node.args) keepComputed(operand, binder);
}

/** Whether a tile's elements follow from their places alone: computing them again is cheaper than reading them. */
function hasIndex(id: TileId, binder: Binder): boolean {
  const places = binder
    .tile(id)
    .shape.map((extent, axis) => axisIndex({ name: `e${String(axis)}`, extent: int(extent) }));
  return tileIndex(id, places, binder) !== undefined;
}

function updateElement(
  node: Update,
  { binder, point, coordinates }: ElementContext,
  keep: (value: Value, coordinates: readonly Index[]) => void,
): void {
  const { dtype } = at(node.results, 0);
  const maskId = node.op === 'atomic' ? node.args[2] : undefined;
  const [op, value, expected] = updateOf(node);
  const run = (): void => {
    const { access } = elementAccess(node, coordinates, { binder, point });
    checkAccess(node, { access, lanes: 1 }, binder);
    const evaluate = (slot: number): Value => evaluateTile(at(node.args, slot), coordinates, { binder, point });
    const name = binder.writer.fresh('old');
    binder.writer.emit({
      kind: 'fetch',
      name,
      op,
      access,
      value: evaluate(value),
      ...(expected === undefined ? {} : { expected: evaluate(expected) }),
    });
    keep({ kind: 'name', name, type: { dtype, lanes: 1 } }, coordinates);
  };
  if (maskId === undefined) {
    run();
    return;
  }
  const mask = evaluateTile(maskId, coordinates, { binder, point });
  whereTrue(mask, binder, {
    run,
    otherwise: () => {
      keep(zeroOf(dtype), coordinates);
    },
  });
}
