// Elements in memory, and elements as JavaScript values.
import { dtypeInfo, elementConstructors } from '@tsinductor/base';
import type { DType, ElementArray as ElementArrayOf } from '@tsinductor/base';
import { castValue, f16FromBits, f16ToBits, fromBfloat16Bits, toBfloat16Bits } from '@tsinductor/ops';

export type ElementArray = ElementArrayOf<ArrayBuffer>;

/** An element as JavaScript has it: i64 as a number where that is exact, else as a bigint; bool as a boolean. */
export type ElementValue = number | bigint | boolean;

export const makeElements = (dtype: DType, length: number): ElementArray => new elementConstructors[dtype](length);

export const viewElements = (
  dtype: DType,
  buffer: ArrayBuffer,
  place: { byteOffset: number; length: number },
): ElementArray => new elementConstructors[dtype](buffer, place.byteOffset, place.length);

export const byteSize = (dtype: DType, count: number): number => dtypeInfo[dtype].bytes * count;

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Reads elements of a dtype as JavaScript values. */
export function elementReader(dtype: DType, elements: ElementArray): (position: number) => ElementValue {
  switch (dtype) {
    case 'f16':
      return (position) => f16FromBits(Number(elements[position]));
    case 'bf16':
      return (position) => fromBfloat16Bits(Number(elements[position]));
    case 'bool':
      return (position) => elements[position] !== 0;
    case 'i64':
      return (position) => {
        const value = elements[position] as bigint;
        return value <= MAX_SAFE && value >= -MAX_SAFE ? Number(value) : value;
      };
    case 'f64':
    case 'f32':
    case 'i32':
    case 'i16':
    case 'i8':
    case 'u8':
      return (position) => elements[position] as number;
  }
}

/** A value of dtype `from` as an element of dtype `to` lies in memory. Values: numbers, bool as 0 and 1, i64 as bigint. */
export function convertElement(value: number | bigint, from: DType, to: DType): number | bigint {
  const converted = castValue(value, from, to);
  if (to === 'f16') return f16ToBits(Number(converted));
  return to === 'bf16' ? toBfloat16Bits(Number(converted)) : converted;
}

/** A JavaScript value as an element of a dtype: floats rounded, to integers truncated, anything but 0 is true. */
export function encodeElement(dtype: DType, value: ElementValue): number | bigint {
  if (typeof value === 'bigint') return convertElement(value, 'i64', dtype);
  return convertElement(Number(value), typeof value === 'boolean' ? 'bool' : 'f64', dtype);
}

/** Elements as users get them: f16 and bf16 widened to f32, everything else as it lies. */
export function widened(dtype: DType, elements: ElementArray): ElementArray {
  if (dtype !== 'f16' && dtype !== 'bf16') return elements;
  const toNumber = dtype === 'f16' ? f16FromBits : fromBfloat16Bits;
  return Float32Array.from(elements as Uint16Array, toNumber);
}
