// Block IR × CPU → Kernel: the grid in parallel, one program instance after the other within a thread; tiles become vector
// loops. In: a verified program. Out: a kernel whose buffers are the program's and whose sizes are the grid and the scalar
// arguments. Throws UserError KERNEL_NOT_COMPILED for what C++ has no form for.
import { at } from '@tsinductor/base';
import { allTileNodes, ceilDivide, floorDivide, int, modulo, multiply, removeDeadLets, tilesOf } from '@tsinductor/ir';
import type { BlockProgram, Kernel, Region, TileId, TileNode, TileOp, TileOpName } from '@tsinductor/ir';
import {
  blockBuffers,
  blockSizes,
  gridSize,
  kernelName,
  scalarIndex,
  scalarIndexOf,
  usedBuffers,
} from '@tsinductor/codegen';
import { blockNotBound } from '../errors.ts';
import { Binder } from './binder.ts';
import type { BindTarget } from './binder.ts';
import { bindDot } from './bind-dot.ts';
import { bindFold } from './bind-fold.ts';
import { bindFor, bindIf, bindWhile, scalarValue } from './bind-control.ts';
import { bindAtomic, bindStore } from './bind-memory.ts';
import { keepTile } from './keep-tiles.ts';
import { isPureOp, planTiles } from './plan-tiles.ts';
import { tileIndex } from './tile-index.ts';

/** Operations that talk to the outside of the program. */
const hostOnly: Partial<Record<TileOpName, string>> = {
  print: 'it prints',
  assert: 'it asserts at run time',
};

/** Into how many pieces a grid is cut at most: enough for threads that are held up, few enough to hand out cheaply. */
const chunks = 64;

export function bindBlock(program: BlockProgram, target: BindTarget): Kernel {
  for (const node of allTileNodes(program.body)) {
    const what = node.kind === 'op' ? hostOnly[node.op] : undefined;
    if (what !== undefined) throw blockNotBound(what, node.origin);
  }
  const binder = new Binder(program, { tiles: tilesOf(program.body), plan: planTiles(program.body), target });
  const total = multiply(multiply(gridSize(0), gridSize(1)), gridSize(2));
  const { writer } = binder;
  const [begin, end, unit] = [writer.fresh('begin'), writer.fresh('end'), writer.fresh('unit')];
  const body = writer.sealedBlock([begin, end], () => {
    const inner = writer.block([unit], () => {
      bindProgramIds(unit, binder);
      bindRegion(program.body, binder);
    });
    writer.emit({ kind: 'for', name: unit, from: scalarIndex(begin), to: scalarIndex(end), step: 1, body: inner });
  });
  writer.emit({ kind: 'parallel', begin, end, total, grain: ceilDivide(total, int(chunks)), body });
  const statements = removeDeadLets(writer.finish());
  const buffers = blockBuffers(program, () => int(2 ** 40));
  return {
    name: kernelName(program),
    buffers: usedBuffers(buffers, statements),
    sizes: blockSizes(program),
    body: statements,
    origins: [{ op: program.name, location: program.origin }],
    notes: [`blocks, ${target.isa}`],
  };
}

/** unit = id0 + grid0 * (id1 + grid1 * id2) */
function bindProgramIds(unit: string, binder: Binder): void {
  const index = scalarIndex(unit);
  const type = { dtype: 'i64', lanes: 1 } as const;
  const rows = floorDivide(index, gridSize(0));
  const ids = [modulo(index, gridSize(0)), modulo(rows, gridSize(1)), floorDivide(rows, gridSize(1))];
  ids.forEach((id, axis) => {
    const name = binder.writer.fresh(`program${String(axis)}`);
    binder.writer.emit({ kind: 'let', name, value: { kind: 'index', value: id, type } });
    binder.programIds.push(scalarIndex(name));
  });
}

function bindRegion(region: Region, binder: Binder): void {
  region.nodes.forEach((node, order) => {
    settleReads(region, order, binder);
    bindNode(node, binder);
  });
}

function bindNode(node: TileNode, binder: Binder): void {
  switch (node.kind) {
    case 'for':
      bindFor(node, binder, bindRegion);
      break;
    case 'while':
      bindWhile(node, binder, bindRegion);
      break;
    case 'if':
      bindIf(node, binder, bindRegion);
      break;
    case 'reduce':
    case 'scan':
      bindFold(node, binder);
      break;
    case 'op':
      bindOp(node, binder);
      break;
  }
}

function bindOp(node: TileOp, binder: Binder): void {
  if (node.op === 'store') bindStore(node, binder);
  else if (node.op === 'atomic' || node.op === 'atomicCas') bindAtomic(node, binder);
  else if (node.op === 'dot') bindDot(node, binder);
  else if (isPureOp(node) || node.op === 'load') bindValue(node, binder);
}

/** A pure operation or load: a scalar is computed now, a block where it is used. */
function bindValue(node: TileOp, binder: Binder): void {
  const { id, shape } = at(node.results, 0);
  binder.homes.set(id, { kind: 'virtual', node });
  if (shape.length > 0) {
    if (binder.plan.get(id)?.isKept === true) binder.homes.set(id, { kind: 'pending', node });
    return;
  }
  if (node.op === 'reshape' || node.op === 'broadcast' || node.op === 'permute') {
    if (binder.tile(at(node.args, 0)).shape.length > 0) keepTile(at(node.args, 0), binder);
  }
  const index = tileIndex(id, [], binder);
  const value = scalarValue(id, binder);
  binder.homes.set(id, { kind: 'scalar', value, index: index ?? scalarIndexOf(value) });
}

/**
 * Before a node that writes memory, or has regions: whatever reads memory and is used after it (or within it) is read now.
 * A store may still take what it reads element by element, where that is the very element it writes or cannot be one.
 */
function settleReads(region: Region, order: number, binder: Binder): void {
  const node = at(region.nodes, order);
  const isLoop = node.kind === 'for' || node.kind === 'while' || node.kind === 'if';
  const writes = writeOf(node);
  if (!isLoop && writes === undefined) return;
  const earlier = region.nodes.slice(0, order).flatMap(({ results }) => results);
  for (const { id, shape } of earlier) {
    if (shape.length > 0 && mustSettle(id, { order, writes, isLoop }, binder)) keepTile(id, binder);
  }
}

function writeOf(node: TileNode): Settling['writes'] {
  if (node.kind !== 'op') return undefined;
  return node.op === 'store' || node.op === 'atomic' || node.op === 'atomicCas' ? node : undefined;
}

interface Settling {
  readonly order: number;
  readonly writes: (TileOp & { readonly op: 'store' | 'atomic' | 'atomicCas' }) | undefined;
  readonly isLoop: boolean;
}

function mustSettle(id: TileId, { order, writes, isLoop }: Settling, binder: Binder): boolean {
  const home = binder.homes.get(id);
  const use = binder.plan.get(id);
  if (home === undefined || use === undefined || (home.kind !== 'virtual' && home.kind !== 'pending')) return false;
  const later = use.sites.filter((site) => site.order >= order);
  if (later.length === 0) return false;
  if (isLoop) return use.reads.size > 0 || home.kind === 'pending';
  if (use.reads.size === 0 || writes === undefined) return false;
  if (later.some((site) => site.order > order)) return true;
  return ![...use.reads].every((read) => isSafeBeside(read, writes, binder));
}

/** Whether a load may run in the loop of a write: it reads other memory, or exactly the element that is written. */
function isSafeBeside(read: TileOp, write: Settling['writes'], binder: Binder): boolean {
  if (read.op !== 'load' || write === undefined) return false;
  const isSameElement = write.op === 'store' && read.args[0] === write.args[0];
  const isSameBuffer = read.attrs.param === write.attrs.param;
  return isSameBuffer ? isSameElement : !binder.target.mayAlias;
}
