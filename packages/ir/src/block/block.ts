// Block IR: what hand-written kernels and templates are written in. A program is run once for each point of a grid (a
// program instance); its values are tiles: blocks of elements of one dtype and a fixed shape, or scalars (shape []).
// Launch constants are substituted already; what is left at run time are the arguments that `params` lists.
//
// Laws: SSA. A tile's id is defined once in the program, before its uses, and is visible to the end of the region that
// defines it and in the regions within. A pointer is a buffer parameter and a tile of offsets in elements (i32 or i64):
// memory operations name the one and take the other. Arithmetic happens in compute dtypes (see Body): f16 and bf16 are
// cast to f32 and back, one rounding for each operation that was written. Instances run in any order and at the same
// time: an element that one instance writes and another touches is a fault, unless all of them touch it atomically.
// Plain data: what the operations mean is said in `tile-ops.ts`, and defined by `interpret-block.ts`.
import type { DType, SourceLocation } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import type { ScalarConstant } from '../scalar.ts';

export type TileId = number & { readonly brand?: 'TileId' };

export interface TileType {
  readonly dtype: DType;
  /** []: a scalar. Extents are at least 1 and known. */
  readonly shape: readonly number[];
}

export interface Tile extends TileType {
  readonly id: TileId;
  /** The user's variable, for readable text: matches /^[a-z][a-z0-9_]*$/i. */
  readonly name?: string;
}

/** An argument of the launch. */
export interface BlockParam {
  /** As in the user's schema; unique, and matches /^[a-z_][a-z0-9_]*$/i. */
  readonly name: string;
  readonly kind: 'buffer' | 'scalar';
  readonly dtype: DType;
  /**
   * What the program may rely on: a scalar's value is a multiple of this, a buffer's address is a multiple of this many
   * bytes. 1: nothing is known.
   */
  readonly divisor: number;
}

export type GridAxis = 0 | 1 | 2;
export type AtomicMode = 'add' | 'max' | 'min' | 'and' | 'or' | 'xor' | 'exchange';
export type HintFact = 'multipleOf' | 'maxContiguous' | 'maxConstancy';

/** What each operation says beside its operands. */
export interface TileAttrs {
  readonly programId: { readonly axis: GridAxis };
  readonly numPrograms: { readonly axis: GridAxis };
  readonly argument: { readonly param: number };
  readonly constant: TileType & { readonly value: ScalarConstant };
  readonly arange: { readonly start: number; readonly end: number };
  readonly broadcast: { readonly shape: readonly number[] };
  readonly reshape: { readonly shape: readonly number[] };
  readonly permute: { readonly order: readonly number[] };
  readonly apply: { readonly op: PointwiseName };
  readonly cast: { readonly dtype: DType };
  readonly bitcast: { readonly dtype: DType };
  readonly load: { readonly param: number };
  readonly store: { readonly param: number };
  readonly atomic: { readonly param: number; readonly mode: AtomicMode };
  readonly atomicCas: { readonly param: number };
  readonly gather: { readonly axis: number };
  readonly dot: { readonly precision: 'ieee' | 'tf32' };
  readonly hint: { readonly fact: HintFact; readonly values: readonly number[] };
  readonly barrier: { readonly scope: 'instance' };
  readonly print: { readonly prefix: string };
  /** A fault where its operand is false, with a message of the user's; and the vow that it is not. */
  readonly assert: { readonly message: string };
  readonly assume: { readonly scope: 'instance' };
}

export type TileOpName = keyof TileAttrs;

/** A flat list in order of execution, and what its user takes from it. */
export interface Region {
  readonly nodes: readonly TileNode[];
  readonly yields: readonly TileId[];
}

interface NodeBase {
  readonly results: readonly Tile[];
  readonly origin: SourceLocation;
}

export type TileOp = {
  readonly [Name in TileOpName]: NodeBase & {
    readonly kind: 'op';
    readonly op: Name;
    readonly args: readonly TileId[];
    readonly attrs: TileAttrs[Name];
  };
}[TileOpName];

/**
 * for (induction = from; step > 0 ? induction < to : induction > to; induction += step). `carried` are `initial` in the
 * first iteration and what `body` yields in the others; `results` are what they are after the last. Bounds are scalars of
 * the induction's dtype; a step of 0 is a fault. `numStages` asks for software pipelining, where a target has it.
 */
export interface ForNode extends NodeBase {
  readonly kind: 'for';
  readonly from: TileId;
  readonly to: TileId;
  readonly step: TileId;
  readonly induction: Tile;
  readonly initial: readonly TileId[];
  readonly carried: readonly Tile[];
  readonly body: Region;
  readonly numStages?: number;
}

/** While `test` (which sees `carried`) yields true: carried := what `body` yields. */
export interface WhileNode extends NodeBase {
  readonly kind: 'while';
  readonly initial: readonly TileId[];
  readonly carried: readonly Tile[];
  readonly test: Region;
  readonly body: Region;
}

/** `test` is a scalar bool; both regions yield the results. */
export interface IfNode extends NodeBase {
  readonly kind: 'if';
  readonly test: TileId;
  readonly then: Region;
  readonly otherwise: Region;
}

/**
 * n tiles of one shape are reduced (or scanned) along `axis` together. `combine` is over scalars: `left` and `right` are n
 * each, it yields n; it is associative, and for a reduction commutative, but for rounding. A reduction drops the axis,
 * and combines in the order of `reductionOrder` (see tile-ops.ts), so that the result is one value on every CPU; targets
 * that cannot follow say so. A scan keeps the axis: result i is combine(result i-1, element i), from the other end if
 * `reverse`.
 */
export interface FoldNode extends NodeBase {
  readonly kind: 'reduce' | 'scan';
  readonly args: readonly TileId[];
  readonly axis: number;
  readonly left: readonly Tile[];
  readonly right: readonly Tile[];
  readonly combine: Region;
  readonly reverse: boolean;
}

export type TileNode = TileOp | ForNode | WhileNode | IfNode | FoldNode;

export interface BlockProgram {
  /** Matches /^[a-z_][a-z0-9_]*$/i. */
  readonly name: string;
  readonly params: readonly BlockParam[];
  readonly body: Region;
  /** The launch constants that were substituted, for people: `BLOCK = 1024`. */
  readonly constants: Readonly<Record<string, string>>;
  readonly origin: SourceLocation;
}
