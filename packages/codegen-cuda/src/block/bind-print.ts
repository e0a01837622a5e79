// Printing by the first thread of a block, element by element in row-major order, so that the lines of one instance come in
// its order. A tile with axes is copied to shared memory, where that thread finds all of it.
import { at } from '@tsinductor/base';
import { printBare, printElement, whereTrue } from '@tsinductor/codegen';
import type { PrintOp } from '@tsinductor/codegen';
import { axisIndex, int } from '@tsinductor/ir';
import type { Index, TileId, Value } from '@tsinductor/ir';
import type { BlockBinder } from './block-binder.ts';
import { sharedElement } from './evaluate-tile.ts';
import { copyToShared, ownerMask, scalarValue } from './move-tiles.ts';

export function bindPrint(node: PrintOp, binder: BlockBinder): void {
  const { writer } = binder;
  if (node.args.length === 0) {
    byOneThread(binder, () => {
      writer.emit(printBare(node, binder));
    });
  }
  node.args.forEach((operand, slot) => {
    overElements(operand, binder, (coordinates, value) => {
      writer.emit(printElement(node, { slot, coordinates, value }, binder));
    });
  });
}

function byOneThread(binder: BlockBinder, run: () => void): void {
  const isFirst = ownerMask({ owners: 1 }, binder);
  if (isFirst === undefined) run();
  else whereTrue(isFirst, binder, { run });
}

type Visit = (coordinates: readonly Index[], value: Value) => void;

/** What one thread does with each element of a tile. */
function overElements(id: TileId, binder: BlockBinder, visit: Visit): void {
  const { shape } = binder.tile(id);
  if (shape.length === 0) {
    const value = scalarValue(id, binder);
    byOneThread(binder, () => {
      visit([], value);
    });
    return;
  }
  const from = copyToShared(id, binder);
  const body = (coordinates: readonly Index[]): void => {
    visit(coordinates, sharedElement(from, coordinates, { tile: binder.tile(id), binder }));
  };
  byOneThread(binder, () => {
    loops(shape, [], { binder, body });
  });
}

interface Looping {
  readonly binder: BlockBinder;
  readonly body: (coordinates: readonly Index[]) => void;
}

/** A loop for each axis of `shape` behind those of `coordinates`. */
function loops(shape: readonly number[], coordinates: readonly Index[], { binder, body }: Looping): void {
  const axis = coordinates.length;
  if (axis === shape.length) {
    body(coordinates);
    return;
  }
  const extent = int(at(shape, axis));
  const name = binder.writer.fresh('element');
  const statements = binder.writer.block([name], () => {
    loops(shape, [...coordinates, axisIndex({ name, extent })], { binder, body });
  });
  binder.writer.emit({ kind: 'for', name, from: int(0), to: extent, step: 1, body: statements });
}
