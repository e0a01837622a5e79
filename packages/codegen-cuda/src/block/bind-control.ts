// Loops and branches. Scalars that go round are variables; tiles that go round are arrays of each thread; a tile of integers that
// moves by a scalar is that scalar. All threads of a block take the same way.
import { at, isInteger } from '@tsinductor/base';
import { apply, scalarIndex, scalarIndexOf, turnsOf, valueIndex, zeroOf } from '@tsinductor/codegen';
import { add, allTileNodes, ceilDivide, int, multiply, negate, subtract } from '@tsinductor/ir';
import type { ForNode, IfNode, Index, Region, Tile, TileId, Value, WhileNode } from '@tsinductor/ir';
import type { BlockBinder, Touch } from './block-binder.ts';
import { touchesOf } from './bind-memory.ts';
import { elementAt, evaluateTile, evaluationAt, indexValue, tileIndex } from './evaluate-tile.ts';
import type { Layout } from './layout.ts';
import { fillRegisters, prepare, scalarValue } from './move-tiles.ts';
import { closePipeline, openPipeline, planPipeline, turnPipeline } from './pipeline.ts';
import type { BindRegion, Pipeline } from './pipeline.ts';

/** How one variable goes round. */
type Carried =
  | { readonly kind: 'scalar'; readonly tile: Tile; readonly variable: string }
  | { readonly kind: 'tile'; readonly tile: Tile; readonly name: string; readonly layout: Layout }
  /** A tile of integers that every iteration adds `amount` to. */
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

function begin(
  { initial, carried, body }: Pick<ForNode, 'initial' | 'carried' | 'body'>,
  binder: BlockBinder,
): readonly Carried[] {
  return carried.map((tile, slot): Carried => {
    const from = at(initial, slot);
    if (tile.shape.length === 0) {
      const value = scalarValue(from, binder);
      const variable = binder.writer.fresh(binder.label(tile.id, 'carried'));
      binder.writer.emit({ kind: 'var', name: variable, value });
      return { kind: 'scalar', tile, variable };
    }
    const by = movementOf(tile, at(body.yields, slot), { body, binder });
    if (by !== undefined) {
      const variable = binder.writer.fresh('moved');
      binder.writer.emit({ kind: 'var', name: variable, value: zeroOf('i64') });
      return { kind: 'moved', tile, base: from, variable, by };
    }
    const layout = binder.layoutFor(tile.shape);
    prepare([from], layout, binder);
    const name = binder.registers(tile.id, layout);
    fillRegisters({ name, layout, from }, binder);
    return { kind: 'tile', tile, name, layout };
  });
}

/** `next` = `tile` plus (or minus) one scalar for all elements: how a pointer moves. */
function movementOf(
  tile: Tile,
  next: TileId,
  { body, binder }: { body: Region; binder: BlockBinder },
): Movement | undefined {
  if (!isInteger(tile.dtype)) return undefined;
  const node = body.nodes.find((candidate) => candidate.results.some(({ id }) => id === next));
  if (node?.kind !== 'op' || node.op !== 'apply' || (node.attrs.op !== 'add' && node.attrs.op !== 'sub'))
    return undefined;
  const [left, right] = [at(node.args, 0), at(node.args, 1)];
  const other = left === tile.id ? right : node.attrs.op === 'add' && right === tile.id ? left : undefined;
  const amount = other === undefined ? undefined : uniformScalar(other, { body, binder });
  return amount === undefined ? undefined : { amount, isDown: node.attrs.op === 'sub' };
}

/** The tile of which one element stands for all: a scalar that is broadcast, or a constant. */
function uniformScalar(id: TileId, { body, binder }: { body: Region; binder: BlockBinder }): TileId | undefined {
  const inside = body.nodes.find((candidate) => candidate.results.some((tile) => tile.id === id));
  const home = binder.homes.get(id);
  const node = inside?.kind === 'op' ? inside : home?.kind === 'virtual' ? home.node : undefined;
  if (node?.op === 'constant') return id;
  if (node?.op !== 'broadcast') return undefined;
  const source = at(node.args, 0);
  return binder.tile(source).shape.length === 0 ? source : undefined;
}

function setScalar(tile: Tile, variable: string, binder: BlockBinder): void {
  const type = { dtype: tile.dtype, lanes: 1 };
  const name = binder.writer.fresh(variable);
  binder.writer.emit({ kind: 'let', name, value: { kind: 'name', name: variable, type } });
  const value: Value = { kind: 'name', name, type };
  binder.homes.set(tile.id, { kind: 'scalar', value, index: scalarIndexOf(value) });
}

/** Says where the carried tiles are at the beginning of an iteration, or after the loop. */
function bindCarried(carried: readonly Carried[], tiles: readonly Tile[], binder: BlockBinder): void {
  carried.forEach((item, slot) => {
    const tile = at(tiles, slot);
    if (item.kind === 'scalar') setScalar(tile, item.variable, binder);
    else if (item.kind === 'tile')
      binder.homes.set(tile.id, { kind: 'registers', name: item.name, layout: item.layout });
    else {
      const type = { dtype: 'i64', lanes: 1 } as const;
      const name = binder.writer.fresh(`${item.variable}_by`);
      binder.writer.emit({ kind: 'let', name, value: { kind: 'name', name: item.variable, type } });
      binder.homes.set(tile.id, { kind: 'shifted', base: item.base, shift: scalarIndex(name) });
    }
  });
}

/** Moves what a body yields to where it is carried: everything is read before anything is overwritten. */
function advance(carried: readonly Carried[], yields: readonly TileId[], binder: BlockBinder): void {
  const pending = carried.flatMap((item, slot) => {
    const next = at(yields, slot);
    if (item.kind !== 'tile') return [];
    const home = binder.home(next);
    return home.kind === 'registers' && home.name === item.name ? [] : [{ ...item, next }];
  });
  for (const { next, layout } of pending) prepare([next], layout, binder);
  const scalars = carried.flatMap((item, slot) => {
    if (item.kind === 'scalar')
      return [{ variable: item.variable, value: binder.name(scalarValue(at(yields, slot), binder), 'next') }];
    return item.kind === 'moved' ? [movedBy(item, binder)] : [];
  });
  const layouts = new Map(pending.map(({ layout }) => [layout.key, layout]));
  for (const layout of layouts.values()) {
    const together = pending.filter((item) => item.layout.key === layout.key);
    binder.overRegisters(layout, (register) => {
      const values = together.map((item) =>
        binder.name(
          evaluateTile(
            item.next,
            item.layout.coordinates(register),
            evaluationAt(binder, { layout: item.layout, register }),
          ),
          'next',
        ),
      );
      together.forEach((item, slot) => {
        binder.writer.emit({
          kind: 'store',
          access: elementAt(item.name, register, item.tile.dtype),
          value: at(values, slot),
        });
      });
    });
  }
  for (const { variable, value } of scalars) binder.writer.emit({ kind: 'set', name: variable, value });
}

function movedBy(item: Carried & { readonly kind: 'moved' }, binder: BlockBinder): { variable: string; value: Value } {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const { amount, isDown } = item.by;
  const origin = binder.tile(amount).shape.map(() => int(0));
  const index = tileIndex(amount, origin, binder);
  const distance: Value =
    index === undefined
      ? binder.name({ kind: 'cast', value: scalarValue(amount, binder), type }, 'distance')
      : indexValue(isDown ? negate(index) : index, 'i64');
  const op = index === undefined && isDown ? 'sub' : 'add';
  return {
    variable: item.variable,
    value: binder.name(apply(op, [{ kind: 'name', name: item.variable, type }, distance], 'i64'), 'next'),
  };
}

/** A scalar integer as an index. */
export function indexOf(id: TileId, binder: BlockBinder): Index {
  return tileIndex(id, [], binder) ?? valueIndex(binder.name(scalarValue(id, binder), 'bound'));
}

export function bindFor(node: ForNode, binder: BlockBinder, bindRegion: BindRegion): void {
  const carried = begin(node, binder);
  const [from, to, step] = [node.from, node.to, node.step].map((id) => indexOf(id, binder)) as [Index, Index, Index];
  const variable = binder.writer.fresh(binder.label(node.induction.id, 'k'));
  const touches = touchesOf(allTileNodes(node.body));
  const loop: Loop = { node, carried, bindRegion, variable, touches };
  if (step.kind === 'int' && step.value > 0) countUp(loop, { from, to, step: step.value }, binder);
  else {
    const bounds = [from, to, step].map((index) => binder.name(indexValue(index, 'i64'), 'bound'));
    const [first, last, distance] = [at(bounds, 0), at(bounds, 1), at(bounds, 2)];
    const turns = turnsOf({ from: first, to: last, step: distance }, binder);
    const counter = binder.writer.fresh('turn');
    const body = binder.loop([counter], touches, () => {
      const moved = apply('mul', [indexValue(scalarIndex(counter), 'i64'), distance], 'i64');
      iterate(loop, valueIndex(binder.name(apply('add', [first, moved], 'i64'), variable)), binder);
    });
    binder.writer.emit({ kind: 'for', name: counter, from: int(0), to: turns, step: 1, body });
  }
  bindCarried(carried, node.results, binder);
}

interface Loop {
  readonly node: ForNode;
  readonly carried: readonly Carried[];
  readonly bindRegion: BindRegion;
  readonly variable: string;
  readonly touches: readonly Touch[];
}

/** The statements of one iteration. */
function iterate({ node, carried, bindRegion }: Loop, index: Index, binder: BlockBinder): void {
  const value = indexValue(index, node.induction.dtype);
  binder.homes.set(node.induction.id, { kind: 'scalar', value, index });
  bindCarried(carried, node.carried, binder);
  bindRegion(node.body, binder);
  advance(carried, node.body.yields, binder);
}

interface Counting {
  readonly from: Index;
  readonly to: Index;
  readonly step: number;
}

function countUp(loop: Loop, { from, to, step }: Counting, binder: BlockBinder): void {
  const { node, carried, variable, touches } = loop;
  const moved = carried.flatMap((item) =>
    item.kind === 'moved' ? [{ tile: item.tile, base: item.base, ...item.by }] : [],
  );
  const turns = valueIndex(binder.name(indexValue(ceilDivide(subtract(to, from), int(step)), 'i64'), 'turns'));
  const inductionAt = (turn: Index): Index => add(from, multiply(turn, int(step)));
  const pipeline = planPipeline(node, binder, { bindRegion: loop.bindRegion, moved, inductionAt, turns });
  if (pipeline !== undefined) {
    runPipeline(loop, pipeline, binder);
    return;
  }
  const body = binder.loop([variable], touches, () => {
    iterate(loop, scalarIndex(variable), binder);
  });
  binder.writer.emit({ kind: 'for', name: variable, from, to, step, body });
}

function runPipeline(loop: Loop, pipeline: Pipeline, binder: BlockBinder): void {
  const { touches } = loop;
  openPipeline(pipeline, binder);
  const name = binder.writer.fresh('turn');
  const turn = scalarIndex(name);
  const body = binder.loop([name], touches, () => {
    turnPipeline(pipeline, turn, binder);
    iterate(loop, pipeline.inductionAt(turn), binder);
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: pipeline.turns, step: 1, body });
  closePipeline(binder);
}

export function bindWhile(node: WhileNode, binder: BlockBinder, bindRegion: BindRegion): void {
  const carried = begin(node, binder);
  const type = { dtype: 'i64', lanes: 1 } as const;
  const test = (): Value => {
    bindCarried(carried, node.carried, binder);
    bindRegion(node.test, binder);
    return { kind: 'cast', value: scalarValue(at(node.test.yields, 0), binder), type };
  };
  const go = binder.writer.fresh('go');
  binder.writer.emit({ kind: 'var', name: go, value: test() });
  const touches = touchesOf([...allTileNodes(node.test), ...allTileNodes(node.body)]);
  const body = binder.loop([], touches, () => {
    bindCarried(carried, node.carried, binder);
    bindRegion(node.body, binder);
    advance(carried, node.body.yields, binder);
    binder.writer.emit({ kind: 'set', name: go, value: binder.name(test(), 'again') });
  });
  binder.writer.emit({ kind: 'while', test: { kind: 'notEqual', left: scalarIndex(go), right: int(0) }, body });
  bindCarried(carried, node.results, binder);
}

export function bindIf(node: IfNode, binder: BlockBinder, bindRegion: BindRegion): void {
  const type = { dtype: 'i64', lanes: 1 } as const;
  const flag = valueIndex(binder.name({ kind: 'cast', value: scalarValue(node.test, binder), type }, 'flag'));
  const targets = node.results.map((tile) => {
    const layout = binder.layoutFor(tile.shape);
    if (tile.shape.length > 0) return { tile, layout, name: binder.registers(tile.id, layout) };
    const name = binder.writer.fresh(binder.label(tile.id, 'chosen'));
    binder.writer.emit({ kind: 'var', name, value: zeroOf(tile.dtype) });
    return { tile, layout, name };
  });
  const side = (region: Region) => (): void => {
    bindRegion(region, binder);
    targets.forEach(({ tile, layout, name }, slot) => {
      const from = at(region.yields, slot);
      if (tile.shape.length > 0) {
        prepare([from], layout, binder);
        fillRegisters({ name, layout, from }, binder);
      } else binder.writer.emit({ kind: 'set', name, value: scalarValue(from, binder) });
    });
  };
  const then = binder.branch(side(node.then));
  const isEmpty = node.otherwise.nodes.length === 0 && node.results.length === 0;
  const otherwise = isEmpty ? undefined : binder.branch(side(node.otherwise));
  binder.writer.emit({
    kind: 'if', test: { kind: 'notEqual', left: flag, right: int(0) }, then, ...(otherwise === undefined ? {} : { otherwise }),
  }); // prettier-ignore
  targets.forEach(({ tile, layout, name }) => {
    if (tile.shape.length > 0) binder.homes.set(tile.id, { kind: 'registers', name, layout });
    else setScalar(tile, name, binder);
  });
}
