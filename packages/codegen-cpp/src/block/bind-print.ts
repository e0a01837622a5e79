// Printing, element by element in row-major order: a loop for each operand.
import { printBare, printElement } from '@tsinductor/codegen';
import type { PrintOp } from '@tsinductor/codegen';
import type { Binder } from './binder.ts';
import { loopElements } from './keep-tiles.ts';
import { evaluateTile } from './evaluate-tile.ts';

export function bindPrint(node: PrintOp, binder: Binder): void {
  const { writer } = binder;
  if (node.args.length === 0) writer.emit(printBare(node, binder));
  node.args.forEach((operand, slot) => {
    loopElements(
      {
        shape: binder.tile(operand).shape,
        tiles: [operand],
        skips: false,
        isScalar: true,
        body: (point, coordinates) => {
          const value = evaluateTile(operand, coordinates, { binder, point });
          writer.emit(printElement(node, { slot, coordinates, value }, binder));
        },
      },
      binder,
    );
  });
}
