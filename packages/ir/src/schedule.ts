// What the scheduler decides: which loop nodes share a nest, in which order groups run, where buffers live and when
// they die, and why. A strategy only binds it to a target.
import type { Axis, Index } from './index-expr.ts';
import type { LoopNode, LoopProgram } from './loop.ts';
import type { BufferId } from './scalar.ts';

type GroupId = number & { readonly brand?: 'GroupId' };

/**
 * A nest of a group. Its `loops` are shared by everything below; children run one after another within them. A
 * NodeRef's own remaining axes (and `over` axes) are the loops of the LoopTree directly above it, so that several
 * NodeRefs in one innermost tree share one loop.
 *
 * In an innermost tree of maps, an axis of a map may be shorter than the loop of its name, by one and the same length for all
 * such maps: these run in the first points of the loop only.
 */
export interface LoopTree {
  readonly kind: 'loops';
  readonly loops: readonly LoopBand[];
  readonly children: readonly (LoopTree | NodeRef)[];
}

export interface LoopBand {
  readonly axis: Axis;
  /** reduction: the loop carries a reduction's state for at least one node below it. */
  readonly role: 'parallel' | 'reduction';
}

export interface NodeRef {
  readonly kind: 'node';
  /** Index into Group.nodes. */
  readonly node: number;
  /** reduce nodes: their finish runs where the reduction loops close. */
}

/** A buffer that lives within one iteration of the group's shared outer loops: a scalar or a small tile. */
export interface LocalBuffer {
  readonly buffer: BufferId;
  /** scalar: one value per iteration of the loops around writer and readers. row: indexed by the inner axes. */
  readonly kind: 'scalar' | 'row';
  /** row: elements needed (the product of the inner extents), and the index to use instead of the buffer's own. */
  readonly size: Index;
}

export interface Group {
  readonly id: GroupId;
  /**
   * What it computes: fused_add_exp_sum. Matches /^[a-z][a-z0-9_]*$/, at most 60 characters. Groups that do the same have the same.
   */
  readonly name: string;
  /** Nodes rewritten to the group's own axis names, in execution order. */
  readonly nodes: readonly LoopNode[];
  readonly nest: LoopTree;
  readonly locals: readonly LocalBuffer[];
  readonly reads: readonly BufferId[];
  readonly writes: readonly BufferId[];
  /** Choices of the target, by name, that are others for this group than for all: what a clock has found to be faster. */
  readonly choices?: Readonly<Record<string, unknown>>;
}

/** A place of a temporary, at `offset` bytes (a multiple of 64); lifetimes [first, last] are positions in `groups`. */
export interface PlacePlan {
  readonly offset: Index;
  readonly bytes: Index;
  readonly first: number;
  readonly last: number;
  /** The buffer that this one is written over, by the group that reads it last. */
  readonly over?: BufferId;
}

/** Where a buffer of the program lives. */
export type BufferPlan = { readonly buffer: BufferId } & (
  | { readonly kind: 'input'; readonly position: number }
  /**
   * Where it is `over` an input, it may lie in that one's memory, wherever that begins: elements are read for the last time where they
   * are written.
   */
  | { readonly kind: 'output'; readonly position: number; readonly over?: BufferId }
  /** In the workspace. */
  | ({ readonly kind: 'workspace' } & PlacePlan)
  /** In the memory of a result that is written only after the temporary's last use (or over it, by its last reader). */
  | ({ readonly kind: 'hosted'; readonly output: BufferId } & PlacePlan)
  | { readonly kind: 'constant' }
  /** Never materialised: inlined, or local to a group. */
  | { readonly kind: 'virtual' }
);

/** What was decided, why, and by which stage of the pipeline. */
export type Decision = { readonly stage?: string } & (
  | {
      readonly kind: 'inlined';
      readonly producer: string;
      readonly consumers: readonly string[];
      readonly reason: string;
    }
  | { readonly kind: 'fused'; readonly nodes: readonly string[]; readonly reason: string; readonly bytesSaved?: string }
  | { readonly kind: 'rejected'; readonly nodes: readonly string[]; readonly reason: string }
  | { readonly kind: 'reused'; readonly buffer: string; readonly of: string; readonly reason: string }
  /** A buffer that got these strides, or would have got them. */
  | {
      readonly kind: 'padded';
      readonly buffer: string;
      readonly isDone: boolean;
      readonly strides: string;
      readonly reason: string;
    }
  /** Parts of a graph that a rule has put others in the place of. */
  | { readonly kind: 'rewritten'; readonly rule: string; readonly count: number; readonly reason: string }
  /** Values of the forward pass that are kept for the backward pass, or computed again there: bytes and operations of each. */
  | {
      readonly kind: 'kept' | 'recomputed';
      readonly value: string;
      readonly count: number;
      readonly bytes: number;
      readonly operations: number;
      readonly reason: string;
    }
  /** A partition of forward and backward that was to choose from: the peak of a call, and operations that it adds. */
  | {
      readonly kind: 'partition';
      readonly plan: string;
      readonly isChosen: boolean;
      readonly peakBytes?: number;
      readonly operations: number;
      readonly reason: string;
    }
  /** Choices of the target that a clock has made for a group, or has found no better than those for all. */
  | {
      readonly kind: 'tuned';
      readonly group: string;
      readonly choices: string;
      readonly reason: string;
      /** Nothing could be measured this time: code that goes by it is not kept for the next one. */
      readonly isProvisional?: true;
      /** All that was measured for it, the fastest first: the choices, as text, and how long they take or why they cannot be taken. */
      readonly measured?: readonly TimedChoices[];
    }
  /** How a kernel moves memory: the rule that says so, and what it does to which buffers, by the kernel's names for them. */
  | {
      readonly kind: 'traffic';
      readonly rule: string;
      readonly what: string;
      readonly reason: string;
      /** Where decisions about several kernels stand together. */
      readonly kernel?: string;
    }
);

/** What a group costs, counted from its accesses; numbers but for symbolic sizes. */
export interface GroupStatistics {
  /** Bytes that it reads from and writes to memory. */
  readonly readBytes: Index;
  readonly writtenBytes: Index;
  /** What any kernel with these inputs and results would move: what is needed of each once. */
  readonly leastBytes: Index;
  /** Arithmetic operations, by the costs of the ops' table; two for each product of a contraction. */
  readonly flops: Index;
}

/** Bytes of temporaries in memory. */
export interface MemoryStatistics {
  /** All of them at once. */
  readonly totalBytes: Index;
  /** The most that live at the same time, with the groups in the order of the program and in the order chosen. */
  readonly peakBefore: Index;
  readonly peakAfter: Index;
}

interface ScheduleStatistics {
  /** In the order of the groups. */
  readonly groups: readonly GroupStatistics[];
  readonly memory: MemoryStatistics;
  /** How often two clusters of nodes were tried as one. */
  readonly pairs: number;
}

export interface Schedule {
  readonly program: LoopProgram;
  readonly groups: readonly Group[];
  readonly buffers: readonly BufferPlan[];
  readonly workspaceBytes: Index;
  readonly decisions: readonly Decision[];
  /** What the scheduler counted; a schedule made by hand has none. */
  readonly statistics?: ScheduleStatistics;
}

export interface TimedChoices {
  readonly choices: string;
  readonly milliseconds?: number;
  readonly failure?: string;
}
