// Lines that a program instance prints, as statements. In: the operation, and an element of one of its operands with its place.
// Out: a statement. A NaN is printed as any other: which one it is depends on the machine.
import { isFloat } from '@tsinductor/base';
import { bareLine, elementLine } from '@tsinductor/ir';
import type { Index, Stmt, TileOp, Value } from '@tsinductor/ir';
import type { BlockScope } from './block-scope.ts';
import { apply, constantOf } from './block-values.ts';

export type PrintOp = TileOp & { readonly op: 'print' };

interface PrintedOperand {
  readonly slot: number;
  readonly coordinates: readonly Index[];
  readonly value: Value;
}

/** A print without operands. */
export const printBare = (node: PrintOp, scope: BlockScope): Stmt => ({
  kind: 'print',
  unit: scope.unit,
  parts: bareLine(node, scope.programIds.map(asValue)),
});

export function printElement(node: PrintOp, { slot, coordinates, value }: PrintedOperand, scope: BlockScope): Stmt {
  const element = {
    program: scope.programIds.map(asValue),
    place: coordinates.map(asValue),
    value: isFloat(value.type.dtype) ? withOneNaN(value, scope) : value,
  };
  return { kind: 'print', unit: scope.unit, parts: elementLine(node, slot, element) };
}

const asValue = (value: Index): Value => ({ kind: 'index', value, type: { dtype: 'i64', lanes: 1 } });

function withOneNaN(value: Value, scope: BlockScope): Value {
  const { dtype } = value.type;
  const named = scope.name(value, 'printed');
  return apply('where', [apply('ne', [named, named], 'bool'), constantOf('NaN', dtype), named], dtype);
}
