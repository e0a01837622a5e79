// One element of an operation's result, or a vector of neighbours, as a value of the Kernel IR. In: the operation, the place,
// and what depends on the target: elements of operands and indices as values there. Out: a value with a name.
import { at, invariant } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import type { ElementOp, Index, Value } from '@tsinductor/ir';
import { snake } from './block-names.ts';
import type { BlockScope } from './block-scope.ts';
import { apply, argumentValue, constantOf } from './block-values.ts';
import { elementIndex } from './tile-index.ts';

type MovingOp = ElementOp & { readonly op: 'broadcast' | 'reshape' | 'permute' };
export type GatherOp = ElementOp & { readonly op: 'gather' };

interface ElementPlace {
  readonly scope: BlockScope;
  readonly coordinates: readonly Index[];
  /** An element of an operand: at the place itself, or at another one. */
  readonly operand: (slot: number, coordinates?: readonly Index[]) => Value;
  readonly index: (index: Index, dtype: DType) => Value;
  /** Where an operation that only moves elements takes its operand's from. */
  readonly source: (node: MovingOp) => readonly Index[];
  readonly gather: (node: GatherOp) => Value;
}

export function elementValue(node: ElementOp, place: ElementPlace): Value {
  const { scope, coordinates, operand } = place;
  const { id, dtype } = at(node.results, 0);
  const named = (value: Value, otherwise: string): Value => scope.name(value, scope.label(id, otherwise));
  switch (node.op) {
    case 'constant':
      return constantOf(node.attrs.value, dtype);
    case 'argument':
      return argumentValue(node, scope);
    case 'programId':
    case 'numPrograms':
    case 'arange': {
      const index = elementIndex(node, coordinates, scope);
      invariant(index !== undefined, `${node.op} is an index`);
      return named(place.index(index, 'i32'), 'index');
    }
    case 'broadcast':
    case 'reshape':
    case 'permute':
      return operand(0, place.source(node));
    case 'hint':
      return operand(0);
    case 'apply': {
      const args = node.args.map((_, slot) => operand(slot));
      return named(apply(node.attrs.op, args, dtype), snake(node.attrs.op));
    }
    case 'cast':
    case 'bitcast': {
      const value = operand(0);
      return named({ kind: node.op, value, type: { dtype, lanes: value.type.lanes } }, `to_${dtype}`);
    }
    case 'gather':
      return place.gather(node);
  }
}
