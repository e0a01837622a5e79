// A call of a custom op, as often as wanted: each time on copies of the arguments that lie in memory as the given ones do,
// so that what the op does to them can be compared, and nothing that a user gave is changed.
import { allocate, bindCall, placedTensor, placeOf, readDefinition, splitOptions } from '@tsinductor/tensor/internal';
import type { AnyOpDefinition, BoundCall, CustomOpCode, Storage } from '@tsinductor/tensor/internal';
import type { CustomOp, Tensor } from '@tsinductor/tensor';

/** The op, and one call of it with the tensors that it was bound with. */
export interface CheckedCall {
  readonly code: CustomOpCode;
  readonly call: BoundCall;
  /** The op as a function of the call's tensors. */
  readonly apply: (tensors: readonly Tensor[]) => readonly Tensor[];
}

/** Any op that defineOp made. */
export type AnyCustomOp = ((...given: never[]) => unknown) &
  Pick<CustomOp, 'name'> & { readonly definition: AnyOpDefinition };

export function checkedCall(op: AnyCustomOp, given: readonly unknown[]): CheckedCall {
  const code = readDefinition(op.definition);
  const { positional, named } = splitOptions(given);
  const call = bindCall(code.operator, positional, named);
  return {
    code,
    call,
    apply: (tensors) => {
      const replace = (value: unknown): unknown => replaced(value, call.tensors, tensors);
      const options = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, replace(value)]));
      const args = [...positional.map(replace), ...(Object.keys(named).length === 0 ? [] : [options])];
      const result: unknown = Reflect.apply(op, undefined, args);
      return result === undefined ? [] : Array.isArray(result) ? (result as readonly Tensor[]) : [result as Tensor];
    },
  };
}

function replaced(value: unknown, from: readonly Tensor[], to: readonly Tensor[]): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, from, to));
  const position = from.indexOf(value as Tensor);
  return position === -1 ? value : to[position];
}

/** Copies with the same strides; what shared memory does so among the copies. */
export function copiesOf(tensors: readonly Tensor[]): readonly Tensor[] {
  const storages = new Map<Storage, Storage>();
  return tensors.map((tensor) => {
    const { storage, layout } = placeOf(tensor, 'checkOp');
    const known = storages.get(storage) ?? copyOf(storage);
    storages.set(storage, known);
    return placedTensor(tensor.dtype, known, layout);
  });
}

function copyOf(storage: Storage): Storage {
  const copy = allocate(storage.byteLength, 'durable');
  copy.bytes(0, storage.byteLength).set(storage.bytes(0, storage.byteLength));
  return copy;
}

/** The elements as text that is equal exactly where they are equal bit for bit. */
export const bitsOf = (tensor: Tensor): string => Buffer.from(tensor.toTypedArray().buffer).toString('latin1');

export const describeTensor = ({ dtype, shape }: Tensor): string => `${dtype}[${shape.join(', ')}]`;
