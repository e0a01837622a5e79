// Who writes operators down instead of running them. While a recorder is in its slot (for the synchronous extent of a
// trace), every operator, creation and write goes to it; tensors that it makes belong to it and have no memory yet.
import type { DType } from '@tsinductor/base';
import type { Attrs, Flow, Graph, SizeEnvironment } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import type { Device } from './device.ts';
import type { BoundCall, GivenCall } from './bound-call.ts';
import type { HostCall } from './custom-op/custom-op.ts';
import type { ElementValue } from './element-array.ts';
import type { Layout } from './layout.ts';
import type { Storage } from './storage.ts';
import type { Tensor } from './tensor.ts';
import type { TraceResult } from './trace/trace-result.ts';

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

/** A parameter of a body: a tensor of the recorder, or the rows of one. */
export interface Formal {
  readonly tensor: Tensor;
  readonly isRow: boolean;
}

/** What a body does with its parameters. */
export type BodyRun = (tensors: readonly Tensor[]) => readonly Tensor[];

/** The body of a loop or a branch, which ran once on stand-ins. */
export interface OpenBody {
  readonly outputs: readonly Tensor[];
  /** Tensors from outside that it uses. */
  readonly captures: readonly Tensor[];
  /** Tensors from outside that it writes to. */
  readonly written: readonly Tensor[];
  /** Its graph; what it writes to comes behind its outputs. Tensors from outside are parameters behind its own. */
  close(written: readonly Tensor[]): ClosedBody;
}

export interface ClosedBody {
  readonly graph: Graph;
  readonly hosts: TraceResult['hosts'];
  readonly captures: readonly Tensor[];
}

/** A loop or a branch, as a recorder takes it. Bodies take operands in order, then what they capture. */
export interface FlowCall {
  readonly kind: 'flow';
  readonly form: Flow['form'];
  readonly name: string;
  readonly operands: readonly Tensor[];
  /** Operands whose rows are passed, of a scan. */
  readonly rows: readonly number[];
  /** Operands that are another value in the next step: an output of the last body. */
  readonly carried: readonly { readonly operand: number; readonly output: number }[];
  /** Outputs of the body that are results with a row for each step, of a scan; results, of branches. */
  readonly stacked: readonly number[];
  readonly bodies: readonly OpenBody[];
  readonly steps?: Index;
  readonly isReverse?: boolean;
}

/** What the bodies of a flow node call. */
export interface FlowBodies {
  readonly kind: 'flow';
  readonly name: string;
  readonly hosts: readonly TraceResult['hosts'][];
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
  /** Traces the body of a loop or a branch; absent, as `flow`, where these run as the program says. */
  openBody?(name: string, formals: readonly Formal[], run: BodyRun): OpenBody;
  /** A loop or a branch: the results. What its bodies write to is written. */
  flow?(call: FlowCall): readonly Tensor[];
  /** How often memory was written to that the tensor has elements of; absent as `flow` is. */
  writesTo?(tensor: Tensor): number;
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
  /** Whether a write to what the tensor holds is recorded and not done yet; absent where a write makes a new value. */
  isWaiting?(tensor: Tensor): boolean;
  /** Runs `work`, which records gradients; undefined where that is part of what is recorded. */
  tracked?<T>(work: () => T): T;
  /** Runs `work` as part of what is recorded, whatever it reads and writes beside tensors. */
  trust<T>(work: () => T): T;
}
