// Elements in memory, as the interpreters see them: the dtype's typed array; f16 and bf16 as their bits, bool as 0 and 1.
import { elementConstructors } from '@tsinductor/base';
import type { DType, ElementArray } from '@tsinductor/base';
import { f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';
import type { Value } from '@tsinductor/ops';

export type { ElementArray } from '@tsinductor/base';

/** Zeros. */
export const allocateElements = (dtype: DType, length: number): ElementArray<ArrayBuffer> =>
  new elementConstructors[dtype](length);

/** The elements of a constant buffer: little-endian bytes in base64. */
export function decodeElements(dtype: DType, data: string): ElementArray {
  const bytes = Buffer.from(data, 'base64');
  const aligned = new ArrayBuffer(bytes.length);
  new Uint8Array(aligned).set(bytes);
  return new elementConstructors[dtype](aligned);
}

export function clearElements(array: ElementArray): void {
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(0);
}

/** As many elements as the target has: memory that a caller gives may reach beyond its buffer. Both are of one dtype. */
export function copyElements(target: ElementArray, source: ElementArray): void {
  (target as Float64Array).set(source.subarray(0, target.length) as Float64Array);
}

/** From the bits that memory holds to the value, for the dtypes where they differ. */
export const bitDecoders: Partial<Record<DType, (bits: number) => number>> = {
  f16: f16FromBits,
  bf16: fromBfloat16Bits,
};

export const bitEncoders: Partial<Record<DType, (value: number) => number>> = { f16: f16ToBits, bf16: toBfloat16Bits };

/** One element as a value. */
export function readElement(array: ElementArray, dtype: DType, index: number): Value | undefined {
  const raw = array[index];
  return typeof raw === 'number' ? (bitDecoders[dtype]?.(raw) ?? raw) : raw;
}

export function writeElement(array: ElementArray, index: number, value: Value): void {
  (array as unknown as Record<number, Value>)[index] = value;
}
