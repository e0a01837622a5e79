// The laws of types within one value of the Kernel IR.
import type { Value, ValueType } from './kernel.ts';
import { targetOps } from './target-ops.ts';

export const sameType = (left: ValueType, right: ValueType): boolean =>
  left.dtype === right.dtype && left.lanes === right.lanes;

const law = (holds: boolean, broken: string): string | undefined => (holds ? undefined : broken);

/** The law of types that `value` breaks, if it breaks one. */
export function brokenLaw(value: Value): string | undefined {
  const { dtype, lanes } = value.type;
  switch (value.kind) {
    case 'apply':
      return law(hasLanes(value.args, lanes), 'operands have other lanes than the result');
    case 'cast':
    case 'bitcast':
      return law(value.value.type.lanes === lanes, 'a conversion changes the lanes');
    case 'broadcast':
      return law(sameType(value.value.type, { dtype, lanes: 1 }), 'only a scalar is broadcast');
    case 'half':
      return law(sameType(value.value.type, { dtype, lanes: 2 * lanes }), 'not half of its operand');
    case 'rearranged':
      return (
        law(
          [value.value, value.other].every(({ type }) => sameType(type, value.type)),
          'lanes of other types',
        ) ??
        law(
          lanes > 1 && value.order.length === lanes && value.order.every((lane) => lane >= 0 && lane < 2 * lanes),
          'not an order of the lanes of two vectors',
        )
      );
    case 'index':
      return (
        law(dtype === 'i64' || dtype === 'i32', 'an index is i64 or i32') ??
        law(lanes === 1 || value.lane !== undefined, 'a vector of indices needs a lane axis')
      );
    case 'first':
      return law(dtype === 'bool', 'a mask is bool');
    case 'target':
      return brokenTargetLaw(value);
    case 'load':
      return brokenLoadLaw(value);
    case 'name':
    case 'constant':
      return undefined;
  }
}

const hasLanes = (values: readonly Value[], lanes: number): boolean => values.every(({ type }) => type.lanes === lanes);

function brokenTargetLaw({ op, type, args, numbers }: Value & { readonly kind: 'target' }): string | undefined {
  const entry = targetOps[op];
  return (
    law(entry.accepts(type), `there is no ${op} at this type`) ??
    law(args.length === entry.arity && args.every((arg) => sameType(arg.type, type)), 'other operands than it has') ??
    law(numbers.length === entry.numbers.length, 'other numbers than it has')
  );
}

function brokenLoadLaw({ access, by }: Value & { readonly kind: 'load' }): string | undefined {
  if (by === 'gather') return law(access.offsets !== undefined, 'only lanes at offsets are gathered');
  if (by === undefined) return undefined;
  const isKnown = access.offsets === undefined && access.step.kind === 'int';
  return law(isKnown, 'only lanes at a known step are permuted');
}
