// Who writes operators down instead of running them. While a recorder is in its slot (for the synchronous extent of a
// trace), every operator, creation and write goes to it; tensors that it makes belong to it and have no memory yet.
import type { DType } from '@tsinductor/base';
import type { Attrs, SizeEnvironment } from '@tsinductor/graph';
import type { Device } from './device.ts';
import type { BoundCall, GivenCall } from './bound-call.ts';
import type { HostCall } from './custom-op/custom-op.ts';
import type { ElementValue } from './element-array.ts';
import type { Layout } from './layout.ts';
import type { Storage } from './storage.ts';
import type { Tensor } from './tensor.ts';

/** A tensor's memory: what an eager tensor always has, and a traced one after it was computed. */
export interface Placed {
  readonly kind: 'placed';
  readonly storage: Storage;
  readonly layout: Layout;
}

/** A value of a recorder; `handle` is the recorder's own. */
export interface Recorded {
  readonly kind: 'recorded';
  readonly recorder: Recorder;
  readonly handle: object;
  readonly device: Device;
}

/** A launch of a kernel written by hand, as a recorder takes it. */
export interface KernelLaunch {
  readonly kind: 'launch';
  readonly name: string;
  /** Its tensors, by the names of its parameters; one may stand under several. */
  readonly operands: readonly { readonly name: string; readonly tensor: Tensor; readonly isWritten: boolean }[];
  /** Everything else that it is given. */
  readonly attrs: Attrs;
  /** Launches it; `tensors` stand for the operands, and are written to. */
  readonly run: (tensors: readonly Tensor[]) => void;
}

/** A write: what it is called in errors, and whether every element gets the same value, by what kind of write it is. */
export interface Writing {
  readonly operation: string;
  readonly isUniform?: boolean;
}

export interface Recorder {
  /** Whether the values that a program reads are computed; otherwise reading is refused. */
  readonly isLazy: boolean;
  /** The symbolic sizes of what is being recorded now. */
  readonly sizes: SizeEnvironment;
  /** What a call gives that was recorded before at this place of the program, without binding it; undefined if it was not. */
  repeat?(given: GivenCall): Tensor | Tensor[] | undefined;
  /** Results of an operator. */
  call(call: BoundCall): readonly Tensor[];
  /** The new results of a custom op that has no lowering; what it writes to is written. */
  host(call: HostCall): readonly Tensor[];
  /** A kernel, which writes to some of its operands. */
  launch(launch: KernelLaunch): void;
  /** A literal: contiguous elements that do not depend on inputs, on the device where things are made. */
  literal(bytes: Uint8Array, meta: { readonly dtype: DType; readonly shape: readonly number[] }): Tensor;
  /** Writes `value` (of the target's shape and dtype) into `target`, for everyone who sees its memory. */
  write(target: Tensor, value: Tensor, writing: Writing): void;
  /** Where the first element of a recorded tensor is in its memory. */
  offsetOf(tensor: Tensor): number;
  /** The program needs the values of a tensor, recorded or placed: gives their place, or throws. */
  read(tensor: Tensor, operation: string): Placed;
  /** The program has read one element, which is likely to be another one in the next call. */
  noteRead?(value: ElementValue): void;
  /** Runs `work` at once and outside of what is recorded; refused, with `reason`, where all must be one graph. */
  suspend<T>(work: () => T, reason: string): T;
  /** Runs `work`, which records gradients; undefined where that is part of what is recorded. */
  tracked?<T>(work: () => T): T;
  /** Runs `work` as part of what is recorded, whatever it reads and writes beside tensors. */
  trust<T>(work: () => T): T;
}
