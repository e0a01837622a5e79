// Tiles of integers as index expressions: what an element is in terms of its coordinates, the program's ids and scalars.
// Addresses and masks are read this way, so that an access is known to be contiguous, strided or uniform. Law: what becomes
// an address or a mask is computed without overflow; a program in which it overflows faults in the interpreter.
import { at, get, isInteger } from '@tsinductor/base';
import { add, int, multiply, negate, sizeSymbol, subtract } from '@tsinductor/ir';
import type { Index, TileId, TileOp } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import type { Binder } from './binder.ts';
import { gridName } from './binder.ts';
import { sourceCoordinates } from './coordinates.ts';

type Arithmetic = (left: Index, right: Index) => Index;
const arithmetic: Readonly<Partial<Record<PointwiseName, Arithmetic>>> = { add, sub: subtract, mul: multiply };

/** The element of `id` at `coordinates`, if it is an index expression. */
export function tileIndex(id: TileId, coordinates: readonly Index[], binder: Binder): Index | undefined {
  const tile = binder.tile(id);
  if (!isInteger(tile.dtype)) return undefined;
  const home = get(binder.homes, id);
  switch (home.kind) {
    case 'scalar':
      return home.index;
    case 'scratch':
      return undefined;
    case 'shifted': {
      const base = tileIndex(home.base, coordinates, binder);
      return base === undefined ? undefined : add(base, home.shift);
    }
    case 'virtual':
    case 'pending':
      return nodeIndex(home.node, coordinates, binder);
  }
}

export function nodeIndex(node: TileOp, coordinates: readonly Index[], binder: Binder): Index | undefined {
  const operand = (slot: number, where = coordinates): Index | undefined =>
    tileIndex(at(node.args, slot), where, binder);
  switch (node.op) {
    case 'programId':
      return at(binder.programIds, node.attrs.axis);
    case 'numPrograms':
      return sizeSymbol(gridName(node.attrs.axis), 1);
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
      const from = binder.tile(at(node.args, 0)).dtype;
      return isInteger(from) && (node.attrs.dtype === 'i64' || from === node.attrs.dtype) ? operand(0) : undefined;
    }
    case 'broadcast':
    case 'reshape':
    case 'permute': {
      const where = sourceCoordinates(node, coordinates, binder);
      return where === undefined ? undefined : operand(0, where);
    }
    case 'apply':
      return applyIndex(node.attrs.op, [operand(0), node.args.length > 1 ? operand(1) : int(0)]);
    case 'argument':
    case 'bitcast':
    case 'load':
    case 'store':
    case 'atomic':
    case 'atomicCas':
    case 'gather':
    case 'dot':
    case 'barrier':
    case 'print':
    case 'assert':
      return undefined;
  }
}

export function applyIndex(op: PointwiseName, [left, right]: readonly (Index | undefined)[]): Index | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (op === 'neg') return negate(left);
  return arithmetic[op]?.(left, right);
}
