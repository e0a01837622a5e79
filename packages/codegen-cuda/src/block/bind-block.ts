// Block IR x CUDA -> Kernel: one program instance is one block of threads. In: a verified program. Out: a kernel whose buffers
// are the program's and whose sizes are the grid and the scalar arguments. Throws UserError KERNEL_NOT_COMPILED for what there
// is no form for.
import { at, dtypeInfo } from '@tsinductor/base';
import {
  blockBuffers,
  blockSizes,
  gridSize,
  kernelName,
  scalarIndex,
  scalarIndexOf,
  snake,
  usedBuffers,
} from '@tsinductor/codegen';
import { allTileNodes, floorDivide, int, modulo, multiply, removeDeadLets, sizeSymbol } from '@tsinductor/ir';
import type { BlockParam, BlockProgram, Index, Kernel, Region, TileNode, TileOp, TileOpName } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { BlockBinder } from './block-binder.ts';
import type { BlockTarget } from './block-binder.ts';
import { bindFor, bindIf, bindWhile } from './bind-control.ts';
import { bindDot } from './bind-dot.ts';
import { chooseFragments } from './bind-matrix-dot.ts';
import { bindReduction, bindScan } from './bind-fold.ts';
import { bindAtomic, bindLoad, bindStore, chooseWidths } from './bind-memory.ts';
import { scalarValue, toRegisters } from './move-tiles.ts';
import { tileIndex } from './evaluate-tile.ts';

/** Operations that talk to the outside of the program. */
const hostOnly: Partial<Record<TileOpName, string>> = {
  print: 'it prints',
  assert: 'it asserts at run time',
};

/** The size that says how many bytes a buffer has. */
export const bytesName = (name: string): string => `${snake(name)}_bytes`;

const elementsOf = ({ name, dtype }: BlockParam): Index =>
  floorDivide(sizeSymbol(bytesName(name), 0), int(dtypeInfo[dtype].bytes));

export function bindBlock(program: BlockProgram, target: BlockTarget): Kernel {
  const binder = new BlockBinder(program, target);
  for (const node of allTileNodes(program.body)) {
    const what = node.kind === 'op' ? hostOnly[node.op] : undefined;
    if (what !== undefined) binder.refuse(what, node.origin);
  }
  chooseWidths(binder);
  chooseFragments(binder);
  bindProgramIds(binder);
  bindRegion(program.body, binder);
  const body = removeDeadLets(binder.writer.finish());
  const shares = target.mayAlias ? { shares: true as const } : {};
  return {
    name: kernelName(program),
    buffers: usedBuffers(blockBuffers(program, elementsOf), body).map((buffer) => ({ ...buffer, ...shares })),
    sizes: blockSizes(program),
    body,
    launch: {
      blocks: multiply(multiply(gridSize(0), gridSize(1)), gridSize(2)),
      threads: binder.threads,
      sharedBytes: binder.shared.bytes,
      names: binder.names,
    },
    origins: [{ op: program.name, location: program.origin }],
    notes: [`a block of ${String(binder.threads)} threads for each program instance`, ...binder.notes],
  };
}

/** block = id0 + grid0 * (id1 + grid1 * id2) */
function bindProgramIds(binder: BlockBinder): void {
  const block = scalarIndex(binder.names.block);
  const rows = floorDivide(block, gridSize(0));
  const ids = [modulo(block, gridSize(0)), modulo(rows, gridSize(1)), floorDivide(rows, gridSize(1))];
  ids.forEach((id, axis) => {
    const name = binder.writer.fresh(`program${String(axis)}`);
    binder.writer.emit({ kind: 'let', name, value: { kind: 'index', value: id, type: { dtype: 'i64', lanes: 1 } } });
    binder.programIds.push(scalarIndex(name));
  });
}

function bindRegion(region: Region, binder: BlockBinder): void {
  for (const node of region.nodes) bindNode(node, binder);
}

function bindNode(node: TileNode, binder: BlockBinder): void {
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
      bindReduction(node, binder);
      break;
    case 'scan':
      bindScan(node, binder);
      break;
    case 'op':
      bindOp(node, binder);
      break;
  }
}

function bindOp(node: TileOp, binder: BlockBinder): void {
  switch (node.op) {
    case 'load':
      if (!binder.staged.has(at(node.results, 0).id)) bindLoad(node, binder);
      break;
    case 'store':
      bindStore(node, binder);
      break;
    case 'atomic':
    case 'atomicCas':
      bindAtomic(node, binder);
      break;
    case 'dot':
      bindDot(node, binder);
      break;
    case 'barrier':
      binder.barrier();
      break;
    case 'print':
    case 'assert':
      break;
    case 'programId':
    case 'numPrograms':
    case 'argument':
    case 'constant':
    case 'arange':
    case 'broadcast':
    case 'reshape':
    case 'permute':
    case 'apply':
    case 'cast':
    case 'bitcast':
    case 'gather':
    case 'hint':
      bindValue(node, binder);
      break;
  }
}

/** What costs more to compute again than to keep. */
const keptCost = 4;

/** A pure operation: a scalar is computed now; a tile where it is used, unless that would cost something several times. */
function bindValue(node: TileOp, binder: BlockBinder): void {
  const { id, shape } = at(node.results, 0);
  binder.homes.set(id, { kind: 'virtual', node });
  if (shape.length === 0) {
    const index = tileIndex(id, [], binder);
    const value = scalarValue(id, binder);
    binder.homes.set(id, { kind: 'scalar', value, index: index ?? scalarIndexOf(value) });
    return;
  }
  const isCostly = node.op === 'apply' && (pointwise[node.attrs.op].traits.cost ?? 1) >= keptCost;
  if (isCostly && (binder.uses.get(id) ?? 0) > 1) toRegisters(id, binder.layoutFor(shape), binder);
}
