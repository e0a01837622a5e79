// The graph: FX's vocabulary. SSA, a list of nodes in topological order, plain JSON-able data.
//
// Two levels share the type. As traced, a `call` names any operator, composites (softmax, layerNorm) among them; after
// the `decompose` pass only primitives are left, each of which lowering knows. Metas are always present.
import type { DType, SourceLocation } from '@tsinductor/base';
import type { Decision, Index } from '@tsinductor/ir';

export type NodeId = number & { readonly brand?: 'NodeId' };

/** What is known of a tensor value. Strides are in elements; sizes may be symbolic. */
export interface Meta {
  readonly shape: readonly Index[];
  readonly strides: readonly Index[];
  readonly dtype: DType;
}

/** Result `result` of node `node`. */
export interface ValueRef {
  readonly kind: 'value';
  readonly node: NodeId;
  readonly result: number;
}

/**
 * A number, boolean or bigint where a tensor may stand: it takes part in promotion as a Python scalar does. A number
 * is `int` if it was an integer (2), `float` if the user said so (see `Scalar` in tensor) or it has a fraction.
 */
export interface ScalarRef {
  readonly kind: 'scalar';
  readonly category: 'bool' | 'int' | 'float';
  readonly value: number | boolean | 'NaN' | 'Infinity' | '-Infinity' | '-0' | { readonly bigint: string };
}

export type Arg = ValueRef | ScalarRef | null | readonly ValueRef[];

/** An attribute's value: plain data; sizes may be symbolic. */
export type Attr =
  | null
  | boolean
  | number
  | string
  | { readonly bigint: string }
  | { readonly size: Index }
  | { readonly dtype: DType }
  | ScalarRef
  | readonly Attr[];
export type Attrs = Readonly<Record<string, Attr>>;

/** What a trace says of the calls in it, for gradients and for the partition of forward and backward. */
export interface OriginMarks {
  /** Made within noGrad: no gradient flows through it. */
  readonly isConstant?: boolean;
  /**
   * Made by a backward pass: from the cotangents that flow through it (`backward`), or for its sake from values of the forward
   * pass alone (`residual`).
   */
  readonly pass?: 'backward' | 'residual';
  /** The call of `checkpoint`, the outermost one, that made it: a number that no other call of the trace has. */
  readonly region?: number;
}

/** Where a node came from: the user's line, the composite operators it was decomposed from (outermost first). */
export interface NodeOrigin extends OriginMarks {
  readonly location?: SourceLocation;
  readonly from: readonly string[];
}

export type GraphNode = { readonly id: NodeId; readonly results: readonly Meta[]; readonly origin: NodeOrigin } & (
  | { readonly kind: 'placeholder'; readonly name: string }
  /** A tensor constant: raw little-endian bytes in base64, contiguous. */
  | { readonly kind: 'constant'; readonly data: string }
  /** `args` in the order of the operator's tensor parameters; everything else in `attrs`, by parameter name. */
  | CallGraphNode
  | HostCallNode
);

/** A call of an operator. */
interface CallGraphNode {
  readonly kind: 'call';
  readonly target: string;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
  /** Values that it does not use, but that are made before it: so what is computed again is not computed early. */
  readonly after?: readonly ValueRef[];
  /** What another call gives, and it computes again. */
  readonly again?: ValueRef;
}

/**
 * What no operator says, called by the host: a custom op without a lowering, or a launch of a kernel. Only in graphs as
 * traced: `splitAtHosts` takes them out before anything is decomposed.
 */
export interface HostCallNode {
  readonly kind: 'host';
  readonly target: string;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
  /** Of a loop or a branch. */
  readonly flow?: Flow;
  /** Of a launch, whose arguments are memories, each once: what their elements are when it begins. */
  readonly launch?: LaunchMemory;
}

/**
 * A loop or a branch: graphs that run with the node's arguments as their inputs.
 *
 * - `scan`: one body, once for each row of the arguments `rows`; the attributes `steps` and `reverse` say how many there are, and in
 *   which order. Results: the last values of what is carried, then `stacked` outputs with a row for each step.
 * - `while`: a condition, whose first output is one boolean, and a body. Results: the last values of what is carried.
 * - `branch`: argument 0 is one i64 and says which of the bodies runs. Results: what it carries, then `stacked` outputs.
 */
export interface Flow {
  readonly form: 'scan' | 'while' | 'branch';
  /** The argument that each input of a body is. */
  readonly bodies: readonly { readonly graph: Graph; readonly inputs: readonly number[] }[];
  readonly rows: readonly number[];
  /** Arguments that become an output of the last body: in the next step, or, of a branch, as a result. */
  readonly carried: readonly { readonly argument: number; readonly output: number }[];
  readonly stacked: readonly number[];
}

/** How a launch uses memory. Its results are what the written ones hold afterwards. */
export interface LaunchMemory {
  /** Its tensors, by the names of its parameters: the position of their memory among the arguments, and where they lie in it. */
  readonly operands: readonly { readonly name: string; readonly memory: number; readonly layout: ViewLayout }[];
  /** For each memory the placeholder (a position) whose own memory it is; null: it was made in the graph, contiguous. */
  readonly homes: readonly (number | null)[];
  /** Positions of the memories that are written to, in the order of the results. */
  readonly written: readonly number[];
}

/** Where a view's elements lie: strides and offset as functions of those of its base. */
export interface ViewLayout {
  readonly shape: readonly Index[];
  readonly strides: readonly Index[];
  readonly offset: Index;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly outputs: readonly ValueRef[];
  /** After the call, input `placeholder` (a position) holds the value of output `output` (a position). */
  readonly mutations: readonly { readonly placeholder: number; readonly output: number }[];
  /** Symbolic sizes used in the graph, each bound to an axis of a placeholder. */
  readonly sizes: readonly { readonly name: string; readonly placeholder: number; readonly axis: number }[];
  /** What the passes decided. */
  readonly decisions?: readonly Decision[];
}
