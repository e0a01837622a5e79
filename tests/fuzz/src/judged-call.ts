// A call whose result is judged: what it was given and gave when it was interpreted, how far its operands may be off, and how
// to evaluate it on others.
import type { Tensor } from '@tsinductor/tensor';
import type { CallNode } from './evaluate-graph.ts';
import type { Errors } from './moved-operands.ts';

export interface JudgedCall {
  readonly node: CallNode;
  readonly args: readonly Tensor[];
  /** Of each operand. */
  readonly errors: readonly Errors[];
  readonly result: Tensor;
  /** The same call of other operands. */
  readonly evaluate: (args: readonly Tensor[]) => Tensor;
  /** The same of operands in double precision, borders that it adds being 0: of magnitudes or errors. */
  readonly evaluateDouble: (args: readonly Tensor[]) => Float64Array;
}
