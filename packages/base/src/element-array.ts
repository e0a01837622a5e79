// Elements in memory: the typed array of each dtype. f16 and bf16 lie as their bits, bool as bytes 0 and 1, i64 as BigInts.
import type { DType } from './dtype.ts';

/** The elements of a buffer. */
export type ElementArray<B extends ArrayBufferLike = ArrayBufferLike> =
  | Float64Array<B>
  | Float32Array<B>
  | Uint16Array<B>
  | BigInt64Array<B>
  | Int32Array<B>
  | Int16Array<B>
  | Int8Array<B>
  | Uint8Array<B>;

interface ElementConstructor {
  readonly BYTES_PER_ELEMENT: number;
  /** Zeros. */
  new (length: number): ElementArray<ArrayBuffer>;
  new <B extends ArrayBufferLike>(buffer: B, byteOffset?: number, length?: number): ElementArray<B>;
}

export const elementConstructors: Readonly<Record<DType, ElementConstructor>> = {
  f64: Float64Array,
  f32: Float32Array,
  f16: Uint16Array,
  bf16: Uint16Array,
  i64: BigInt64Array,
  i32: Int32Array,
  i16: Int16Array,
  i8: Int8Array,
  u8: Uint8Array,
  bool: Uint8Array,
};
