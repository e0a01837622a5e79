// Block IR × CPU → Kernel: the grid in parallel, one program instance after the other within a thread; tiles become vector
// loops. In: a verified program. Out: a kernel whose buffers are the program's and whose sizes are the grid and the scalar
// arguments. Throws UserError KERNEL_NOT_COMPILED for what C++ has no form for.
import { at } from '@tsinductor/base';
import { ceilDivide, int, isElementOp, multiply, removeDeadLets } from '@tsinductor/ir';
import type { BlockProgram, ElementOp, Kernel, Region, TileId, TileNode, TileOp } from '@tsinductor/ir';
import {
  bindProgramIds,
  bindRegion,
  bindScalar,
  blockBuffers,
  blockSizes,
  gridSize,
  kernelName,
  scalarIndex,
  usedBuffers,
} from '@tsinductor/codegen';
import type { BlockWalk } from '@tsinductor/codegen';
import { Binder } from './binder.ts';
import type { BindTarget } from './binder.ts';
import { bindDot } from './bind-dot.ts';
import { bindFold } from './bind-fold.ts';
import { bindAtomic, bindStore } from './bind-memory.ts';
import { shareWindows } from '../strategy/passes/shared-windows.ts';
import { scalarValue } from './evaluate-tile.ts';
import { bufferCounts } from './check-access.ts';
import { hoistBounds } from './hoist-bounds.ts';
import { bindPrint } from './bind-print.ts';
import { keepTile } from './keep-tiles.ts';
import { scratchPlaces } from './tile-places.ts';

/** Into how many chunks a grid is cut at most: enough for threads that are held up, few enough to hand out cheaply. */
const chunks = 64;

export function bindBlock(program: BlockProgram, target: BindTarget): Kernel {
  const binder = new Binder(program, target);
  const total = multiply(multiply(gridSize(0), gridSize(1)), gridSize(2));
  const { writer } = binder;
  const [begin, end, unit] = [writer.fresh('begin'), writer.fresh('end'), writer.fresh('unit')];
  const body = writer.sealedBlock([begin, end], () => {
    const inner = writer.block([unit], () => {
      bindProgramIds(scalarIndex(unit), binder);
      bindRegion(program.body, walkOf(binder));
    });
    writer.emit({ kind: 'for', name: unit, from: scalarIndex(begin), to: scalarIndex(end), step: 1, body: inner });
  });
  writer.emit({ kind: 'parallel', begin, end, total, grain: ceilDivide(total, int(chunks)), body });
  const written = removeDeadLets(writer.finish());
  const checked = target.checks === true ? hoistBounds(written) : written;
  const statements = shareWindows(checked, { isa: target.isa, writer });
  const buffers = blockBuffers(program, () => int(2 ** 40));
  return {
    name: kernelName(program),
    buffers: usedBuffers(buffers, statements),
    sizes: [...blockSizes(program), ...(target.checks === true ? bufferCounts(program) : [])],
    body: statements,
    origins: [{ op: program.name, location: program.origin }],
    notes: [`blocks, ${target.isa}${target.checks === true ? ', accesses checked' : ''}`],
  };
}

function walkOf(binder: Binder): BlockWalk<string> {
  const { writer } = binder;
  const walk: BlockWalk<string> = {
    scope: binder,
    places: scratchPlaces(binder),
    scalar: (id) => scalarValue(id, binder),
    loop: (names, _, body) => writer.block(names, body),
    branch: (body) => writer.block([], body),
    before: (region, order) => {
      settleReads(region, order, binder);
    },
    fold: (node) => {
      bindFold(node, binder);
    },
    element: (node) => {
      bindElement(node, walk, binder);
    },
    load: (node) => {
      bindElement(node, walk, binder);
    },
    store: (node) => {
      bindStore(node, binder);
    },
    atomic: (node) => {
      bindAtomic(node, binder);
    },
    dot: (node) => {
      bindDot(node, binder);
    },
    print: (node) => {
      bindPrint(node, binder);
    },
    // One thread runs an instance.
    barrier: () => undefined,
  };
  return walk;
}

function bindElement(
  node: ElementOp | (TileOp & { readonly op: 'load' }),
  walk: BlockWalk<string>,
  binder: Binder,
): void {
  const { id, shape } = at(node.results, 0);
  const isKept = binder.plan.get(id)?.isKept === true;
  if (shape.length > 0) {
    binder.homes.set(id, { kind: isKept ? 'pending' : 'virtual', node });
    return;
  }
  // A reshape of a block of one element.
  const blocks = isElementOp(node) ? node.args.filter((arg) => binder.tile(arg).shape.length > 0) : [];
  for (const block of blocks) keepTile(block, binder);
  bindScalar(node, walk);
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
