// Loops and branches over lists of tensors: what `scan`, `whileLoop` and `switchCase` come to when nestings are taken apart.
import type { Index } from '@tsinductor/ir';
import type { Tensor } from '../tensor.ts';

/** A loop over rows. */
export interface FlatScan {
  readonly name: string;
  /** One step. */
  readonly run: (carry: readonly Tensor[], row: readonly Tensor[]) => FlatStep;
  readonly init: readonly Tensor[];
  /** The rows are along the first axis. */
  readonly xs: readonly Tensor[];
  readonly steps: Index;
  /** From the last row to the first. */
  readonly isReverse: boolean;
}

export interface FlatStep {
  readonly carry: readonly Tensor[];
  readonly ys: readonly Tensor[];
}

/** A loop for as long as a condition holds. */
export interface FlatWhile {
  /** A tensor of one boolean. */
  readonly condition: (state: readonly Tensor[]) => Tensor;
  readonly body: (state: readonly Tensor[]) => readonly Tensor[];
  readonly init: readonly Tensor[];
}

/** One of several functions, by an index that is within their number; their results are of one form. */
export interface FlatBranches {
  readonly name: string;
  /** One i64. */
  readonly index: Tensor;
  readonly branches: readonly (() => readonly Tensor[])[];
}
