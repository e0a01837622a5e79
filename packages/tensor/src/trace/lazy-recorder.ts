// Running a function that reads values, segment by segment. Operators are recorded; when the program reads a tensor, what
// was recorded so far is a segment: it is run as a whole (by whoever the host has compile it), its results get their
// memory, and a new segment begins. The program itself runs once, with its own arguments.
//
// Invariant: what the program can see is what eager execution would show. Writes to memory that exists are values of
// the segment until it ends; whoever reads that memory ends it. A segment in which a check fails is carried out again,
// operator by operator, up to the one that fails.
import { nestedTrace } from '../errors.ts';
import type { SizeEnvironment } from '@tsinductor/graph';
import type { BoundCall } from '../bound-call.ts';
import type { HostCall } from '../custom-op/custom-op.ts';
import { deferredLocation } from '../location.ts';
import { processState, unrecorded } from '../process-state.ts';
import type { KernelLaunch, Placed, Recorder, Writing } from '../recorder.ts';
import { placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { writeElements } from '../write.ts';
import { Segment } from './segment.ts';
import type { SegmentCause, SegmentHost } from './segment.ts';
import { SegmentInputs } from './segment-inputs.ts';
import { SourceIndex } from './source.ts';
import { TraceSession } from './session.ts';
import type { Memory, TracedView } from './traced-memory.ts';

export class LazyRecorder implements Recorder {
  readonly isLazy = true;
  readonly #host: SegmentHost;
  readonly #inputs: SegmentInputs;
  /** What ended segments keep of memory that exists. */
  readonly #sources = new SourceIndex();
  #segment: Segment | undefined;

  constructor(host: SegmentHost) {
    this.#host = host;
    this.#inputs = new SegmentInputs(host);
  }

  get sizes(): SizeEnvironment {
    return this.#current().session.sizes;
  }

  /** Runs a program; `escaping` gives the tensors that outlive it. */
  run<T>(program: () => T, escaping: (result: T) => readonly Tensor[]): T {
    if (processState.recorder !== undefined) throw nestedTrace();
    processState.recorder = this;
    try {
      const result = program();
      this.#finish(escaping(result));
      return result;
    } catch (error) {
      // What was written before the error stays written.
      this.#finish([]);
      throw error;
    } finally {
      processState.recorder = undefined;
      this.#sources.release();
    }
  }

  call(call: BoundCall): readonly Tensor[] {
    this.#admit(call.tensors);
    const segment = this.#current();
    this.#inputs.enter(call.operator.name, segment.log.length);
    const numbers: Tensor[] = [];
    const lifted = this.#inputs.lift(call, numbers);
    const operands = lifted.tensors.map(({ backing }) => backing);
    const results = segment.session.call(lifted);
    segment.log.call(lifted, operands, results);
    for (const number of numbers) number.dispose();
    return results;
  }

  host({ name, call, runInPlace }: HostCall): readonly Tensor[] {
    const reason = `custom op ${name} has no lowering, and runs eagerly`;
    this.#place(call.tensors, reason);
    return this.suspend(runInPlace, reason);
  }

  launch({ name, operands, run }: KernelLaunch): void {
    const reason = `kernel ${name} is launched`;
    const tensors = operands.map(({ tensor }) => tensor);
    this.#place(tensors, reason);
    this.suspend(() => {
      run(tensors);
    }, reason);
  }

  literal(bytes: Uint8Array, meta: Parameters<Recorder['literal']>[1]): Tensor {
    return this.#current().session.literal(bytes, meta);
  }

  write(target: Tensor, value: Tensor, writing: Writing): void {
    this.#admit([value, target]);
    const segment = this.#current();
    const { operation } = writing;
    segment.session.checkWrite(target, writing);
    if (!segment.session.conflicts(target, { ...writing, value })) {
      this.#inputs.enter(operation, segment.log.length);
      segment.log.write(target, value, operation);
      segment.session.write(target, value, writing);
      return;
    }
    this.#place([value, target], `${operation} writes into memory that is seen in another place as well`);
    this.#sources.protect(placeOf(target, operation).storage);
    unrecorded(() => {
      writeElements(target, value, operation);
    });
  }

  offsetOf(tensor: Tensor): number {
    return this.#current().session.offsetOf(tensor);
  }

  read(tensor: Tensor, operation: string): Placed {
    this.#place([tensor], `${operation} needs the values of a tensor`);
    const place = placeOf(tensor, operation);
    this.#inputs.noteRead(tensor, place);
    return place;
  }

  suspend<T>(work: () => T, reason: string): T {
    // The work may read whatever is recorded, and write to whatever the rest is made of.
    const alive = this.#segment?.session.memories.fresh.filter(({ tensors }) => tensors.some((it) => !it.isDisposed));
    this.#end(alive ?? [], { reason, location: deferredLocation() });
    this.#sources.protectAll();
    return unrecorded(work);
  }

  trust<T>(work: () => T): T {
    return work();
  }

  #current(): Segment {
    return (this.#segment ??= new Segment({
      sources: this.#sources,
      newSession: () => this.#newSession(),
    }));
  }

  #newSession(): TraceSession {
    return new TraceSession({
      owner: {
        recorder: this,
        axesOf: (tensor) => this.#inputs.axesOf(tensor),
        carry: (memory) => {
          this.#current().carry(memory);
        },
      },
    });
  }

  /** Ends the segment where an operand is memory that it has written to under another name. */
  #admit(tensors: readonly Tensor[]): void {
    const session = this.#segment?.session;
    if (session === undefined || !tensors.some((tensor) => session.conflicts(tensor))) return;
    this.#end([], { reason: 'it uses memory that was written to under another name', location: deferredLocation() });
  }

  /** Gives tensors their memory, with everything in it that was written. */
  #place(tensors: readonly Tensor[], reason: string): void {
    const wanted = this.#wanted(tensors);
    const isWaiting = wanted.length > 0 || tensors.some((tensor) => this.#segment?.session.isWritten(tensor) ?? false);
    // A segment of views alone is over as well: so a loop that reads element by element stays linear.
    if (isWaiting) this.#end(wanted, { reason, location: deferredLocation() });
    else if (this.#segment?.leave() === true) this.#segment = undefined;
    else this.#segment?.settleViews(tensors);
  }

  #finish(escaping: readonly Tensor[]): void {
    this.#end(this.#wanted(escaping), undefined);
  }

  /** The memories behind tensors that have yet to be computed, all of them in this segment. */
  #wanted(tensors: readonly Tensor[]): readonly Memory[] {
    return tensors.flatMap(({ backing }) => {
      if (backing.kind !== 'recorded' || backing.recorder !== this) return [];
      const { memory } = backing.handle as TracedView;
      if (memory.home !== this.#segment?.session) this.#current().carry(memory);
      return memory.placeholder === undefined ? [memory] : [];
    });
  }

  #end(wanted: readonly Memory[], cause: SegmentCause | undefined): void {
    const segment = this.#segment;
    this.#segment = undefined;
    segment?.end(this.#host, { wanted, cause });
  }
}
