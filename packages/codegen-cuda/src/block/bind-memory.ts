// Loads, stores and atomic updates. A load puts its tile into registers, in the layout in which neighbouring threads touch
// neighbouring elements; accesses are as wide as facts about offsets, masks and addresses allow. An element is stored or
// updated by one thread.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { apply, paramName, scalarIndexOf, updateOf, whereTrue, zeroOf } from '@tsinductor/codegen';
import type { Update } from '@tsinductor/codegen';
import { add, allTileNodes, int, multiply, tileSize } from '@tsinductor/ir';
import type { Access, Index, TileId, TileNode, TileOp, Value } from '@tsinductor/ir';
import { wideBytes } from '../target.ts';
import type { BlockBinder, Touch } from './block-binder.ts';
import { elementAt, evaluateNode, evaluateTile, evaluationAt, globalAccess } from './evaluate-tile.ts';
import type { MemoryOp } from './evaluate-tile.ts';
import type { Layout } from './layout.ts';
import { ownerMask, prepare, storeShared, tellAll } from './move-tiles.ts';

type Load = TileOp & { readonly op: 'load' };
type Store = TileOp & { readonly op: 'store' };

/** The axis along which neighbours lie in memory; the last one if none is known. */
export function fastestAxis(node: MemoryOp, binder: BlockBinder): number {
  const offsets = at(node.args, 0);
  const facts = binder.facts.get(offsets) ?? [];
  const runs = binder.tile(offsets).shape.map((_, axis) => facts[axis]?.run ?? 1);
  const longest = Math.max(1, ...runs);
  return longest === 1 ? runs.length - 1 : runs.lastIndexOf(longest);
}

const maskOf = (node: Load | Store): TileId | undefined => node.args[node.op === 'load' ? 1 : 2];

/** How many elements one access may move, at multiples of as many along the fastest axis. */
export function accessWidth(node: Load | Store, binder: BlockBinder): number {
  const offsets = at(node.args, 0);
  if (binder.tile(offsets).shape.length === 0) return 1;
  const axis = fastestAxis(node, binder);
  const { dtype, divisor } = at(binder.program.params, node.attrs.param);
  const facts = binder.facts.get(offsets)?.[axis];
  const mask = maskOf(node);
  const equal = mask === undefined ? Infinity : (binder.facts.get(mask)?.[axis]?.equal ?? 1);
  const { bytes } = dtypeInfo[dtype];
  return Math.max(1, Math.min(wideBytes / bytes, facts?.run ?? 1, facts?.multiple ?? 1, divisor / bytes, equal));
}

/** Decides for tiles of each size how many neighbours a thread holds: what the narrowest of the wide accesses can use. */
export function chooseWidths(binder: BlockBinder): void {
  for (const node of allTileNodes(binder.program.body)) {
    if (node.kind !== 'op' || (node.op !== 'load' && node.op !== 'store')) continue;
    const width = accessWidth(node, binder);
    const size = tileSize(binder.tile(at(node.args, 0)).shape);
    if (width > 1) binder.widths.set(size, Math.min(width, binder.widths.get(size) ?? width));
  }
}

/** The layout in which a memory operation touches neighbours together, and whether its accesses are wide in it. */
function accessLayout(node: Load | Store, binder: BlockBinder): { readonly layout: Layout; readonly isWide: boolean } {
  const { shape } = binder.tile(at(node.args, 0));
  const axis = fastestAxis(node, binder);
  const layout = binder.blocked(shape, [...[...shape.keys()].filter((other) => other !== axis), axis]);
  const isWide = layout.vector > 1 && accessWidth(node, binder) >= layout.vector;
  const isUsual = axis === shape.length - 1 && !isWide;
  return { layout: isUsual && node.op === 'store' ? binder.layoutFor(shape) : layout, isWide };
}

const patternOf = (node: MemoryOp, layout: Layout, binder: BlockBinder): string | undefined =>
  layout.owners < binder.threads
    ? undefined
    : `${layout.key} ${String(fastestAxis(node, binder))} ${String(at(node.args, 0))}`;

export function bindLoad(node: Load, binder: BlockBinder): void {
  const { id, shape, dtype } = at(node.results, 0);
  const { param } = node.attrs;
  if (shape.length === 0) {
    prepare(node.args, undefined, binder);
    binder.touch({ param, writes: false, pattern: undefined });
    const value = evaluateNode(node, [], evaluationAt(binder));
    binder.homes.set(id, { kind: 'scalar', value, index: scalarIndexOf(value) });
    return;
  }
  const { layout, isWide } = accessLayout(node, binder);
  prepare(node.args, layout, binder);
  binder.touch({ param, writes: false, pattern: patternOf(node, layout, binder) });
  const name = binder.registers(id, layout, `${paramName(binder.program, param)}_tile`);
  if (isWide) loadWide(node, { name, layout, dtype }, binder);
  else
    binder.overRegisters(layout, (register) => {
      const value = evaluateNode(node, layout.coordinates(register), evaluationAt(binder, { layout, register }));
      binder.writer.emit({ kind: 'store', access: elementAt(name, register, dtype), value });
    });
  binder.homes.set(id, { kind: 'registers', name, layout });
}

interface Held {
  readonly name: string;
  readonly layout: Layout;
  readonly dtype: DType;
}

const wideAccess = (access: Access, { vector }: Layout, dtype: DType): Access => ({
  ...access,
  align: vector * dtypeInfo[dtype].bytes,
});

/** A loop over the chunks of a layout; `body` gets a chunk's first register. */
function overChunks({ registers, vector }: Layout, binder: BlockBinder, body: (register: Index) => void): void {
  const chunks = registers / vector;
  if (chunks === 1) {
    body(int(0));
    return;
  }
  const name = binder.writer.fresh('chunk');
  const first = multiply({ kind: 'axis', axis: { name, extent: int(chunks) } }, int(vector));
  const statements = binder.writer.block([name], () => {
    body(first);
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: int(chunks), step: 1, unroll: chunks, body: statements });
}

/** A loop over the elements of a chunk. */
function overChunk({ vector }: Layout, binder: BlockBinder, body: (element: Index) => void): void {
  const name = binder.writer.fresh('element');
  const element: Index = { kind: 'axis', axis: { name, extent: int(vector) } };
  const statements = binder.writer.block([name], () => {
    body(element);
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: int(vector), step: 1, unroll: vector, body: statements });
}

function loadWide(node: Load, { name, layout, dtype }: Held, binder: BlockBinder): void {
  const [, mask, other] = node.args;
  const type = { dtype, lanes: layout.vector };
  overChunks(layout, binder, (register) => {
    const move = (): void => {
      const evaluation = evaluationAt(binder, { layout, register });
      const from = wideAccess(globalAccess(node, layout.coordinates(register), evaluation), layout, dtype);
      const to = wideAccess(elementAt(name, register, dtype), layout, dtype);
      binder.writer.emit({ kind: 'store', access: to, value: { kind: 'load', access: from, type } });
    };
    if (mask === undefined) {
      move();
      return;
    }
    const test = evaluateTile(mask, layout.coordinates(register), evaluationAt(binder, { layout, register }));
    whereTrue(test, binder, {
      run: move,
      otherwise: () => {
        overChunk(layout, binder, (element) => {
          const own = add(register, element);
          const evaluation = evaluationAt(binder, { layout, register: own });
          const value = other === undefined ? zeroOf(dtype) : evaluateTile(other, layout.coordinates(own), evaluation);
          binder.writer.emit({ kind: 'store', access: elementAt(name, own, dtype), value });
        });
      },
    });
  });
}

export function bindStore(node: Store, binder: BlockBinder): void {
  const { shape, dtype } = binder.tile(at(node.args, 1));
  const { param } = node.attrs;
  if (shape.length === 0) {
    prepare(node.args, undefined, binder);
    binder.touch({ param, writes: true, pattern: undefined });
    storeElement(node, { owners: 1, layout: undefined, register: int(0) }, binder);
    return;
  }
  const { layout, isWide } = accessLayout(node, binder);
  prepare(node.args, layout, binder);
  binder.touch({ param, writes: true, pattern: patternOf(node, layout, binder) });
  if (isWide) storeWide(node, { layout, dtype }, binder);
  else
    binder.overRegisters(layout, (register) => {
      storeElement(node, { owners: layout.owners, layout, register }, binder);
    });
}

interface Storing {
  readonly owners: number;
  readonly layout: Layout | undefined;
  readonly register: Index;
}

function storeElement(node: Store, { owners, layout, register }: Storing, binder: BlockBinder): void {
  const coordinates = layout?.coordinates(register) ?? [];
  const evaluation = evaluationAt(binder, layout === undefined ? undefined : { layout, register });
  const [, valueId, maskId] = node.args;
  const value = evaluateTile(valueId ?? at(node.args, 1), coordinates, evaluation);
  const given = maskId === undefined ? undefined : evaluateTile(maskId, coordinates, evaluation);
  const mask = both(given, ownerMask({ owners }, binder), binder);
  const access = globalAccess(node, coordinates, evaluation);
  binder.writer.emit({ kind: 'store', access, value, ...(mask === undefined ? {} : { mask }) });
}

/** Where both hold; undefined is true. */
function both(left: Value | undefined, right: Value | undefined, binder: BlockBinder): Value | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return binder.name(apply('logicalAnd', [left, right], 'bool'), 'both');
}

function storeWide(node: Store, { layout, dtype }: Omit<Held, 'name'>, binder: BlockBinder): void {
  const [, valueId, maskId] = node.args;
  const type = { dtype, lanes: layout.vector };
  overChunks(layout, binder, (register) => {
    const coordinates = layout.coordinates(register);
    const move = (): void => {
      const name = binder.writer.fresh('chunk_own');
      binder.writer.emit({ kind: 'scratch', name, dtype, size: layout.vector });
      overChunk(layout, binder, (element) => {
        const own = add(register, element);
        const evaluation = evaluationAt(binder, { layout, register: own });
        const value = evaluateTile(valueId ?? at(node.args, 1), layout.coordinates(own), evaluation);
        binder.writer.emit({ kind: 'store', access: elementAt(name, element, dtype), value });
      });
      const to = wideAccess(globalAccess(node, coordinates, evaluationAt(binder, { layout, register })), layout, dtype);
      const from = wideAccess(elementAt(name, int(0), dtype), layout, dtype);
      binder.writer.emit({ kind: 'store', access: to, value: { kind: 'load', access: from, type } });
    };
    const given =
      maskId === undefined ? undefined : evaluateTile(maskId, coordinates, evaluationAt(binder, { layout, register }));
    const mask = both(given, ownerMask(layout, binder), binder);
    if (mask === undefined) move();
    else whereTrue(mask, binder, { run: move });
  });
}

export function bindAtomic(node: Update, binder: BlockBinder): void {
  const result = at(node.results, 0);
  const isUsed = (binder.uses.get(result.id) ?? 0) > 0;
  const isScalar = result.shape.length === 0;
  if (dtypeInfo[result.dtype].bytes === 1) binder.refuse('it updates elements of one byte atomically', node.origin);
  const layout = binder.layoutFor(result.shape);
  prepare(node.args, isScalar ? undefined : layout, binder);
  binder.touch({ param: node.attrs.param, writes: true, pattern: undefined });
  if (isScalar) {
    const old = updateElement(node, { owners: 1, layout: undefined, register: int(0) }, { binder, isUsed });
    const value =
      old === undefined
        ? zeroOf(result.dtype)
        : tellAll({ value: old, base: binder.label(result.id, 'before') }, binder);
    binder.homes.set(result.id, { kind: 'scalar', value, index: scalarIndexOf(value) });
    return;
  }
  const shared =
    isUsed && layout.owners < binder.threads
      ? binder.sharedTile(`${binder.label(result.id, 'before')}_shared`, result)
      : undefined;
  const name = isUsed && shared === undefined ? binder.registers(result.id, layout) : undefined;
  binder.overRegisters(layout, (register) => {
    const old = updateElement(node, { owners: layout.owners, layout, register }, { binder, isUsed });
    if (old === undefined) return;
    if (name !== undefined)
      binder.writer.emit({ kind: 'store', access: elementAt(name, register, result.dtype), value: old });
    if (shared !== undefined)
      storeShared(
        shared,
        { coordinates: layout.coordinates(register), value: old, owner: ownerMask(layout, binder) },
        binder,
      );
  });
  if (shared !== undefined) {
    binder.barrier();
    binder.homes.set(result.id, { kind: 'shared', tile: shared });
  } else if (name !== undefined) binder.homes.set(result.id, { kind: 'registers', name, layout });
}

/** One update; what was there before, if somebody asks. */
function updateElement(
  node: Update,
  { owners, layout, register }: Storing,
  { binder, isUsed }: { readonly binder: BlockBinder; readonly isUsed: boolean },
): Value | undefined {
  const { dtype } = at(node.results, 0);
  const coordinates = layout?.coordinates(register) ?? [];
  const evaluation = evaluationAt(binder, layout === undefined ? undefined : { layout, register });
  const maskId = node.op === 'atomic' ? node.args[2] : undefined;
  const [op, valueSlot, expectedSlot] = updateOf(node);
  const value = evaluateTile(at(node.args, valueSlot), coordinates, evaluation);
  const expected =
    expectedSlot === undefined ? undefined : evaluateTile(at(node.args, expectedSlot), coordinates, evaluation);
  const given = maskId === undefined ? undefined : evaluateTile(maskId, coordinates, evaluation);
  const access = globalAccess(node, coordinates, evaluation);
  const variable = binder.writer.fresh('before');
  if (isUsed) binder.writer.emit({ kind: 'var', name: variable, value: zeroOf(dtype) });
  const update = (): void => {
    const name = binder.writer.fresh('old');
    binder.writer.emit({ kind: 'fetch', name, op, access, value, ...(expected === undefined ? {} : { expected }) });
    const old: Value = { kind: 'name', name, type: { dtype, lanes: 1 } };
    if (isUsed) binder.writer.emit({ kind: 'set', name: variable, value: old });
  };
  const mask = both(given, ownerMask({ owners }, binder), binder);
  if (mask === undefined) update();
  else whereTrue(mask, binder, { run: update });
  return isUsed ? { kind: 'name', name: variable, type: { dtype, lanes: 1 } } : undefined;
}

/** What the memory operations among `nodes` touch. */
export const touchesOf = (nodes: Iterable<TileNode>): readonly Touch[] =>
  [...nodes].flatMap((node): Touch[] => {
    if (node.kind !== 'op') return [];
    if (node.op === 'load') return [{ param: node.attrs.param, writes: false, pattern: undefined }];
    const writes = node.op === 'store' || node.op === 'atomic' || node.op === 'atomicCas';
    return writes ? [{ param: node.attrs.param, writes, pattern: undefined }] : [];
  });
