// What a trace session is told: who it records for, and what becomes of literals.
import type { DType, SourceLocation } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { Meta } from '@tsinductor/graph';
import type { BoundCall } from '../bound-call.ts';
import type { Recorder } from '../recorder.ts';
import type { Reader } from '../symbolic-shape.ts';
import type { Tensor } from '../tensor.ts';
import type { DynamicAxis } from './input-meta.ts';
import type { OpenedCall } from './opened-call.ts';
import type { TraceSession } from './session.ts';
import type { Memory } from './traced-memory.ts';

/** Who a session records for, where it is one of the segments that a function is run in. */
interface SegmentOwner {
  readonly recorder: Recorder;
  /** The sizes to record with. */
  readonly sizes: SizeEnvironment;
  /** The user's line, of which a text is made when it is needed. */
  locate(): SourceLocation | undefined;
  /** Axes of an input met on the way that get symbolic sizes. */
  axesOf(tensor: Tensor): readonly DynamicAxis[];
  /** The memory is of an earlier segment: makes its value one of this session. */
  carry(memory: Memory): void;
}

/** A call to be recorded: as it is, or as the primitives that it comes to, with tensors in the place of some of their numbers. */
export interface AdaptedCall extends BoundCall {
  readonly opened?: { readonly call: OpenedCall; readonly inputs: ReadonlyMap<string, Tensor> };
}

/** What a body within a trace is recorded with: its calls are counted on, and what the program reads is told as around it. */
export function optionsWithin(outer: TraceSession, options: TraceOptions): TraceOptions {
  const { owner: _, ...around } = options;
  return { ...around, outer, adapt: (call, __, metas) => outer.adapt(call, metas) };
}

export interface TraceOptions {
  /** Literals of more bytes are inputs of the graph, not constants in it. */
  readonly maximumConstantBytes?: number;
  /** Whether tensors of one element are constants as all others, and not numbers in the graph. */
  readonly keepScalars?: boolean;
  /** Sees each call before it is recorded, with how many came before it and the metas of its tensors; gives the one that is. */
  readonly adapt?: (call: BoundCall, position: number, metas: () => readonly Meta[]) => AdaptedCall;
  /** Sees the elements of each tensor that the program makes of values. */
  readonly sawLiteral?: (bytes: Uint8Array, meta: { readonly dtype: DType; readonly shape: readonly number[] }) => void;
  /** Whether the program may read the size of an axis, by this function of ours, as a number for the hints and without fixing it. */
  readonly readsFreely?: (axis: number, reader: Reader) => boolean;
  /** Symbolic sizes that inputs have already, and what was asked of them. */
  readonly sizes?: SizeEnvironment;
  /** Set: the session records the body of a loop or a branch within that trace. */
  readonly outer?: TraceSession;
  /** Set: the session records a segment, and its tensors belong to that recorder. */
  readonly owner?: SegmentOwner;
}

/** The symbolic sizes that a session records with. */
export const sizesOf = ({ owner, outer, sizes }: TraceOptions): SizeEnvironment =>
  (owner ?? outer)?.sizes ?? sizes ?? new SizeEnvironment();
