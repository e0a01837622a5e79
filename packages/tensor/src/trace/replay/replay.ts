// A segment that is done again: each operator that was called before at this place, with operands that stand where they
// stood, gives results of known form, and nothing is recorded. In: calls as they come, and the trie of what was done before.
// Out: tensors as a session would have made them; where something new is done, everything so far once more, for a session
// to record (`again`).
//
// Invariant: the steps taken are what recording the same calls would have given, with the decisions of the first time about
// what is an input.
import { at } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { SizeGuard } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import { ambientDevice } from '../../device.ts';
import type { BoundCall, GivenCall } from '../../bound-call.ts';
import type { Placed, Recorder, Writing } from '../../recorder.ts';
import { guardedShape } from '../../symbolic-shape.ts';
import { outsideScopes } from '../../scope.ts';
import { placedTensor, placeOf, placesOverlap, Tensor } from '../../tensor.ts';
import { EndedSegment } from '../ended-segment.ts';
import { settle } from '../segment-log.ts';
import type { Source } from '../source.ts';
import type { Memory, TracedView } from '../traced-memory.ts';
import { allHold, declareSizes, hasForm } from './form.ts';
import type { NumberSlot } from './number-slot.ts';
import { areLiftable, isMetTwice, isSame, isSameCall } from './same-call.ts';
import { isSpelled } from './spelling.ts';
import type {
  CallStep,
  CarryStep,
  Home,
  InputForm,
  Place,
  SegmentEnd,
  Step,
  StepNode,
  ViewForm,
  WriteStep,
} from './step.ts';

/** What stands behind an input. */
type Behind =
  /** A tensor of the program. */
  | { readonly kind: 'tensor'; readonly tensor: Tensor }
  /** What an ended segment kept. */
  | { readonly kind: 'source'; readonly source: Source }
  | { readonly kind: 'number'; readonly slot: NumberSlot; readonly tensor: Tensor };

/** An input of the segment, which holds its memory: the program may dispose its own tensor before the segment runs. */
class MetInput {
  readonly behind: Behind;
  readonly form: InputForm;
  readonly place: Placed;
  /** What tensors are recorded over, if any are. */
  memory: Memory | undefined = undefined;
  /** In the place of a tensor that the program has no more. */
  #own: Tensor | undefined = undefined;

  constructor(behind: Behind, form: InputForm) {
    this.behind = behind;
    this.form = form;
    this.place = behind.kind === 'source' ? behind.source.place : placeOf(behind.tensor, 'a segment');
    this.place.storage.retain();
  }

  /** The program's tensor, if it is one. */
  get original(): Tensor | undefined {
    return this.behind.kind === 'tensor' ? this.behind.tensor : undefined;
  }

  /** As the segment takes it. */
  get tensor(): Tensor {
    const { behind } = this;
    if (behind.kind !== 'source' && behind.tensor.backing === this.place) return behind.tensor;
    const { storage, layout } = this.place;
    return (this.#own ??= outsideScopes(() => placedTensor(this.form.meta.dtype, storage, layout)));
  }

  release(): void {
    this.#own?.dispose();
    this.place.storage.release();
    if (this.behind.kind === 'number') this.behind.slot.giveBack(this.behind.tensor);
  }
}

/** A memory that was taken over, as it was before. */
interface Carried extends Pick<Memory, 'current' | 'version'> {
  readonly memory: Memory;
  readonly ended: EndedSegment;
}

export class Replay {
  readonly #recorder: Recorder;
  /** The steps taken, and in their order what stood in their places: numbers, results, memories that were taken over. */
  readonly taken: Step[] = [];
  readonly numbers: number[] = [];
  readonly tensors: Tensor[] = [];
  readonly carried: Carried[] = [];
  readonly inputs: MetInput[] = [];
  /** Memories that the segment makes or took over, in order. */
  readonly fresh: Memory[] = [];
  readonly views: TracedView[] = [];
  node: StepNode;
  #sizes: SizeEnvironment | undefined;
  #guards = 0;
  #isWriting = false;

  constructor(recorder: Recorder, root: StepNode) {
    this.#recorder = recorder;
    this.node = root;
  }

  get sizes(): SizeEnvironment {
    return (this.#sizes ??= new SizeEnvironment());
  }

  /** The sizes, as if nothing had been asked of them yet; undefined where there are none. */
  releaseSizes(): SizeEnvironment | undefined {
    this.#sizes?.clear();
    return this.#sizes;
  }

  /** The results of a call that was made here before; undefined if it was not. */
  call(call: BoundCall): readonly Tensor[] | undefined {
    if (!this.#catchUp()) return undefined;
    for (const step of this.node.calls(call.operator.name)) {
      if (step.operands.length !== call.tensors.length) continue;
      const numbers: number[] = [];
      if (!isSameCall(step, call, numbers)) continue;
      if (this.#take(step, call.tensors, numbers)) return this.#last(step);
    }
    return undefined;
  }

  /** The same for a call as it is written, if it is known from that. */
  repeat(given: GivenCall): Tensor | Tensor[] | undefined {
    const steps = this.node.spelled(given.name);
    if (steps.length === 0 || !this.#catchUp()) return undefined;
    for (const step of steps) {
      const filling = { tensors: [], numbers: [] as number[] };
      if (step.spelling === undefined || !isSpelled(step.spelling, given, filling)) continue;
      if (filling.tensors.length === 0 && step.call.device !== ambientDevice()) continue;
      if (filling.tensors.some((tensor) => this.conflicts(tensor))) return undefined;
      if (!this.#take(step, filling.tensors, filling.numbers)) continue;
      const { tensors } = this;
      return step.call.operator.results === undefined ? tensors.at(-1) : this.#last(step);
    }
    return undefined;
  }

  /** Whether the write was done here before, and is a value of the segment as it was then. */
  write(target: Tensor, value: Tensor, writing: Writing): boolean {
    if (target === value || !this.#catchUp()) return false;
    const step = this.node.others.find(
      (other) =>
        other.kind === 'write' &&
        isSame(other.writing, writing) &&
        this.#isAt(other.value, value) &&
        this.#isAt(other.target, target),
    );
    return step?.kind === 'write' && this.#takeWrite(step, target, value);
  }

  #takeWrite(step: WriteStep, target: Tensor, value: Tensor): boolean {
    const met = this.inputs.length;
    if (step.value.kind === 'new') this.#meet(step.value.form, value);
    if (step.target.kind === 'new') this.#meet(step.target.form, target);
    const { written } = step;
    const isShared = written?.kind === 'input' && this.#isShared(written.input);
    if (isShared || !this.#assume(step.guards)) {
      this.release(met);
      return false;
    }
    if (written !== undefined) this.#memoryAt(written).version += 1;
    if (written?.kind === 'input') this.#isWriting = true;
    this.#go(step);
    return true;
  }

  /** Whether taking over a value that an ended segment left out was done here before. */
  carry(memory: Memory): boolean {
    const ended = memory.home;
    if (!(ended instanceof EndedSegment) || !this.#catchUp()) return false;
    for (const step of this.node.others) {
      if (step.kind !== 'carry' || step.plan !== ended.plan || step.waiting !== ended.positionOf(memory)) continue;
      const met = this.inputs.length;
      if (!this.#meetSources(step, ended) || !this.#assume(step.guards)) {
        this.release(met);
        continue;
      }
      const { current, version } = memory;
      memory.home = this;
      memory.current = step.ref;
      memory.version += 1;
      this.fresh.push(memory);
      this.carried.push({ memory, ended, current, version });
      this.#go(step);
      return true;
    }
    return false;
  }

  /** How the segment ran when it ended here before. */
  end(signature: string): SegmentEnd | undefined {
    if (!this.#catchUp()) return undefined;
    return this.node.ends(signature).find(({ plan: { guards } }) => guards.length === 0 || allHold(guards, this.sizes));
  }

  /** Whether a tensor that was not met is memory that was written to under another name. */
  conflicts(tensor: Tensor): boolean {
    return this.#isWriting && tensor.backing.kind === 'placed' && !this.#isMet(tensor) && this.#seesWrites(tensor);
  }

  /** Whether a waiting write changes what the tensor holds. */
  isWritten(tensor: Tensor): boolean {
    const { backing } = tensor;
    if (backing.kind === 'recorded') return (backing.handle as TracedView).memory.version > 0;
    return this.#isWriting && this.#seesWrites(tensor);
  }

  /** Positions of inputs whose memory a typed array of the program shares. */
  get shared(): readonly number[] {
    const { inputs } = this;
    return inputs.some(({ place }) => place.storage.isShared)
      ? inputs.flatMap(({ place }, position) => (place.storage.isShared ? [position] : []))
      : [];
  }

  /** Whether nothing was done yet. */
  get isEmpty(): boolean {
    return this.taken.length === 0;
  }

  /** Whether nothing has to be computed or written. */
  get isIdle(): boolean {
    return this.fresh.length === 0 && !this.#isWriting;
  }

  /** Gives views of memory that exists, and that nothing has written to, their place. */
  settleViews(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) {
      if (tensor.backing.kind !== 'recorded') continue;
      const { memory } = tensor.backing.handle as TracedView;
      if (memory.home === this)
        settle({ ...memory, tensors: [tensor] }, this.placeOf(memory.placeholder ?? 0), this.sizeOf);
    }
  }

  /** Of its symbolic sizes. */
  readonly sizeOf = (index: Index): number => (index.kind === 'int' ? index.value : this.sizes.hint(index));

  placeOf(input: number): Placed {
    return at(this.inputs, input).place;
  }

  /** Lets go of the inputs from a position on. */
  release(from = 0): void {
    for (let i = from; i < this.inputs.length; i += 1) at(this.inputs, i).release();
    this.inputs.length = from;
  }

  /** The results of the step that was taken last. */
  #last({ results }: CallStep): Tensor[] {
    return this.tensors.slice(this.tensors.length - results.length);
  }

  /** Whether the tensors stand in the step's places; then its results are the last ones. */
  #take(step: CallStep, tensors: readonly Tensor[], numbers: readonly number[]): boolean {
    const { operands, lifted } = step;
    for (let i = 0; i < operands.length; i += 1)
      if (!this.#isAt(at(operands, i), at(tensors, i)) || isMetTwice(operands, tensors, i)) return false;
    if (lifted.length > 0 && !areLiftable(step, numbers)) return false;
    const met = this.inputs.length;
    for (let i = 0; i < operands.length; i += 1) {
      const place = at(operands, i);
      if (place.kind === 'new') this.#meet(place.form, at(tensors, i));
    }
    for (let i = 0; i < lifted.length; i += 1) {
      const { slot, form } = at(lifted, i);
      this.inputs.push(new MetInput({ kind: 'number', slot, tensor: slot.take(at(numbers, i)) }, form));
    }
    if (!this.#assume(step.guards)) {
      this.release(met);
      return false;
    }
    for (const number of numbers) this.numbers.push(number);
    for (const form of step.results) this.#result(form);
    this.#go(step);
    return true;
  }

  #go(step: Step): void {
    this.taken.push(step);
    this.node = step.next;
  }

  #isAt(place: Place, tensor: Tensor): boolean {
    const { backing } = tensor;
    switch (place.kind) {
      case 'input':
        return backing.kind === 'placed' && this.inputs[place.input]?.original === tensor;
      case 'new':
        return backing.kind === 'placed' && !this.#isMet(tensor) && hasForm(tensor, place.form);
      case 'view':
        return backing.kind === 'recorded' && backing.handle === this.views[place.view];
      case 'memory': {
        if (backing.kind !== 'recorded' || backing.recorder !== this.#recorder) return false;
        const { memory, steps } = backing.handle as TracedView;
        return steps.length === 0 && memory === this.fresh[place.memory];
      }
    }
  }

  #isMet(tensor: Tensor): boolean {
    for (const { original } of this.inputs) if (original === tensor) return true;
    return false;
  }

  #meet(form: InputForm, tensor: Tensor): void {
    declareSizes(tensor, form, () => this.sizes);
    this.inputs.push(new MetInput({ kind: 'tensor', tensor }, form));
  }

  #meetSources({ sources }: CarryStep, ended: EndedSegment): boolean {
    const kept = ended.sources;
    return sources.every(({ source: position, input, form }) => {
      const source = at(kept, position);
      if (input < this.inputs.length) return sourceBehind(at(this.inputs, input)) === source;
      if (!source.isIntact || this.inputs.some((other) => sourceBehind(other) === source)) return false;
      if (!hasForm(source, form)) return false;
      declareSizes(source, form, () => this.sizes);
      this.inputs.push(new MetInput({ kind: 'source', source }, form));
      return true;
    });
  }

  /** Whether what the step assumed of sizes holds; then it is assumed here. */
  #assume(guards: readonly SizeGuard[]): boolean {
    if (guards.length === 0) return true;
    if (!allHold(guards, this.sizes)) return false;
    this.sizes.assume(guards);
    this.#guards = this.sizes.guardCount;
    return true;
  }

  /** Whether what the program asked of sizes since the last step was asked here before. */
  #catchUp(): boolean {
    if (this.#sizes === undefined || this.#sizes.guardCount === this.#guards) return true;
    const asked = this.#sizes.guards().slice(this.#guards);
    const step = this.node.others.find((other) => other.kind === 'sizes' && isSame(other.guards, asked));
    if (step === undefined) return false;
    this.#guards = this.#sizes.guardCount;
    this.#go(step);
    return true;
  }

  #result({ dtype, home, steps, layout, ref, fixed }: ViewForm): void {
    const memory = this.#homeOf(home, ref);
    const view: TracedView = { memory, steps, layout, fixed, ref, version: memory.version };
    this.views.push(view);
    const sizes = fixed ?? {
      shape: guardedShape(layout.shape, this.sizes),
      strides: guardedShape(layout.strides, this.sizes),
    };
    const { device } = memory;
    const tensor = new Tensor(dtype, sizes, { kind: 'recorded', recorder: this.#recorder, handle: view, device });
    memory.tensors.push(tensor);
    this.tensors.push(tensor);
  }

  #homeOf(home: Home, ref: ViewForm['ref']): Memory {
    if (home.kind !== 'made') return this.#memoryAt(home);
    const { device, meta } = home;
    const memory: Memory = { current: ref, version: 0, meta, placeholder: undefined, home: this, device, tensors: [] };
    this.fresh.push(memory);
    return memory;
  }

  #memoryAt(home: Exclude<Home, { kind: 'made' }>): Memory {
    if (home.kind === 'fresh') return at(this.fresh, home.memory);
    const input = at(this.inputs, home.input);
    const { ref, meta, device } = input.form;
    const made = { current: ref, version: 0, meta, placeholder: home.input, home: this, device, tensors: [] };
    return (input.memory ??= made);
  }

  /** Whether another input has elements in common with this one. */
  #isShared(input: number): boolean {
    const { place } = at(this.inputs, input);
    return this.inputs.some(
      (other, position) => position !== input && other.original !== undefined && placesOverlap(place, other.place),
    );
  }

  #seesWrites(tensor: Tensor): boolean {
    const place = placeOf(tensor, 'a segment');
    return this.inputs.some((input) => (input.memory?.version ?? 0) > 0 && placesOverlap(place, input.place));
  }
}

const sourceBehind = ({ behind }: MetInput): Source | undefined =>
  behind.kind === 'source' ? behind.source : undefined;
