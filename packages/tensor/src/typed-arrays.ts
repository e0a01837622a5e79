// Typed arrays as what tensors are made from: the dtype of each kind, and what to use instead of kinds that have none.
import type { DType } from '@tsinductor/base';
import { foreignArray } from './errors.ts';

const typedArrays: Readonly<Record<string, DType>> = {
  Float64Array: 'f64',
  Float32Array: 'f32',
  Float16Array: 'f16',
  BigInt64Array: 'i64',
  Int32Array: 'i32',
  Int16Array: 'i16',
  Int8Array: 'i8',
  Uint8Array: 'u8',
  Uint8ClampedArray: 'u8',
};

const remedies: Readonly<Record<string, string>> = {
  BigUint64Array: 'use a BigInt64Array, as with new BigInt64Array(array.buffer, array.byteOffset, array.length)',
  Uint32Array: 'convert it, as with BigInt64Array.from(array, BigInt) or Float64Array.from(array)',
  Uint16Array: "convert it with Int32Array.from(array); for the bits of half floats pass { dtype: 'f16' } or 'bf16'",
  DataView: 'use a typed array, or fromBuffer(view.buffer, { dtype })',
};

/** The kind of a typed array, also of another realm. */
export const nameOfView = (view: ArrayBufferView): string => Object.prototype.toString.call(view).slice(8, -1);

/** The dtype that its elements have. Throws UserError FOREIGN_ARRAY. */
export function ownDType(view: ArrayBufferView): DType {
  const name = nameOfView(view);
  const own = Object.hasOwn(typedArrays, name) ? typedArrays[name] : undefined;
  if (own === undefined) throw foreignArray(name, remedies[name] ?? 'use a typed array with a matching dtype');
  return own;
}
