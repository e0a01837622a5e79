// Tiles of integers as index expressions: what an element is in terms of its coordinates, the program's ids and scalars.
// Addresses and masks are read this way, so that an access is known to be contiguous, strided or uniform. Law: what becomes
// an address or a mask is computed without overflow; a program in which it overflows faults in the interpreter.
import { at, isInteger } from '@tsinductor/base';
import { add, int, isElementOp, multiply, negate, subtract } from '@tsinductor/ir';
import type { ElementOp, Index, TileId } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { gridSize } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { sourceCoordinates } from './coordinates.ts';

/** The element of a tile of integers at `coordinates`, if it is an index expression. */
export function tileIndex(id: TileId, coordinates: readonly Index[], scope: BlockScope): Index | undefined {
  if (!isInteger(scope.tile(id).dtype)) return undefined;
  const home = scope.known(id);
  switch (home?.kind) {
    case undefined:
      return undefined;
    case 'scalar':
      return home.index;
    case 'shifted': {
      const base = tileIndex(home.base, coordinates, scope);
      return base === undefined ? undefined : add(base, home.shift);
    }
    case 'virtual':
      return isElementOp(home.node) ? elementIndex(home.node, coordinates, scope) : undefined;
  }
}

/** A scalar integer as an index. */
export const scalarTileIndex = (id: TileId, scope: BlockScope): Index | undefined =>
  tileIndex(
    id,
    scope.tile(id).shape.map(() => int(0)),
    scope,
  );

type Arithmetic = (left: Index, right: Index) => Index;
const arithmetic: Readonly<Partial<Record<PointwiseName, Arithmetic>>> = { add, sub: subtract, mul: multiply };

/** The same of an operation's result. */
export function elementIndex(node: ElementOp, coordinates: readonly Index[], scope: BlockScope): Index | undefined {
  const operand = (slot: number, where = coordinates): Index | undefined =>
    tileIndex(at(node.args, slot), where, scope);
  switch (node.op) {
    case 'programId':
      return at(scope.programIds, node.attrs.axis);
    case 'numPrograms':
      return gridSize(node.attrs.axis);
    case 'constant': {
      const { value } = node.attrs;
      const number = typeof value === 'object' ? Number(value.bigint) : Number(value);
      return Number.isSafeInteger(number) ? int(number) : undefined;
    }
    case 'arange':
      return add(at(coordinates, 0), int(node.attrs.start));
    case 'hint':
      return operand(0);
    case 'cast': {
      const from = scope.tile(at(node.args, 0)).dtype;
      return isInteger(from) && (node.attrs.dtype === 'i64' || from === node.attrs.dtype) ? operand(0) : undefined;
    }
    case 'broadcast':
    case 'reshape':
    case 'permute': {
      const where = sourceCoordinates(node, coordinates, scope);
      return where === undefined ? undefined : operand(0, where);
    }
    case 'apply':
      return applyIndex(node.attrs.op, [operand(0), node.args.length > 1 ? operand(1) : int(0)]);
    case 'argument':
    case 'bitcast':
    case 'gather':
      return undefined;
  }
}

function applyIndex(op: PointwiseName, [left, right]: readonly (Index | undefined)[]): Index | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (op === 'neg') return negate(left);
  return arithmetic[op]?.(left, right);
}
