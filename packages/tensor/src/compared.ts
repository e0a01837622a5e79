// What comparisons of objects see of a tensor. Test runners' `toEqual` iterates, so it meets the elements. Others look at an
// object's own members and at what `Object.prototype.toString` says of it: node:assert's deepStrictEqual, chai's deep equal. What they
// print of tensors that differ is `toJSON`, of a copy in Jest.
import { dtypeInfo, sha256 } from '@tsinductor/base';
import { processState } from './process-state.ts';
import type { NestedArray } from './element-types.ts';
import type { Tensor } from './tensor.ts';

/** Equal for tensors with equal elements: every NaN is the same one, 0 and -0 are two values. */
function digestOf(tensor: Tensor): string {
  const elements = tensor.toTypedArray();
  if (dtypeInfo[tensor.dtype].category === 'float')
    for (let i = 0; i < elements.length; i += 1) if (Number.isNaN(elements[i])) elements[i] = NaN;
  return sha256(new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength));
}

/**
 * `Symbol.toStringTag`: names dtype, shape and a digest of the elements, so that tensors that differ are told apart by it; that takes
 * a read of all of them. While a function is traced it names dtype and shape alone: who asks of what kind an object is reads no values.
 */
export const toStringTag: PropertyDescriptor = {
  configurable: true,
  get(this: Tensor): string {
    const isPrototype = !Object.hasOwn(this, 'shape');
    if (isPrototype || this.isDisposed) return 'Tensor';
    const kind = `Tensor ${this.dtype}[${this.shape.join(', ')}]`;
    return processState.recorder === undefined ? `${kind} ${digestOf(this)}` : kind;
  },
};

const elements: symbol = Symbol.for('tsinductor.elements');

/**
 * What Jest copies of a tensor to print how two differ: without this list it would read every property, some of which refuse (`H` of
 * a vector), and print the lists that storages and views hold.
 */
export const copiedByJest: PropertyDescriptorMap = {
  [Symbol.for('@jest/serializableProperties')]: { value: ['dtype', 'shape', Symbol.toStringTag, elements] },
  [elements]: {
    get(this: Tensor): unknown {
      return this.isDisposed ? this.toString() : this.toArray();
    },
  },
};

/** The elements, where a copy of a tensor is printed that has them as a value. */
export const copiedElements = (tensor: object): NestedArray | undefined =>
  Object.getOwnPropertyDescriptor(tensor, elements)?.value as NestedArray | undefined;
