// Block IR x CUDA -> Kernel: one program instance is one block of threads. In: a verified program. Out: a kernel whose buffers
// are the program's and whose sizes are the grid and the scalar arguments. Throws UserError KERNEL_NOT_COMPILED for what there
// is no form for.
import { at, dtypeInfo } from '@tsinductor/base';
import {
  bindProgramIds,
  bindRegion,
  bindScalar,
  blockBuffers,
  blockSizes,
  gridSize,
  kernelName,
  paramName,
  scalarIndex,
  usedBuffers,
} from '@tsinductor/codegen';
import type { BlockWalk } from '@tsinductor/codegen';
import { allTileNodes, floorDivide, int, multiply, removeDeadLets, sizeSymbol } from '@tsinductor/ir';
import type { BlockProgram, ElementOp, Index, Kernel, TileOp } from '@tsinductor/ir';
import { pointwise } from '@tsinductor/ops';
import { BlockBinder } from './block-binder.ts';
import type { BlockTarget } from './block-binder.ts';
import { bindDot } from './bind-dot.ts';
import { chooseFragments } from './bind-matrix-dot.ts';
import { bindReduction, bindScan } from './bind-fold.ts';
import { bindAtomic, bindLoad, bindStore, chooseWidths, touchesOf } from './bind-memory.ts';
import { bindPrint } from './bind-print.ts';
import { scalarValue, toRegisters } from './move-tiles.ts';
import { bindPipeline } from './pipeline.ts';
import { registerPlaces } from './tile-places.ts';
import type { RegisterArray } from './tile-places.ts';

/** The size that says how many bytes a buffer has. */
export const bytesName = (program: BlockProgram, position: number): string => `${paramName(program, position)}_bytes`;

const elementsOf = (program: BlockProgram, position: number): Index => {
  const { dtype } = at(program.params, position);
  return floorDivide(sizeSymbol(bytesName(program, position), 0), int(dtypeInfo[dtype].bytes));
};

export function bindBlock(program: BlockProgram, target: BlockTarget): Kernel {
  const binder = new BlockBinder(program, target);
  chooseWidths(binder);
  chooseFragments(binder);
  bindProgramIds(scalarIndex(binder.names.block), binder);
  bindRegion(program.body, walkOf(binder));
  const body = removeDeadLets(binder.writer.finish());
  const shares = target.mayAlias ? { shares: true as const } : {};
  return {
    name: kernelName(program),
    buffers: usedBuffers(
      blockBuffers(program, (position) => elementsOf(program, position)),
      body,
    ).map((buffer) => ({ ...buffer, ...shares })),
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

function walkOf(binder: BlockBinder): BlockWalk<RegisterArray> {
  const walk: BlockWalk<RegisterArray> = {
    scope: binder,
    places: registerPlaces(binder),
    scalar: (id) => scalarValue(id, binder),
    loop: (names, regions, body) => binder.loop(names, touchesOf(regions.flatMap((it) => [...allTileNodes(it)])), body),
    branch: (body) => binder.branch(body),
    countUp: (loop) => {
      const bindSlice = (nodes: readonly TileOp[]): void => {
        bindRegion({ nodes, yields: [] }, walk);
      };
      return bindPipeline({ ...loop, bindSlice }, binder);
    },
    fold: (node) => {
      if (node.kind === 'reduce') bindReduction(node, binder);
      else bindScan(node, binder);
    },
    element: (node) => {
      bindElement(node, walk, binder);
    },
    load: (node) => {
      if (!binder.staged.has(at(node.results, 0).id)) bindLoad(node, binder);
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
    barrier: () => {
      binder.barrier();
    },
  };
  return walk;
}

/** What costs more to compute again than to keep. */
export const keptCost = 4;

/** A pure operation: a scalar is computed now; a tile where it is used, unless that would cost something several times. */
function bindElement(node: ElementOp, walk: BlockWalk<RegisterArray>, binder: BlockBinder): void {
  const { id, shape } = at(node.results, 0);
  if (shape.length === 0) {
    bindScalar(node, walk);
    return;
  }
  binder.homes.set(id, { kind: 'virtual', node });
  const isCostly = node.op === 'apply' && (pointwise[node.attrs.op].traits.cost ?? 1) >= keptCost;
  if (isCostly && (binder.uses.get(id) ?? 0) > 1) toRegisters(id, binder.layoutFor(shape), binder);
}
