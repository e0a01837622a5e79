// Tensors over the bytes of an ArrayBuffer. In: the buffer and where in it elements lie; every number is checked against
// its length. Out: a tensor that shares it.
import { types } from 'node:util';
import { isDType } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { byteSize } from './element-array.ts';
import type { Known } from './element-types.ts';
import { badArgument, elementCount, invalidDType, unalignedBuffer } from './errors.ts';
import { checkOptions, requireAttached } from './given-options.ts';
import { checkShape, reach, rowMajor } from './layout.ts';
import { shareMemory } from './storage.ts';
import { placedTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';

export interface BufferOptions<E extends DType = DType> {
  readonly dtype: E;
  /** Default: one dim over the whole buffer. */
  readonly shape?: readonly number[];
  /** Steps between neighbours along each dim, in elements. Default: row-major. */
  readonly strides?: readonly number[];
  /** Where the storage begins, in bytes, and in it the first element, in elements. */
  readonly byteOffset?: number;
  readonly offset?: number;
}

/** A tensor over the bytes of a buffer, which it shares: both see each other's writes. */
export function fromBuffer<E extends DType>(buffer: ArrayBuffer, options: BufferOptions<E>): Tensor<NoInfer<Known<E>>> {
  const { dtype, shape, strides, byteOffset = 0, offset = 0 } = options;
  checkOptions('fromBuffer', options, ['dtype', 'shape', 'strides', 'byteOffset', 'offset']);
  if (!isDType(dtype)) throw invalidDType(dtype);
  const available = availableElements(buffer, { dtype, byteOffset, offset });
  if (shape === undefined && !Number.isInteger(available))
    throw unalignedBuffer('the length of the buffer', byteSize(dtype, 1));
  const sizes = shape === undefined ? [Math.max(available, 0)] : checkShape(shape);
  const layout = {
    shape: sizes,
    strides: strides === undefined ? rowMajor(sizes) : checkStrides(strides, sizes),
    offset,
  };
  const count = reach(layout) - offset;
  if (count > available) throw elementCount(sizes, count, Math.max(Math.floor(available), 0));
  return placedTensor(
    dtype,
    shareMemory({ buffer, byteOffset, byteLength: buffer.byteLength - byteOffset }),
    layout,
  ) as Tensor<Known<E>>;
}

/** How many elements lie behind the place; a fraction where the buffer ends within one. */
function availableElements(
  buffer: ArrayBuffer,
  place: Required<Pick<BufferOptions, 'dtype' | 'byteOffset' | 'offset'>>,
): number {
  if (!types.isArrayBuffer(buffer)) throw badArgument('fromBuffer', 'this is not an ArrayBuffer', 'pass array.buffer');
  requireAttached(buffer);
  const { dtype, byteOffset, offset } = place;
  for (const [name, value] of Object.entries({ byteOffset, offset })) {
    if (Number.isSafeInteger(value) && value >= 0 && value <= buffer.byteLength) continue;
    throw badArgument('fromBuffer', `${name} ${String(value)} is not in the buffer`, 'use a whole number inside it');
  }
  const size = byteSize(dtype, 1);
  if (byteOffset % size !== 0) throw unalignedBuffer('byteOffset', size);
  return (buffer.byteLength - byteOffset) / size - offset;
}

function checkStrides(strides: readonly number[], shape: readonly number[]): readonly number[] {
  const fits =
    Array.isArray(strides) &&
    strides.length === shape.length &&
    strides.every((stride) => Number.isSafeInteger(stride) && stride >= 0);
  if (!fits)
    throw badArgument('fromBuffer', 'the strides do not fit the shape', 'give a whole number from 0 for each dim');
  return [...(strides as readonly number[])];
}
