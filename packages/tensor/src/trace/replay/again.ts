// Recording what was only followed: something new is done in a segment, so that a session has to know all of it. In: the steps
// taken, and a segment that records. Out: the segment as if it had recorded from the start; the program's tensors now stand
// for values of its session.
import { at, get } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { isScalar } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { BoundCall } from '../../bound-call.ts';
import type { Recorder, Writing } from '../../recorder.ts';
import { outsideScopes } from '../../scope.ts';
import { Tensor } from '../../tensor.ts';
import type { Decided } from '../segment-inputs.ts';
import type { TraceSession } from '../session.ts';
import type { Memory, TracedView } from '../traced-memory.ts';
import type { Replay } from './replay.ts';
import type { CallStep, Place, Step, WriteStep } from './step.ts';

interface Written {
  readonly target: Tensor;
  readonly value: Tensor;
  readonly writing: Writing;
}

/** Who records. */
interface Recording {
  readonly session: TraceSession;
  readonly recorder: Recorder;
  /** Gives the tensors that stand for the results, of those that the session made. */
  call(call: BoundCall, results: (made: readonly Tensor[]) => readonly Tensor[], known: KnownStep): void;
  write(written: Written, known: KnownStep): void;
  carry(memory: Memory, known: KnownStep): void;
}

/** What is known of an operation that is recorded once more. */
export interface KnownStep extends Decided {
  readonly location: SourceLocation | undefined;
}

interface RecordedAgain {
  /** For each memory of the replay what the session has instead. */
  readonly memories: ReadonlyMap<Memory, Memory>;
  /** What stands behind the results, in order. */
  readonly views: readonly TracedView[];
}

export const recordAgain = (replay: Replay, recording: Recording): RecordedAgain =>
  outsideScopes(() => new Again(replay, recording).run());

class Again {
  readonly #replay: Replay;
  readonly #recording: Recording;
  readonly #memories = new Map<Memory, Memory>();
  readonly #views: TracedView[] = [];
  /** By position among the results of the segment. */
  readonly #tensors: Tensor[] = [];
  /** Stand for what the program has disposed. */
  readonly #spare: Tensor[] = [];
  /** How many inputs, numbers and memories that were taken over have come. */
  #met = 0;
  #numbers = 0;
  #carried = 0;

  constructor(replay: Replay, recording: Recording) {
    this.#replay = replay;
    this.#recording = recording;
  }

  run(): RecordedAgain {
    for (const step of this.#replay.taken) this.#record(step);
    for (const tensor of this.#spare) tensor.dispose();
    this.#replay.release();
    return { memories: this.#memories, views: this.#views };
  }

  #record(step: Step): void {
    switch (step.kind) {
      case 'call':
        this.#call(step);
        break;
      case 'write':
        this.#write(step);
        break;
      case 'sizes':
        this.#recording.session.sizes.assume(step.guards);
        break;
      case 'carry': {
        const { memory, ended, current, version } = at(this.#replay.carried, this.#carried++);
        Object.assign(memory, { home: ended, current, version });
        const metas = step.sources.filter(({ input }) => input >= this.#met).map(({ form }) => form.meta);
        this.#met += metas.length;
        this.#recording.carry(memory, { metas, lifted: none, location: step.location });
        this.#memories.set(memory, memory);
        break;
      }
    }
  }

  #call({ call, operands, lifted, location }: CallStep): void {
    const tensors = operands.map((place) => this.#tensorAt(place));
    this.#met += lifted.length;
    const first = this.#numbers;
    this.#numbers += lifted.length;
    const args = call.args.map((arg, argument) => {
      const position = lifted.findIndex((number) => number.argument === argument);
      return position === -1 || !isScalar(arg) ? arg : { ...arg, value: at(this.#replay.numbers, first + position) };
    });
    const known = { metas: metasOf(operands), lifted: new Set(lifted.map(({ argument }) => argument)), location };
    this.#recording.call({ ...call, args, tensors }, (made) => made.map((tensor) => this.#adopt(tensor)), known);
  }

  #write({ target, value, writing, location }: WriteStep): void {
    const from = this.#tensorAt(value);
    const known = { metas: metasOf([value, target]), lifted: none, location };
    this.#recording.write({ target: this.#tensorAt(target), value: from, writing }, known);
  }

  /** The program's tensor stands for what the session made; where it is disposed, or has its memory, what was made does. */
  #adopt(made: Tensor): Tensor {
    const [own, known] = [at(this.#replay.tensors, this.#tensors.length), at(this.#replay.views, this.#tensors.length)];
    const view = (made.backing as { readonly handle: object }).handle as TracedView;
    const { memory } = view;
    this.#views.push(view);
    this.#memories.set(known.memory, memory);
    const isOwn = own.backing.kind === 'recorded' && own.backing.handle === known;
    if (isOwn) {
      own.backing = made.backing;
      memory.tensors[memory.tensors.indexOf(made)] = own;
    } else this.#spare.push(made);
    this.#tensors.push(isOwn ? own : made);
    return isOwn ? own : made;
  }

  #tensorAt(place: Place): Tensor {
    switch (place.kind) {
      case 'input':
        return at(this.#replay.inputs, place.input).tensor;
      case 'new':
        return at(this.#replay.inputs, this.#met++).tensor;
      case 'view':
        return at(this.#tensors, place.view);
      case 'memory':
        return this.#whole(get(this.#memories, at(this.#replay.fresh, place.memory)));
    }
  }

  /** All of a memory; the program's own tensor over it may be disposed. */
  #whole(memory: Memory): Tensor {
    const { dtype, shape, strides } = memory.meta;
    const { session, recorder } = this.#recording;
    const handle: TracedView = {
      memory,
      steps: [],
      layout: { shape, strides, offset: int(0) },
      ref: memory.current,
      version: memory.version,
    };
    const layout = {
      shape: shape.map((size) => session.sizes.hint(size)),
      strides: strides.map((size) => session.sizes.hint(size)),
    };
    return new Tensor(dtype, layout, { kind: 'recorded', recorder, handle, device: memory.device });
  }
}

const none: ReadonlySet<number> = new Set();

const metasOf = (places: readonly Place[]): Decided['metas'] =>
  places.flatMap((place) => (place.kind === 'new' ? [place.form.meta] : []));
