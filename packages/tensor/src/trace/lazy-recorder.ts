// Running a function that reads values, segment by segment. Operators are recorded; when the program reads a tensor, what
// was recorded so far is a segment: it is run as a whole (by whoever the host has compile it), its results get their
// memory, and a new segment begins. The program itself runs once, with its own arguments.
//
// What was done before is followed rather than recorded (replay): nothing is inferred, and no graph made. With the first
// operation that is new, everything so far is recorded after all.
//
// Invariant: what the program can see is what eager execution would show. Writes to memory that exists are values of
// the segment until it ends; whoever reads that memory ends it. A segment in which a check fails is carried out again,
// operator by operator, up to the one that fails.
import { nestedTrace } from '../errors.ts';
import type { SourceLocation } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import { isCheckFailure } from '@tsinductor/ir';
import type { BoundCall, GivenCall } from '../bound-call.ts';
import type { HostCall } from '../custom-op/custom-op.ts';
import { deferredLocation, maximumFrames } from '../location.ts';
import { processState, unrecorded } from '../process-state.ts';
import type { KernelLaunch, Placed, Recorder, Writing } from '../recorder.ts';
import { isTensor, placeOf } from '../tensor.ts';
import type { Tensor } from '../tensor.ts';
import { writeElements } from '../write.ts';
import type { ElementValue } from '../element-array.ts';
import { EndedSegment } from './ended-segment.ts';
import { recordAgain } from './replay/again.ts';
import type { KnownStep } from './replay/again.ts';
import { runReplay, signatureOf } from './replay/end.ts';
import { Replay } from './replay/replay.ts';
import { Trail } from './replay/trail.ts';
import type { Before } from './replay/trail.ts';
import { literalTensor } from './record-literal.ts';
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
  /** The segment under way: followed, or recorded. */
  #replay: Replay | undefined;
  #recorded: RecordedSegment | undefined;
  /** The user's line, of the operation that is recorded. */
  #line: { readonly location: SourceLocation | undefined } | undefined;

  constructor(host: SegmentHost) {
    this.#host = host;
    this.#inputs = new SegmentInputs(host);
  }

  get sizes(): SizeEnvironment {
    return this.#recorded?.segment.session.sizes ?? this.#following().sizes;
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

  repeat(given: GivenCall): Tensor | Tensor[] | undefined {
    if (!this.#isFollowing()) return undefined;
    for (const value of given.positional) if (isTensor(value)) this.#takeOver(value);
    return this.#isFollowing() ? this.#following().repeat(given) : undefined;
  }

  call(call: BoundCall): readonly Tensor[] {
    this.#admit(call.tensors);
    for (const tensor of call.tensors) this.#takeOver(tensor);
    const known = this.#recorded === undefined ? this.#following().call(call) : undefined;
    if (known !== undefined) return known;
    const { segment, trail, before } = this.#begin(call.tensors);
    const { lifted, results } = this.#record(segment, call, (made) => made);
    trail.called(before, { call, lifted, results }, this.#line?.location);
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

  /** An input as any other, for the next call may bring other elements to the same segment. */
  literal(bytes: Uint8Array, literal: Parameters<Recorder['literal']>[1]): Tensor {
    return literalTensor(bytes, literal);
  }

  write(target: Tensor, value: Tensor, writing: Writing): void {
    this.#admit([value, target]);
    for (const tensor of [value, target]) this.#takeOver(tensor);
    if (this.#recorded === undefined && this.#following().write(target, value, writing)) return;
    const { segment, trail, before } = this.#begin([value, target]);
    const { operation } = writing;
    segment.session.checkWrite(target, writing);
    if (!segment.session.conflicts(target, { ...writing, value })) {
      const memory = this.#recordWrite(segment, { target, value }, writing);
      trail.wrote(before, writing, { memory, areTwo: target !== value, location: this.#line?.location });
      return;
    }
    // What the segment has made of that memory so far is of its elements before the write.
    for (const tensor of [value, target]) this.#takeOver(tensor);
    this.#endWhole(`${operation} writes into memory that is seen in another place as well`);
    this.#sources.protect(placeOf(target, operation).storage);
    unrecorded(() => {
      writeElements(target, value, operation);
    });
  }

  offsetOf(tensor: Tensor): number {
    const { segment, trail } = this.#recording();
    trail.spoil();
    return segment.session.offsetOf(tensor);
  }

  read(tensor: Tensor, operation: string): Placed {
    this.#place([tensor], `${operation} needs the values of a tensor`);
    return placeOf(tensor, operation);
  }

  noteRead(value: ElementValue): void {
    this.#inputs.noteRead(value);
  }

  suspend<T>(work: () => T, reason: string): T {
    // The work may read whatever is recorded, and write to whatever the rest is made of.
    this.#endWhole(reason);
    this.#sources.protectAll();
    return unrecorded(work);
  }

  /** What gradients need later outlives the segments, so it is computed at once. */
  tracked<T>(work: () => T): T {
    this.#host.noteGradients();
    return this.suspend(work, 'gradients are recorded');
  }

  trust<T>(work: () => T): T {
    return work();
  }

  isWaiting(tensor: Tensor): boolean {
    return (this.#recorded?.segment.session ?? this.#replay)?.isWritten(tensor) === true;
  }

  #isFollowing(): boolean {
    return this.#recorded === undefined;
  }

  /** The segment under way as one that is followed; only while nothing is recorded. */
  #following(): Replay {
    return (this.#replay ??= new Replay(this, this.#host.steps.root));
  }

  /** The segment under way as one that is recorded, with what was followed so far. */
  #recording(): RecordedSegment {
    return this.#recorded ?? this.#recordAgain().recorded;
  }

  /** An operation that is new. */
  #begin(tensors: readonly Tensor[]): RecordedSegment & { readonly before: Before } {
    const recorded = this.#recording();
    this.#line = undefined;
    return { ...recorded, before: recorded.trail.begin(tensors) };
  }

  #recordAgain(): { readonly recorded: RecordedSegment; readonly memories: ReadonlyMap<Memory, Memory> } {
    const replay = this.#following();
    this.#replay = undefined;
    const sizes = replay.releaseSizes();
    const surroundings = { sources: this.#sources, newSession: (of?: SizeEnvironment) => this.#newSession(of) };
    const segment = new Segment(surroundings, sizes);
    const { session } = segment;
    const { memories, views } = recordAgain(replay, {
      session,
      recorder: this,
      call: (call, results, known) => {
        this.#again(known, () => this.#record(segment, call, results));
      },
      write: ({ target, value, writing }, known) => {
        this.#again(known, () => {
          segment.session.conflicts(target, { ...writing, value });
          return this.#recordWrite(segment, { target, value }, writing);
        });
      },
      carry: (memory, known) => {
        this.#again(known, () => {
          segment.carry(memory);
        });
      },
    });
    const recorded = { segment, trail: new Trail({ session, recorder: this }, { from: replay.node, known: views }) };
    this.#recorded = recorded;
    return { recorded, memories };
  }

  /** Records something with what was decided of it, and with its line. */
  #again({ location, ...decided }: KnownStep, work: () => unknown): void {
    this.#line = { location };
    this.#inputs.decided(decided, work);
    this.#line = undefined;
  }

  #record(
    segment: Segment,
    call: BoundCall,
    resultsOf: (made: readonly Tensor[]) => readonly Tensor[],
  ): { readonly lifted: BoundCall; readonly results: readonly Tensor[] } {
    this.#inputs.enter(call.operator.name, segment.log.length);
    const numbers: Tensor[] = [];
    const lifted = this.#inputs.lift(call, numbers);
    const operands = lifted.tensors.map(({ backing }) => backing);
    const results = resultsOf(segment.session.call(lifted));
    segment.log.call(lifted, operands, results);
    for (const number of numbers) number.dispose();
    return { lifted, results };
  }

  /** The memory that has other elements then, if there are any. */
  #recordWrite(
    segment: Segment,
    { target, value }: { readonly target: Tensor; readonly value: Tensor },
    writing: Writing,
  ): Memory | undefined {
    const { operation } = writing;
    this.#inputs.enter(operation, segment.log.length);
    segment.log.write(target, value, operation);
    return segment.session.write(target, value, writing);
  }

  #newSession(sizes = new SizeEnvironment()): TraceSession {
    return new TraceSession({
      owner: {
        recorder: this,
        sizes,
        locate: () => (this.#line ??= { location: deferredLocation() }).location,
        axesOf: (tensor) => this.#inputs.axesOf(tensor),
        carry: (memory) => {
          const { segment, trail } = this.#recording();
          trail.spoil();
          segment.carry(memory);
        },
      },
    });
  }

  /** Makes a tensor that an earlier segment left out a value of this one. */
  #takeOver({ backing }: Tensor): void {
    if (backing.kind !== 'recorded' || backing.recorder !== this) return;
    const { memory } = backing.handle as TracedView;
    if (memory.home === (this.#recorded?.segment.session ?? this.#following())) return;
    if (this.#recorded === undefined && this.#following().carry(memory)) return;
    const { segment, trail, before } = this.#begin([]);
    const ended = memory.home;
    segment.carry(memory);
    if (ended instanceof EndedSegment) trail.carried(before, { memory, ended }, this.#line?.location);
  }

  /** Ends the segment where an operand is memory that it has written to under another name. */
  #admit(tensors: readonly Tensor[]): void {
    const session = this.#recorded?.segment.session ?? this.#replay;
    if (session === undefined || !tensors.some((tensor) => session.conflicts(tensor))) return;
    this.#end([], because('it uses memory that was written to under another name'));
  }

  /** Gives tensors their memory, with everything in it that was written. */
  #place(tensors: readonly Tensor[], reason: string): void {
    const wanted = this.#wanted(tensors);
    const session = this.#recorded?.segment.session ?? this.#replay;
    if (session === undefined || this.#replay?.isEmpty === true) return;
    // A segment of views alone is over as well: so a loop that reads element by element stays linear.
    if (wanted.length > 0 || tensors.some((tensor) => session.isWritten(tensor))) this.#end(wanted, because(reason));
    else if (this.#replay?.isIdle === false) this.#replay.settleViews(tensors);
    else this.#leave(tensors);
  }

  #leave(tensors: readonly Tensor[]): void {
    const { segment } = this.#recording();
    if (segment.leave()) this.#recorded = undefined;
    else segment.settleViews(tensors);
  }

  #finish(escaping: readonly Tensor[]): void {
    this.#end(this.#wanted(escaping), undefined);
  }

  /** The memories behind tensors that have yet to be computed, all of them in this segment. */
  #wanted(tensors: readonly Tensor[]): readonly Memory[] {
    const memories: Memory[] = [];
    for (const tensor of tensors) {
      this.#takeOver(tensor);
      const { backing } = tensor;
      if (backing.kind !== 'recorded' || backing.recorder !== this) continue;
      const { memory } = backing.handle as TracedView;
      if (memory.placeholder === undefined) memories.push(memory);
    }
    return memories;
  }

  #end(wanted: readonly Memory[], cause: (() => SegmentCause) | undefined): void {
    const replay = this.#replay;
    if (replay?.isEmpty === false) this.#endReplay(replay, wanted, cause);
    else this.#endRecorded(wanted, cause);
  }

  /** Ends it with everything that somebody may still ask for. */
  #endWhole(reason: string): void {
    const fresh = this.#recorded?.segment.session.memories.fresh ?? this.#replay?.fresh ?? [];
    const alive = fresh.filter(({ tensors }) => tensors.some((it) => !it.isDisposed));
    this.#end(alive, because(reason));
  }

  #endRecorded(wanted: readonly Memory[], cause: (() => SegmentCause) | undefined): void {
    const recorded = this.#recorded;
    this.#recorded = undefined;
    recorded?.segment.end(this.#host, { wanted, cause, trail: recorded.trail });
  }

  #endReplay(replay: Replay, wanted: readonly Memory[], cause: (() => SegmentCause) | undefined): void {
    const isLast = cause === undefined;
    const known = replay.end(signatureOf(replay.fresh, { wanted, isLast, shared: replay.shared }));
    if (known === undefined) {
      const { memories } = this.#recordAgain();
      const recorded = wanted.map((memory) => memories.get(memory) ?? memory);
      this.#endRecorded(recorded, cause);
      return;
    }
    try {
      this.#replay = undefined;
      runReplay(replay, known, { sources: this.#sources, isLast });
    } catch (error) {
      if (!isCheckFailure(error)) throw error;
      this.#replay = replay;
      const { segment } = this.#recordAgain().recorded;
      this.#recorded = undefined;
      segment.failed(error);
    }
  }
}

/** Why a segment ends, and where; the line is looked for where somebody asks. It may be a step of a gradient, far below the program. */
const because = (reason: string) => (): SegmentCause => ({ reason, location: deferredLocation(maximumFrames) });

/** A segment that is recorded, and what is noted of it for the next time. */
interface RecordedSegment {
  readonly segment: Segment;
  readonly trail: Trail;
}
