// Whether a call is one that was recorded before, but for its tensors, and for numbers that are inputs of the segment.
import { at } from '@tsinductor/base';
import { isList, isScalar, isValue } from '@tsinductor/graph';
import type { Arg } from '@tsinductor/graph';
import type { BoundCall } from '../../bound-call.ts';
import type { Tensor } from '../../tensor.ts';
import { mayBeLifted } from '../number-operand.ts';
import type { CallStep, Place } from './step.ts';

/** Puts the numbers that are inputs into `numbers`. */
export function isSameCall({ call, lifted }: CallStep, made: BoundCall, numbers: number[]): boolean {
  if (call.operator !== made.operator || call.device !== made.device || call.args.length !== made.args.length)
    return false;
  return (
    made.args.every((arg, position) => {
      const number = lifted.findIndex(({ argument }) => argument === position);
      if (number === -1) return isSameArg(call.args[position], arg);
      const known = call.args[position];
      if (!isScalar(arg) || typeof arg.value !== 'number' || !isScalar(known)) return false;
      if (arg.category !== known.category) return false;
      numbers[number] = arg.value;
      return true;
    }) && isSame(call.attrs, made.attrs)
  );
}

/** Whether these numbers may be inputs as those of the first time were. */
export const areLiftable = ({ call, lifted }: CallStep, numbers: readonly number[]): boolean =>
  lifted.every(({ slot }, position) => mayBeLifted(call.operator, numbers[position] ?? NaN, slot.dtype));

/** Whether an operand that would be an input first met here is one of those before it: where two inputs are met there are two tensors. */
export const isMetTwice = (operands: readonly Place[], tensors: readonly Tensor[], position: number): boolean =>
  at(operands, position).kind === 'new' && tensors.indexOf(at(tensors, position)) < position;

function isSameArg(known: Arg | undefined, arg: Arg): boolean {
  if (isValue(arg)) return isValue(known) && known.node === arg.node;
  if (isList(arg))
    return (
      isList(known) &&
      known.length === arg.length &&
      arg.every((value, position) => known[position]?.node === value.node)
    );
  return isSame(known, arg);
}

/** Whether two pieces of plain data are equal. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one))
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, index) => isSame(item, other[index]))
    );
  const keys = Object.keys(one);
  return (
    !Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => isSame((one as never)[key], (other as never)[key]))
  );
}
