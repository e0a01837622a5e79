// A workload: what is computed, on which inputs, what the machine must at least do for it, and what the answer is.
import { elementOf } from './random-input.ts';
import type { InputSpec } from './random-input.ts';
import type { Params } from './protocol.ts';

/** The least work: what the limit of a row is computed from. */
export interface Work {
  /**
   * Arrays of the main size that must be read and written, and their bytes; the rest is too small to count. One that is read
   * beside one of four times its bytes that is written counts as a quarter.
   */
  readonly reads: number;
  readonly writes: number;
  readonly streamBytes: number;
  /** Two for each addition or product, which takes the place of a multiply-add where it cannot be half of one. */
  readonly flops?: number;
  /** Evaluations of functions that cost more than that; transcendental ones within 4 ULP. */
  readonly functions?: Readonly<Partial<Record<FunctionName, number>>>;
}
/**
 * `divide` is a division or a square root, `random` a word of Philox 4x32 with ten rounds, by its counter; `fromBf16` and `toBf16`
 * are conversions, the latter with halves to even and NaN as it is; `fromInt8` and `toInt8` are those of f32 from and to int8.
 * `single` is a product or a sum of a program that has about as many of each, and none beside another in a multiply-add.
 */
export type FunctionName =
  'exp' | 'sigmoid' | 'erf' | 'log' | 'divide' | 'random' | 'fromBf16' | 'toBf16' | 'fromInt8' | 'toInt8' | 'single';

export interface Workload {
  readonly suite: string;
  readonly name: string;
  readonly op: string;
  readonly params: Params;
  readonly inputs: readonly InputSpec[];
  /** Elements of each output. */
  readonly outputs: readonly number[];
  /** Absent for small workloads, where the call is what is measured. */
  readonly work?: Work;
  /** The exact value of one element of an output, in double precision. */
  readonly reference: (output: number, index: number) => number;
  /** Another right value, where chance decides which it is. */
  readonly orElse?: (output: number, index: number) => number;
  /** Where the main arrays lie: the workloads of a place are summed up together. */
  readonly place?: string;
  /** Why this workload stays far below its limit, where it does and that cannot be helped. */
  readonly shortfall?: string;
  /** Why hand-fused C++ is faster, where it is and that cannot be helped. */
  readonly handFused?: string;
  /** Largest difference, relative to the largest magnitude in the sample. */
  readonly tolerance: number;
}

/** A workload from a user's module: only our own contender can run it. */
export interface FileWorkload {
  readonly suite: string;
  readonly name: string;
  readonly file: string;
  readonly index: number;
  readonly bytes?: number;
  readonly flops?: number;
}

/** An input of `size` uniform values. */
export const uniform = (size: number, seed: number, [low, high]: readonly [number, number] = [-1, 1]): InputSpec => ({
  size,
  seed,
  low,
  high,
});

/** A function from index to element, for references. */
export const reader =
  (spec: InputSpec): ((index: number) => number) =>
  (index) =>
    elementOf(spec, index);

/** Bytes that a workload must move. */
export const bytesOf = ({ reads, writes, streamBytes }: Work): number => (reads + writes) * streamBytes;

/** Up to 128 indices of an output, ends included, at an odd stride that meets every column and lane. */
export function sampleIndices(size: number): readonly number[] {
  const count = Math.min(size, 128);
  const stride = Math.max(1, Math.floor((size - 1) / Math.max(1, count - 1)) - 1) | 1;
  const indices = Array.from({ length: count }, (_, i) => (i * stride) % size);
  return [...new Set([...indices, size - 1])];
}
