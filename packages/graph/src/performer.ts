// What a pure graph cannot say, and some operators do: read values that decide a shape, draw random numbers, write to
// their arguments. Such a step is part of the operator's entry (`reads`, `draws`, `writes`), written in the language of
// decompositions, on values that exist or are being recorded. Who makes the call brings the Performer.
import type { DType } from '@tsinductor/base';
import type { ArgumentReader } from './argument-reader.ts';
import type { Composer } from './composer.ts';
import type { ValueRef } from './graph.ts';
import type { Builder } from './operator.ts';
import type { Shape } from './shape.ts';

export interface Performer extends Builder {
  /** Whole numbers that 0-d tensors hold, read all at once: this ends a segment, and breaks a trace. */
  numbers(values: readonly ValueRef[], operation: string): readonly number[];
  /** For each dim, the coordinates of the elements that are not zero, in row-major order. */
  places(mask: ValueRef, operation: string): readonly ValueRef[];
  /** A vector of zeros, of a size that was read: another size at the next call is not another program. */
  zeros(count: number, dtype: DType): ValueRef;
  /** 0, 1 .. up to a size that was read. */
  range(count: number): ValueRef;
  /** Given whole numbers as a vector of i64. */
  vector(values: readonly number[]): ValueRef;
  /** Uniform random numbers in [0, 1), in f32. */
  uniform(shape: Shape): ValueRef;
  /** Stores a value, cast and broadcast, in an argument of the call. */
  write(target: ValueRef, value: ValueRef): void;
}

/** One step of an entry: on the language of decompositions, the call's arguments, and what it may do beside. */
export type Performance<Result> = (c: Composer, a: ArgumentReader, performer: Performer) => Result;

/** What an entry may say of calls that are more than a node of a graph. */
export interface Performances {
  /** Values decide the results' shapes: makes the call with numbers in their place; undefined where it needs none. */
  readonly reads?: Performance<ValueRef | readonly ValueRef[] | undefined>;
  /** Random numbers decide the results: makes them; undefined where nothing is random. */
  readonly draws?: Performance<ValueRef | undefined>;
  /** After the call, writes to arguments. */
  readonly writes?: Performance<void>;
}
