// What a run of a kernel on the host is given, and what passes between its threads: plain types, no behaviour.
import type { DType } from '@tsinductor/base';
import type { Value as Scalar } from '@tsinductor/ops';
import type { Index, Stmt } from '@tsinductor/ir';

/** Memory of a kernel: one scalar per element; undefined was never written. */
export interface KernelMemory {
  readonly dtype: DType;
  readonly elements: (Scalar | undefined)[];
}

export interface KernelRun {
  readonly memory: ReadonlyMap<string, KernelMemory>;
  readonly sizes: ReadonlyMap<string, number>;
  /** How many units a parallel loop's chunk has; the chunks run in descending order, so that order cannot matter. */
  readonly chunk?: number;
  /** In which order the threads and blocks of a launch run; ascending if absent. */
  readonly order?: 'ascending' | 'descending';
  /** Told of every line that is printed, as it is printed. */
  readonly print?: (unit: number, line: string) => void;
}

/** Where a thread meets others, and with which value for them. */
export interface Meeting {
  readonly statement: Stmt & { readonly kind: 'barrier' | 'shuffle' | 'matrixLoad' | 'matrixMultiply' };
  /** What it offers. */
  readonly values: readonly Scalar[];
}

/** What a thread gets where it meets others of its warp: what each of them offers, and which one it is itself. */
export interface Met {
  readonly lane: number;
  readonly offers: readonly (readonly Scalar[])[];
}

/** Told of every access of memory that threads share. */
export type Watch = (access: { readonly name: string; readonly place: number; readonly kind: AccessKind }) => void;
export type AccessKind = 'read' | 'write' | 'atomic';

/** What a thread of a launch knows beforehand. */
export interface ThreadOptions {
  readonly names: ReadonlyMap<string, bigint>;
  /** What indices mention, for all threads of the launch to fill and use. */
  readonly freeAxes?: Map<Index, ReadonlySet<string>>;
}
