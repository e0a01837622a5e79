// Loops and branches. Scalars that go round are variables; blocks that go round are scratch, written in place where their
// next value reads only the same element; a block of integers that moves by a scalar is a scalar.
import { at, isInteger } from '@tsinductor/base';
import { apply, turnsOf, valueIndex, whereTrue, zeroOf } from '@tsinductor/codegen';
import { int, negate } from '@tsinductor/ir';
import type { ForNode, IfNode, Index, Region, Tile, TileId, Value, WhileNode } from '@tsinductor/ir';
import { setScalarFrom } from './bind-memory.ts';
import type { Binder } from './binder.ts';
import { evaluateTile, indexValue, sameIndexes } from './evaluate-tile.ts';
import type { Point } from './evaluate-tile.ts';
import { bytesOf, copyTile, fillScratch, keepTile } from './keep-tiles.ts';
import { reachOf } from './reach.ts';
import { tileIndex } from './tile-index.ts';

type BindRegion = (region: Region, binder: Binder) => void;

const scalarPoint: Point = {
  lanes: 1,
  lane: undefined,
  mode: { kind: 'open' },
  memo: new Map(),
  keep: () => undefined,
};
export const scalarValue = (id: TileId, binder: Binder): Value =>
  evaluateTile(id, [], { binder, point: { ...scalarPoint, memo: new Map() } });

/** How one variable goes round. */
type Carried =
  | { readonly kind: 'scalar'; readonly tile: Tile; readonly variable: string }
  | { readonly kind: 'block'; readonly tile: Tile; readonly scratch: string }
  /** A block of integers that every iteration adds `by` to. */
  | {
      readonly kind: 'moved';
      readonly tile: Tile;
      readonly base: TileId;
      readonly variable: string;
      readonly by: Movement;
    };

interface Movement {
  readonly amount: TileId;
  readonly isDown: boolean;
}

interface LoopParts {
  readonly initial: readonly TileId[];
  readonly carried: readonly Tile[];
  readonly body: Region;
}

function begin({ initial, carried, body }: LoopParts, binder: Binder): readonly Carried[] {
  return carried.map((tile, slot): Carried => {
    const from = at(initial, slot);
    if (tile.shape.length === 0) {
      const variable = binder.writer.fresh(tile.name ?? 'carried');
      binder.writer.emit({ kind: 'var', name: variable, value: scalarValue(from, binder) });
      return { kind: 'scalar', tile, variable };
    }
    const by = movementOf(tile, at(body.yields, slot), { body, binder });
    if (by !== undefined && isIndexed(from, binder)) {
      const variable = binder.writer.fresh('moved');
      binder.writer.emit({ kind: 'var', name: variable, value: zeroOf('i64') });
      return { kind: 'moved', tile, base: from, variable, by };
    }
    return { kind: 'block', tile, scratch: copyTile(from, tile.shape, binder) };
  });
}

/** Whether the elements of a tile are index expressions of their coordinates. */
function isIndexed(id: TileId, binder: Binder): boolean {
  const { shape } = binder.tile(id);
  const coordinates = shape.map((extent, axis): Index => ({
    kind: 'axis',
    axis: { name: `probe${String(axis)}`, extent: int(extent + 1) },
  }));
  return tileIndex(id, coordinates, binder) !== undefined;
}

/** `next` = `tile` plus (or minus) a broadcast scalar: how a pointer moves. */
function movementOf(
  tile: Tile,
  next: TileId,
  { body, binder }: { body: Region; binder: Binder },
): Movement | undefined {
  if (!isInteger(tile.dtype)) return undefined;
  const node = body.nodes.find((candidate) => candidate.results.some(({ id }) => id === next));
  if (node?.kind !== 'op' || node.op !== 'apply' || (node.attrs.op !== 'add' && node.attrs.op !== 'sub'))
    return undefined;
  const [left, right] = [at(node.args, 0), at(node.args, 1)];
  const other = left === tile.id ? right : node.attrs.op === 'add' && right === tile.id ? left : undefined;
  if (other === undefined) return undefined;
  const amount = uniformScalar(other, { body, binder });
  return amount === undefined ? undefined : { amount, isDown: node.attrs.op === 'sub' };
}

/** The tile of which one element stands for all: a scalar that is broadcast, or a constant. */
function uniformScalar(id: TileId, { body, binder }: { body: Region; binder: Binder }): TileId | undefined {
  const inside = body.nodes.find((candidate) => candidate.results.some((tile) => tile.id === id));
  const home = binder.homes.get(id);
  const node =
    inside?.kind === 'op' ? inside : home?.kind === 'virtual' || home?.kind === 'pending' ? home.node : undefined;
  if (node?.op === 'constant') return id;
  if (node?.op !== 'broadcast') return undefined;
  const source = at(node.args, 0);
  return binder.tile(source).shape.length === 0 ? source : undefined;
}

/** Binds the carried tiles at the beginning of an iteration (or after the loop) to what they are then. */
function bindCarried(carried: readonly Carried[], tiles: readonly Tile[], binder: Binder): void {
  carried.forEach((item, slot) => {
    const { id } = at(tiles, slot);
    if (item.kind === 'scalar') setScalarFrom(id, item.variable, binder);
    else if (item.kind === 'block') binder.homes.set(id, { kind: 'scratch', name: item.scratch });
    else {
      const type = { dtype: 'i64', lanes: 1 } as const;
      const name = binder.writer.fresh(`${item.variable}_by`);
      binder.writer.emit({ kind: 'let', name, value: { kind: 'name', name: item.variable, type } });
      binder.homes.set(id, {
        kind: 'shifted',
        base: item.base,
        shift: { kind: 'axis', axis: { name, extent: int(2 ** 40) } },
      });
    }
  });
}

/** Moves what a body yields into the carried places: everything is read before anything is overwritten. */
function advance(carried: readonly Carried[], yields: readonly TileId[], binder: Binder): void {
  const scalars = carried.flatMap((item, slot) => {
    if (item.kind === 'scalar')
      return [{ variable: item.variable, value: binder.name(scalarValue(at(yields, slot), binder), 'next') }];
    return item.kind === 'moved' ? [movedBy(item, binder)] : [];
  });
  const blocks = carried.flatMap((item, slot) => (item.kind === 'block' ? [{ item, next: at(yields, slot) }] : []));
  const pending = blocks.filter(({ item, next }) => !isInPlace(next, item.scratch, binder));
  const names = new Set(blocks.map(({ item }) => item.scratch));
  const isSimple = pending.every(({ item, next }) => readsOnlyOwn(next, { own: item.scratch, names, binder }));
  if (isSimple)
    for (const { item, next } of pending)
      fillScratch({ name: item.scratch, id: item.tile.id, from: next, shape: item.tile.shape }, binder);
  else {
    for (const { next } of pending) copyToOwn(next, names, binder);
    for (const { item, next } of pending)
      fillScratch({ name: item.scratch, id: item.tile.id, from: next, shape: item.tile.shape }, binder);
  }
  for (const { variable, value } of scalars) binder.writer.emit({ kind: 'set', name: variable, value });
}

/** Computes a tile into scratch that no carried block has. */
function copyToOwn(id: TileId, names: ReadonlySet<string>, binder: Binder): void {
  const home = binder.home(id);
  const name =
    home.kind === 'scratch' && names.has(home.name)
      ? copyTile(id, binder.tile(id).shape, binder)
      : keepTile(id, binder);
  binder.homes.set(id, { kind: 'scratch', name });
}

function movedBy(item: Carried & { readonly kind: 'moved' }, binder: Binder): { variable: string; value: Value } {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const { amount, isDown } = item.by;
  const shape = binder.tile(amount).shape;
  const index = tileIndex(
    amount,
    shape.map(() => int(0)),
    binder,
  );
  const distance: Value =
    index === undefined
      ? binder.name({ kind: 'cast', value: scalarValue(amount, binder), type }, 'distance')
      : indexValue(isDown ? negate(index) : index, 'i64', scalarPoint);
  const op = index === undefined && isDown ? 'sub' : 'add';
  const value = apply(op, [{ kind: 'name', name: item.variable, type }, distance], 'i64');
  return { variable: item.variable, value: binder.name(value, 'next') };
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
  const { shape } = binder.tile(id);
  const coordinates = shape.map((extent, axis): Index => ({
    kind: 'axis',
    axis: { name: `own${String(axis)}`, extent: int(extent + 1) },
  }));
  const reach = reachOf([{ tile: id, coordinates }], binder, undefined);
  return reach.scratch.every(
    (visit) => !names.has(visit.name) || (visit.name === own && sameIndexes(visit.coordinates, coordinates)),
  );
}

export function bindFor(node: ForNode, binder: Binder, bindRegion: BindRegion): void {
  const carried = begin(node, binder);
  const [from, to, step] = [node.from, node.to, node.step].map((id) => indexOf(id, binder)) as [Index, Index, Index];
  const variable = binder.writer.fresh(node.induction.name ?? 'k');
  const induction: Index = { kind: 'axis', axis: { name: variable, extent: int(2 ** 40) } };
  const run = (index: Index): void => {
    binder.homes.set(node.induction.id, { kind: 'scalar', value: inductionValue(node.induction, index), index });
    bindCarried(carried, node.carried, binder);
    bindRegion(node.body, binder);
    advance(carried, node.body.yields, binder);
  };
  if (step.kind === 'int' && step.value > 0) {
    const body = binder.writer.block([variable], () => {
      run(induction);
    });
    binder.writer.emit({ kind: 'for', name: variable, from, to, step: step.value, body });
  } else countDown({ from, to, step, variable, run }, binder);
  bindCarried(carried, node.results, binder);
}

const inductionValue = ({ dtype }: Tile, index: Index): Value => indexValue(index, dtype, scalarPoint);

interface Counting {
  readonly from: Index;
  readonly to: Index;
  readonly step: Index;
  readonly variable: string;
  readonly run: (index: Index) => void;
}

/** A step that is negative, or not known: iterations are counted, and the induction follows from the count. */
function countDown({ from, to, step, variable, run }: Counting, binder: Binder): void {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const value = (index: Index, base: string): Value => binder.name({ kind: 'index', value: index, type }, base);
  const [first, last, distance] = [value(from, 'first'), value(to, 'last'), value(step, 'distance')];
  const count = turnsOf({ from: first, to: last, step: distance }, binder);
  const counter = binder.writer.fresh('turn');
  const body = binder.writer.block([counter], () => {
    const turn: Value = { kind: 'index', value: { kind: 'axis', axis: { name: counter, extent: int(2 ** 40) } }, type };
    const moved = apply('add', [first, apply('mul', [turn, distance], 'i64')], 'i64');
    const name = binder.writer.fresh(variable);
    binder.writer.emit({ kind: 'let', name, value: moved });
    run({ kind: 'axis', axis: { name, extent: int(2 ** 40) } });
  });
  binder.writer.emit({ kind: 'for', name: counter, from: int(0), to: count, step: 1, body });
}

/** A scalar integer as an index. */
export function indexOf(id: TileId, binder: Binder): Index {
  const index = tileIndex(id, [], binder);
  return index ?? valueIndex(binder.name(scalarValue(id, binder), 'bound'));
}

export function bindWhile(node: WhileNode, binder: Binder, bindRegion: BindRegion): void {
  const carried = begin(node, binder);
  const type = { dtype: 'i64', lanes: 1 } as const;
  const test = (): Value => {
    bindCarried(carried, node.carried, binder);
    bindRegion(node.test, binder);
    return { kind: 'cast', value: scalarValue(at(node.test.yields, 0), binder), type };
  };
  const go = binder.writer.fresh('go');
  binder.writer.emit({ kind: 'var', name: go, value: test() });
  const body = binder.writer.block([], () => {
    bindCarried(carried, node.carried, binder);
    bindRegion(node.body, binder);
    advance(carried, node.body.yields, binder);
    binder.writer.emit({ kind: 'set', name: go, value: binder.name(test(), 'again') });
  });
  const left: Index = { kind: 'axis', axis: { name: go, extent: int(2 ** 40) } };
  binder.writer.emit({ kind: 'while', test: { kind: 'notEqual', left, right: int(0) }, body });
  bindCarried(carried, node.results, binder);
}

export function bindIf(node: IfNode, binder: Binder, bindRegion: BindRegion): void {
  const targets = node.results.map((tile) => {
    if (tile.shape.length > 0) return binder.scratch(tile.id, bytesOf);
    const name = binder.writer.fresh(tile.name ?? 'chosen');
    binder.writer.emit({ kind: 'var', name, value: zeroOf(tile.dtype) });
    return name;
  });
  const side = (region: Region) => (): void => {
    bindRegion(region, binder);
    node.results.forEach((tile, slot) => {
      const next = at(region.yields, slot);
      const name = at(targets, slot);
      if (tile.shape.length > 0) fillScratch({ name, id: tile.id, from: next, shape: tile.shape }, binder);
      else binder.writer.emit({ kind: 'set', name, value: scalarValue(next, binder) });
    });
  };
  const isEmpty = node.otherwise.nodes.length === 0 && node.results.length === 0;
  whereTrue(scalarValue(node.test, binder), binder, {
    run: side(node.then),
    otherwise: isEmpty ? undefined : side(node.otherwise),
  });
  node.results.forEach((tile, slot) => {
    if (tile.shape.length > 0) binder.homes.set(tile.id, { kind: 'scratch', name: at(targets, slot) });
    else setScalarFrom(tile.id, at(targets, slot), binder);
  });
}
