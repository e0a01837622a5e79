// Loop IR: what lowering makes and the scheduler fuses. One LoopNode per buffer (or several buffers that one pass fills; or
// several maps that fill a buffer, each a part of it that no other writes), no order beyond data dependence, no target.
// Every access is explicit: loads carry flat indices, stores are `writes`.
import type { DType, SourceLocation } from '@tsinductor/base';
import type { Axis, Index } from './index-expr.ts';
import type { Body, BufferId } from './scalar.ts';
import type { Decision } from './schedule.ts';

/** What a node came from: for comments in generated code, errors and `explain`. */
export interface Origin {
  /** The operator, as the user knows it (`softmax`), or the pass that made the node. */
  readonly op: string;
  readonly location?: SourceLocation;
}

export interface BufferDecl {
  readonly id: BufferId;
  /** Readable and unique in the program, matching /^[a-z][a-z0-9_]*$/: generated, never a user's text. */
  readonly name: string;
  readonly dtype: DType;
  /** Logical shape, and strides in elements: canonical row-major for what we allocate, the guard's for inputs. */
  readonly shape: readonly Index[];
  readonly strides: readonly Index[];
  /** Elements from `offset` 0 to the last one reached, plus one: what must be allocated or may be read. */
  readonly size: Index;
  readonly role: 'input' | 'output' | 'temporary' | 'constant';
  /** Where role is `constant`: raw little-endian bytes in base64. */
  readonly data?: string;
}

interface LoopNodeBase {
  readonly id: number;
  readonly outs: readonly BufferId[];
  /** The flat index in each out that a point of `axes` writes: injective over the axes. */
  readonly writes: readonly Index[];
  /** The iteration space of the outputs, outermost first. */
  readonly axes: readonly Axis[];
  readonly origins: readonly Origin[];
  /**
   * Buffers that it does not read, but that are filled before it runs: so what is computed again stays late. The scheduler keeps to
   * it where nodes become groups; within a group it says nothing.
   */
  readonly after?: readonly BufferId[];
  /**
   * The buffer that another node fills with what it computes again. It shares loops with such nodes only, and where the others do: so
   * it adds numbers in the order in which they do, and who reads it in the order in which they would read a value that was kept.
   */
  readonly again?: BufferId;
}

/** One value per out at every point. */
export interface MapNode extends LoopNodeBase {
  readonly kind: 'map';
  readonly body: Body;
}

/**
 * For every point of `axes`: state := init; for points of `over` in any order, and in any grouping, state := step
 * (`carried` 0..n-1 is the state); partial states are joined by merge (`carried` 0..n-1 left, n..2n-1 right, both in
 * ascending order of position); outs := finish (`carried` 0..n-1).
 */
export interface ReduceNode extends LoopNodeBase {
  readonly kind: 'reduce';
  readonly over: readonly Axis[];
  readonly state: readonly DType[];
  readonly init: Body;
  readonly step: Body;
  readonly merge: Body;
  readonly finish: Body;
}

/**
 * An inclusive scan along `over`, in order: like reduce, but outs are written at every step (so `writes` may use the
 * `over` axis) with finish of the state after that step.
 */
export interface ScanNode extends LoopNodeBase {
  readonly kind: 'scan';
  readonly over: readonly [Axis];
  readonly state: readonly DType[];
  readonly init: Body;
  readonly step: Body;
  readonly merge: Body;
  readonly finish: Body;
}

/**
 * out := (a copy of) what the out holds, then for every point of `axes` in ascending order, out[writes[0]] :=
 * combine(out[...], body). `writes` may contain indirect indices of `body`. The out is first filled by `initial` (a
 * buffer of the same layout), or by zeros.
 */
export interface ScatterNode extends LoopNodeBase {
  readonly kind: 'scatter';
  readonly mode: 'set' | 'add' | 'multiply' | 'min' | 'max';
  readonly initial?: BufferId;
  readonly body: Body;
}

/**
 * One operand of a contraction: the element at `at`, an affine index over batch axes, one of m and n, and `over`; or what `element`
 * computes, of that element among others, over the same axes. Its one result has the dtype in which products are summed.
 */
export interface ContractOperand {
  readonly buffer: BufferId;
  readonly at: Index;
  readonly element?: Body;
}

/**
 * out[batch, m, n] = sum over `over` of a[batch, m, over] * b[batch, over, n], accumulated in `accumulate`, rounded once to the
 * out's dtype. `axes` = [...batch, m, n]. A matrix product is over one axis; a convolution over places of its window, then channels.
 */
export interface ContractNode extends LoopNodeBase {
  readonly kind: 'contract';
  readonly batch: readonly Axis[];
  readonly m: Axis;
  readonly n: Axis;
  /** One or more, outermost first. */
  readonly over: readonly Axis[];
  readonly a: ContractOperand;
  readonly b: ContractOperand;
  readonly accumulate: DType;
}

/** Elements of a row, the axis of which `at` is affine in. */
export interface SortOperand {
  readonly buffer: BufferId;
  readonly at: Index;
}

/**
 * For every point of `axes`, the elements of the row `along` in order: stably, NaN above all numbers, 0 and -0 alike. Along `kept`
 * are the first of them; or with `places` those at these places of the order, of which one out of range is the nearest that there is.
 * An out holds the elements as they are, or their positions in the row in i64.
 */
export interface SortNode extends LoopNodeBase {
  readonly kind: 'sort';
  readonly along: Axis;
  readonly kept: Axis;
  readonly descending: boolean;
  /** Over `axes` and `along`. */
  readonly keys: SortOperand;
  /** Over `axes` and `kept`, in i64. */
  readonly places?: SortOperand;
  /** What each out holds; their writes are over `axes` and `kept`. */
  readonly results: readonly SortResult[];
}

type SortResult = 'values' | 'indices';

export type LoopNode = MapNode | ReduceNode | ScanNode | ScatterNode | ContractNode | SortNode;

/** A place in the user's program where a run-time check can fail. */
export interface CheckSite {
  readonly op: string;
  /** The index that is checked; or, with a remedy, what is wrong with the user's values. */
  readonly what: string;
  /** What the user should do, where the check is of a condition (as an index into an axis of size 1) and not of an index. */
  readonly remedy?: string;
  readonly location?: SourceLocation;
}

export interface LoopProgram {
  readonly buffers: readonly BufferDecl[];
  /** Inputs in the order of the graph's placeholders, outputs in the order of its results. */
  readonly inputs: readonly BufferId[];
  readonly outputs: readonly BufferId[];
  /** In an order that respects data dependence. */
  readonly nodes: readonly LoopNode[];
  /** The names of symbolic sizes, in the order in which they are passed to the entry. */
  readonly sizes: readonly string[];
  readonly sites: readonly CheckSite[];
  /** Inputs whose elements the caller replaces by those of an output when the program has run. */
  readonly updates?: readonly { readonly input: BufferId; readonly output: BufferId }[];
  /** What was decided about its graph. */
  readonly decisions?: readonly Decision[];
}
