// Kernel IR: what a strategy makes of a group and a printer turns into text. Imperative, and explicit to the last lane:
// vector widths, unrolled copies, tails, masks, scratch memory and parallel loops are statements here, so that a printer
// decides nothing.
//
// Laws: values are pure (their only effect is to read memory), statements are not. Every name is defined once, before
// its use, and is visible to the end of the block that defines it. Names of loops, chunks and of i64 or i32 scalars may
// stand in an Index (as an axis of that name). Operands of one value have the lanes of the value; `broadcast` widens. A
// lane that `count` or `mask` excludes touches no memory.
//
// A kernel with a `launch` is run by every thread of every block of a grid: the launch's names are i64 scalars that differ
// between them. Threads of a block meet at barriers; threads of a warp (32 with neighbouring numbers) also at shuffles.
// Both are reached by all threads of the block (or warp) or by none. Between two meetings no thread touches an element of
// shared memory that another writes, and within a launch no block touches what another writes, but by atomics.
import type { DType, SourceLocation } from '@tsinductor/base';
import type { PointwiseName } from '@tsinductor/ops';
import type { Index } from '../index-expr.ts';
import type { Origin } from '../loop.ts';
import type { BufferId, ScalarConstant } from '../scalar.ts';
import type { Decision } from '../schedule.ts';
import type { TargetOpName } from './target-ops.ts';

/** One element (lanes 1) or a vector of them. f16 and bf16 occur between a load or store and a cast only. */
export interface ValueType {
  readonly dtype: DType;
  readonly lanes: number;
}

/** Where `lanes` elements lie in memory. */
export interface Access {
  /** A KernelBuffer's or scratch's name. */
  readonly buffer: string;
  /** The element of lane 0; with `offsets`, what their values are added to. */
  readonly at: Index;
  /** Elements from one lane to the next (1: contiguous). Unused with `offsets` and for one lane. */
  readonly step: Index;
  /** For each lane its own distance from `at`: an i64 or i32 vector. */
  readonly offsets?: Value;
  /** What the address of lane 0 is known to be a multiple of, in bytes. */
  readonly align: number;
  /** Only the first `count` lanes are there: the others read as zero, and are not written. */
  readonly count?: Index;
}

export type Value = { readonly type: ValueType } & (
  | { readonly kind: 'name'; readonly name: string }
  /** The same constant in every lane. */
  | { readonly kind: 'constant'; readonly value: ScalarConstant }
  /**
   * An index as i64 or i32. With several lanes, lane l is its value where the axis `lane` is l further on, and names of
   * vectors stand for their lane l.
   */
  | { readonly kind: 'index'; readonly value: Index; readonly lane?: string }
  /** bool: true in the first `count` lanes. */
  | { readonly kind: 'first'; readonly count: Index }
  | { readonly kind: 'apply'; readonly op: PointwiseName; readonly args: readonly Value[] }
  /** A row of `targetOps`, at one type: what a pass for a machine put in the place of an op. */
  | {
      readonly kind: 'target';
      readonly op: TargetOpName;
      readonly args: readonly Value[];
      readonly numbers: readonly number[];
    }
  | { readonly kind: 'cast' | 'bitcast' | 'broadcast'; readonly value: Value }
  /** The lower or upper half of the lanes. */
  | { readonly kind: 'half'; readonly value: Value; readonly part: 'low' | 'high' }
  /** Lane l is lane `order[l]` of the lanes of `value` followed by those of `other`, which has the same type. */
  | { readonly kind: 'rearranged'; readonly value: Value; readonly other: Value; readonly order: readonly number[] }
  | {
      readonly kind: 'load';
      readonly access: Access;
      readonly mask?: Value;
      readonly other?: Value;
      readonly by?: LoadInstructions;
    }
);

/**
 * How lanes that are not side by side come into a vector, where a pass for a machine chose: by permuting the whole vectors that they
 * lie in (at a known step), or by the instruction that gathers lanes at offsets. One by one, or as it comes, if absent.
 */
export type LoadInstructions = 'permute' | 'gather';

export type Stmt =
  | { readonly kind: 'let'; readonly name: string; readonly value: Value }
  /** A variable, which `set` may assign. */
  | { readonly kind: 'var'; readonly name: string; readonly value: Value }
  | { readonly kind: 'set'; readonly name: string; readonly value: Value }
  /** `non-temporal`: to memory, and not into the caches; `align` is at least the bytes stored. */
  | {
      readonly kind: 'store';
      readonly access: Access;
      readonly value: Value;
      readonly mask?: Value;
      readonly hint?: 'non-temporal';
    }
  /** old access := combine(old, value), as one step that no other thread can divide. */
  | { readonly kind: 'atomic'; readonly op: AtomicOp; readonly access: Access; readonly value: Value }
  /**
   * name := the scalar element, which at once becomes combine(element, value): `value` itself for an exchange, and for a
   * compareExchange `value` where the element equals `expected`. One step that no other thread can divide.
   */
  | {
      readonly kind: 'fetch';
      readonly name: string;
      readonly op: FetchOp;
      readonly access: Access;
      readonly value: Value;
      readonly expected?: Value;
    }
  /** for (name = from; name < to; name += step), `unroll` times unrolled by the target's compiler. */
  | {
      readonly kind: 'for';
      readonly name: string;
      readonly from: Index;
      readonly to: Index;
      readonly step: number | Index;
      readonly unroll?: number;
      readonly body: readonly Stmt[];
    }
  /** The test is read anew before each iteration: it is about variables. */
  | { readonly kind: 'while'; readonly test: Condition; readonly body: readonly Stmt[] }
  | {
      readonly kind: 'if';
      readonly test: Condition;
      readonly then: readonly Stmt[];
      readonly otherwise?: readonly Stmt[];
    }
  /**
   * The units 0 <= unit < total in chunks [begin, end) of at least `grain` units (the last may be smaller), in any order
   * and at the same time. Occurs in a kernel's own block only; its body sees the kernel's buffers and sizes and nothing
   * that statements before it defined.
   *
   * `ordered` is done of each chunk after its body, and after all of the chunks of lower units (OpenMP's `ordered`): it may
   * wait for other threads, so chunks must be as few as the threads. `turn` is a buffer of one i64 that is 0 when the loop begins.
   */
  | {
      readonly kind: 'parallel';
      readonly begin: string;
      readonly end: string;
      readonly total: Index;
      readonly grain: Index;
      readonly body: readonly Stmt[];
      readonly ordered?: { readonly turn: string; readonly body: readonly Stmt[] };
    }
  /**
   * Memory, undefined at first: of the statement's block, 64-byte aligned; or with `shared` of all threads of the launch's
   * block, at that many bytes (a multiple of 16) into its shared memory.
   */
  | {
      readonly kind: 'scratch';
      readonly name: string;
      readonly dtype: DType;
      readonly size: number;
      readonly shared?: number;
    }
  /** All threads of the block (or warp) arrive before any goes on, and then sees what they wrote. */
  | { readonly kind: 'barrier'; readonly scope: 'block' | 'warp' }
  /** name := the scalar `value` of another thread of the warp; where that is outside the warp, the thread's own. */
  | {
      readonly kind: 'shuffle';
      readonly name: string;
      readonly value: Value;
      /** The thread `distance` further up (`down`: from a higher number to a lower), `up` likewise, or exactly it. */
      readonly mode: 'down' | 'up' | 'from';
      readonly distance: Index;
    }
  /**
   * `lanes` neighbouring elements set out from a buffer to shared memory; zeros where `mask` is false. Until their group has
   * landed they are undefined. Both places are aligned to the bytes moved: 4, 8 or 16.
   */
  | {
      readonly kind: 'copyAsync';
      readonly dtype: DType;
      readonly lanes: number;
      readonly from: MemoryPlace;
      readonly to: MemoryPlace;
      readonly mask?: Value;
    }
  /** commit: what the thread sent since its last commit is a group. wait: all its groups but the `pending` latest have landed. */
  | { readonly kind: 'copies'; readonly action: 'commit' }
  | { readonly kind: 'copies'; readonly action: 'wait'; readonly pending: number }
  /**
   * Four matrices of 8 x 8 elements of two bytes in shared memory, by the threads of a warp: lane l says by `from` where row
   * l % 8 of matrix l / 8 begins. names[m] := the elements (l / 4, 2 (l % 4)) and one further of matrix m as the halves of an
   * i32, the first in the low bits; of the transposed matrix with `transposed`.
   */
  | {
      readonly kind: 'matrixLoad';
      readonly names: readonly string[];
      readonly dtype: DType;
      readonly from: MemoryPlace;
      readonly transposed: boolean;
    }
  /**
   * sum += left * right by the threads of a warp, in f32: 16 x 16 by 16 x 8 elements of f16 or bf16, or for f32 16 x 8 by 8 x 8
   * of which 10 bits of fraction count. Lane l, g = l / 4, t = l % 4. Of the halves: left[0] is (g, 2t) and (g, 2t + 1), left[1] 8
   * rows further, left[2] and left[3] the same 8 columns further; right[0] (2t, g) and (2t + 1, g), right[1] 8 rows further.
   * For f32: left[0] is (g, t), left[1] 8 rows further, left[2] and left[3] 4 columns further; right[0] (t, g), right[1] 4 rows
   * further. `sum` names four elements of the thread's own memory: (g, 2t), (g, 2t + 1), and 8 rows further.
   */
  | {
      readonly kind: 'matrixMultiply';
      readonly dtype: DType;
      readonly left: readonly Value[];
      readonly right: readonly Value[];
      readonly sum: MemoryPlace;
    }
  /**
   * name := the user's index `value` (i64), with extent added to a negative one where it `wraps`, and put to 0 where it is
   * then outside [0, extent). In that case the run fails with `site`. Lanes from `count` on, and lanes that `mask` excludes, never fail.
   */
  | {
      readonly kind: 'check';
      readonly name: string;
      readonly value: Value;
      readonly extent: Index;
      readonly site: number;
      readonly wraps: boolean;
      readonly count?: Index;
    }
  /**
   * to[c * toStep + r] := from[r * fromStep + c] for r < rows, c < columns; contiguous in both, by element bytes. `non-temporal`:
   * whole tiles are written to memory, and not into the caches, where each row of theirs is a vector at an address that is a multiple of its bytes.
   */
  | {
      readonly kind: 'transpose';
      readonly dtype: DType;
      readonly from: TileCorner;
      readonly to: TileCorner;
      readonly rows: Index;
      readonly columns: Index;
      /** Rows and columns of a whole tile, for which there is a fast path; the counts above are at most this. */
      readonly tile: number;
      readonly hint?: 'non-temporal';
    }
  | SortStmt
  /**
   * A line of text for whoever runs the kernel: pieces and scalars in turn. Lines are told in the order of their `unit`, and
   * those of one unit, which one thread prints, in its order.
   */
  | { readonly kind: 'print'; readonly unit: Index; readonly parts: readonly (string | Value)[] }
  /**
   * The run fails with `site`, for a reason that stands in the user's source. Nothing of its unit runs after it; in a launch
   * all threads of a block reach it. Occurs where there are units: in a parallel loop or a launch.
   */
  | { readonly kind: 'fail'; readonly unit: Index; readonly site: number; readonly reason: FailReason }
  | BoundsStmt
  /** Non-temporal stores before it are visible after it. */
  | { readonly kind: 'fence' }
  | Prefetch
  | { readonly kind: 'comment'; readonly text: string; readonly origins?: readonly Origin[] };

/**
 * The elements of a row in order, as a sort node of the loop IR says. `scratch` has room in i64, as the target's function needs it,
 * which nothing else uses meanwhile; with `threads: 'all'` the runtime's threads share the work, so it stands in the kernel's own block.
 */
export interface SortStmt {
  readonly kind: 'sort';
  readonly dtype: DType;
  readonly descending: boolean;
  readonly keys: TileCorner;
  readonly length: Index;
  /** How many results there are. */
  readonly kept: Index;
  readonly places?: TileCorner;
  readonly values?: TileCorner;
  readonly indices?: TileCorner;
  readonly scratch: MemoryPlace;
  readonly threads: 'one' | 'all';
}

/**
 * The run fails with `site`, as by `fail`, where one of the first `count` elements of an access is not among the `size` that its
 * buffer has; those whose lane `mask` leaves out may be anywhere. The access has no count of its own.
 */
export interface BoundsStmt {
  readonly kind: 'bounds';
  readonly access: Access;
  readonly count: Index;
  readonly mask?: Value;
  readonly size: Index;
  readonly unit: Index;
  readonly site: number;
}

export interface Prefetch {
  readonly kind: 'prefetch';
  readonly buffer: string;
  readonly at: Index;
  readonly intent: 'read' | 'write';
  /** Into which cache; the first, if absent. */
  readonly into?: 'second';
}

interface FailReason {
  readonly message: string;
  readonly origin: SourceLocation;
}

/** Statements that stand for instructions of a machine with warps. */
export type HardwareStmt = Stmt & { readonly kind: 'copyAsync' | 'copies' | 'matrixLoad' | 'matrixMultiply' };

/** An element of a buffer or scratch. */
export interface MemoryPlace {
  readonly buffer: string;
  readonly at: Index;
}

/** What an atomic update does: names of pointwise ops. */
export type AtomicOp = 'add' | 'minimum' | 'maximum';

/** What a `fetch` does: a binary pointwise op, or one of the two that have no op. */
export type FetchOp = PointwiseName | 'exchange' | 'compareExchange';

export interface TileCorner {
  readonly buffer: string;
  readonly at: Index;
  /** Elements from one row of this side to the next. */
  readonly step: Index;
}

/** left < right, and so on: what a kernel branches on. */
export interface Condition {
  readonly kind: 'less' | 'equal' | 'notEqual';
  readonly left: Index;
  readonly right: Index;
}

export interface KernelBuffer {
  /** Unique in the kernel. */
  readonly name: string;
  readonly dtype: DType;
  readonly role: 'read' | 'write' | 'readWrite';
  /** The program's buffer, from an element on (the first, if absent), or workspace that this kernel alone uses. */
  readonly storage:
    | { readonly kind: 'buffer'; readonly buffer: BufferId; readonly from?: number }
    | { readonly kind: 'workspace'; readonly elements: Index };
  /** Elements that may be touched. */
  readonly size: Index;
  /** What the address is known to be a multiple of, in bytes. */
  readonly align: number;
  /** Another of the kernel's buffers lies in the same memory: each element is read, then written over, by one thread. */
  readonly shares?: true;
}

/** How many threads run a kernel, and by which names it knows them. */
export interface Launch {
  readonly blocks: Index;
  /** Threads of a block: a multiple of 32, at most 1024. */
  readonly threads: number;
  /** Bytes of shared memory of a block. */
  readonly sharedBytes: number;
  readonly names: { readonly block: string; readonly blocks: string; readonly thread: string };
}

export interface Kernel {
  /** Readable: fused_add_exp_sum. */
  readonly name: string;
  readonly buffers: readonly KernelBuffer[];
  /** The symbolic sizes that occur in it. */
  readonly sizes: readonly string[];
  readonly body: readonly Stmt[];
  /** Absent: one thread runs it, and its parallel loops go to the runtime. */
  readonly launch?: Launch;
  /**
   * Of sizes, loop variables, names of the launch and what is computed of them, vectors apart: 64 bits if absent. With i32 it
   * runs only for sizes at which its `indexLimits` allow that.
   */
  readonly indexDType?: 'i64' | 'i32';
  readonly origins: readonly Origin[];
  /** How it was bound, for `explain`: "map, 16 lanes of j, 4096 units". */
  readonly notes: readonly string[];
  /** What was decided while it was bound, and why; nothing, if absent. */
  readonly decisions?: readonly Decision[];
}
