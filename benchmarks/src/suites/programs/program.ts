// What a program of the `eager` suite is: inputs, the computation on tensors as a user writes it, and beside that the loop over typed
// arrays that they would write instead. A program is made for a size: the suite measures the full one, a test runs a small one.
import type { Tensor } from 'tsinductor';
import { fillInput } from '../../random-input.ts';

/** What a program works on. */
export interface ProgramInput {
  /** Integers become a tensor of i64. */
  readonly array: Float32Array | Int32Array;
  readonly shape: readonly number[];
}

/** A program of one size. */
export interface Program {
  readonly inputs: readonly ProgramInput[];
  readonly tensors: (...inputs: readonly Tensor[]) => readonly Tensor[];
  /** Computes the same from the arrays of the inputs, which it closes over. */
  readonly plain: () => readonly (Float32Array | Int32Array)[];
  /** Largest difference, relative to the largest magnitude of a result. */
  readonly tolerance: number;
}

/** A program of any size. */
export interface SizedProgram {
  readonly name: string;
  readonly full: number;
  readonly small: number;
  readonly make: (size: number) => Program;
}

/** A program with the size that is measured and the one that is tested. */
export const sized = (
  name: string,
  { full, small }: Pick<SizedProgram, 'full' | 'small'>,
  make: (size: number) => Program,
): SizedProgram => ({ name, full, small, make });

/** Uniform numbers. */
export const floats = (size: number, seed: number, [low, high]: readonly [number, number] = [-1, 1]): Float32Array =>
  fillInput({ size, seed, low, high });

/** Uniform integers from 0 up to below a bound. */
export const integers = (size: number, seed: number, bound: number): Int32Array =>
  Int32Array.from(floats(size, seed, [0, 1]), (value) => Math.min(bound - 1, Math.floor(value * bound)));

// Reads are in bounds by construction; a default would make them several times slower. Each kind of array has a reader of its own,
// so that V8 meets one kind of array in each.
/* eslint-disable @typescript-eslint/non-nullable-type-assertion-style -- `as number` is free in a hot loop */
export const read = (array: Float32Array, index: number): number => array[index] as number;
export const readDouble = (array: Float64Array, index: number): number => array[index] as number;
export const readInteger = (array: Int32Array, index: number): number => array[index] as number;
/* eslint-enable @typescript-eslint/non-nullable-type-assertion-style */
