// Tiles of integers as index expressions: what an element is in terms of its coordinates, the program's ids and scalars.
// Addresses and masks are read this way, so that an access is known to be contiguous, strided or uniform. Law: what becomes
// an address or a mask is computed without overflow; a program in which it overflows faults in the interpreter.
import { at, isInteger } from '@tsinductor/base';
import { add, int, multiply, negate, subtract } from '@tsinductor/ir';
import type { Index, TileId, TileOp } from '@tsinductor/ir';
import type { PointwiseName } from '@tsinductor/ops';
import { gridSize } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { sourceCoordinates } from './coordinates.ts';

export type IndexOf = (id: TileId, coordinates: readonly Index[]) => Index | undefined;

type Arithmetic = (left: Index, right: Index) => Index;
const arithmetic: Readonly<Partial<Record<PointwiseName, Arithmetic>>> = { add, sub: subtract, mul: multiply };

/** The element of a node's result at `coordinates`, if it is an index expression; `indexOf` says it of its operands. */
export function nodeIndex(
  node: TileOp,
  coordinates: readonly Index[],
  { scope, indexOf }: { readonly scope: BlockScope; readonly indexOf: IndexOf },
): Index | undefined {
  const operand = (slot: number, where = coordinates): Index | undefined => indexOf(at(node.args, slot), where);
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
