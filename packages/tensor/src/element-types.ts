// What types know of a tensor: Tensor<'f32', [number, 3]> is of that dtype and shape, as far as the program says so. What nobody
// said is `any`, which fits everything, so that a program without these types is checked as if there were none.
//
// Only look-ups stand between a tensor's parameters and its members, and no conditional types: so compilers can see that a
// Tensor<'f32', [2, 3]> is a Tensor<'f32', [number, 3]> without comparing all members. Each has an entry for what is not known.
import type { DType } from '@tsinductor/base';
import type { ScalarRef } from '@tsinductor/graph';
import type { Scalar } from './scalars.ts';
import type { Tensor } from './tensor.ts';
import type { ElementArray, ElementValue } from './element-array.ts';

/** What nobody said of a tensor: it fits everything. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- nothing else fits everything and is fitted by everything
export type Open = any;

/** Sizes of a tensor as a type: `[number, 3]` has two dims, of which the second is 3. */
export type Shape = readonly number[];

/** `shape` of a tensor: as many numbers as it has dims, where that is known. */
export type SizesOf<S extends Shape> = { readonly [K in keyof S]: number };

/** Elements in nested arrays, one level for each dim; an element alone for a 0-d tensor. */
export type NestedArray<E extends ElementValue = ElementValue> = E | readonly NestedArray<E>[];

/** Nested arrays by the number of dims. */
export interface NestedOf<E extends ElementValue> {
  readonly 0: E;
  readonly 1: E[];
  readonly 2: E[][];
  readonly 3: E[][][];
  readonly 4: E[][][][];
  readonly [unknown: string]: NestedArray<E>;
}

/** A dtype; any, where it is not known. */
export interface DTypeOf {
  readonly f64: 'f64';
  readonly f32: 'f32';
  readonly f16: 'f16';
  readonly bf16: 'bf16';
  readonly i64: 'i64';
  readonly i32: 'i32';
  readonly i16: 'i16';
  readonly i8: 'i8';
  readonly u8: 'u8';
  readonly bool: 'bool';
  readonly [unknown: string]: DType;
}

/** An element of a dtype, as `item` and `toArray` give it. */
export interface ElementOf {
  readonly f64: number;
  readonly f32: number;
  readonly f16: number;
  readonly bf16: number;
  readonly i64: number | bigint;
  readonly i32: number;
  readonly i16: number;
  readonly i8: number;
  readonly u8: number;
  readonly bool: boolean;
  readonly [unknown: string]: ElementValue;
}

/** The array that `toTypedArray` gives. */
export interface ArrayOf {
  readonly f64: Float64Array<ArrayBuffer>;
  readonly f32: Float32Array<ArrayBuffer>;
  readonly f16: Float32Array<ArrayBuffer>;
  readonly bf16: Float32Array<ArrayBuffer>;
  readonly i64: BigInt64Array<ArrayBuffer>;
  readonly i32: Int32Array<ArrayBuffer>;
  readonly i16: Int16Array<ArrayBuffer>;
  readonly i8: Int8Array<ArrayBuffer>;
  readonly u8: Uint8Array<ArrayBuffer>;
  readonly bool: Uint8Array<ArrayBuffer>;
  readonly [unknown: string]: ElementArray;
}

/**
 * What an operand is to the look-ups of promotions: the dtype of a tensor, or the sort of a plain value. Of several at once, as
 * where compilers compare methods, nothing is known.
 */
export type KindOf<O> = [O] extends [Tensor<infer D>]
  ? DType extends D
    ? 'unknown'
    : D
  : [O] extends [number | ScalarRef]
    ? 'number'
    : [O] extends [bigint]
      ? 'bigint'
      : [O] extends [boolean]
        ? 'boolean'
        : 'unknown';

/** The shape that a tensor of shape S has together with an operand: its own beside a plain value, else not known. */
export type Beside<S extends Shape, O> = O extends Scalar ? S : Open;

/** A dtype that was given in a call: it says nothing where it may be any. */
export type Known<D extends DType> = DType extends D ? Open : D;

/** Sizes that were given in a call: those of what the result is wanted for, if that is known. */
export type Given<S extends Shape> = number | GivenShape<S>;
export type GivenShape<S extends Shape> = readonly number[] & NoInfer<readonly [...S]>;
