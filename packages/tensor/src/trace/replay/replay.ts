// A segment that is done again: each operator that was called before at this place, with operands that stand where they
// stood, gives results of known form, and nothing is recorded. In: calls as they come, and the trie of what was done before.
// Out: tensors as a session would have made them; where something new is done, everything so far once more, for a session
// to record (`again`).
//
// Invariant: the steps taken are what recording the same calls would have given, with the decisions of the first time about
// what is an input.
import { at } from '@tsinductor/base';
import { SizeEnvironment } from '@tsinductor/graph';
import type { Operator, SizeGuard } from '@tsinductor/graph';
import { ambientDevice } from '../../device.ts';
import type { BoundCall, GivenCall } from '../../bound-call.ts';
import type { Placed, Recorder, Writing } from '../../recorder.ts';
import { guardedShape } from '../../symbolic-shape.ts';
import { placeOf, sharesMemory, Tensor } from '../../tensor.ts';
import { EndedSegment } from '../ended-segment.ts';
import { numberTensor } from '../segment-inputs.ts';
import { settle } from '../segment-log.ts';
import type { Source } from '../source.ts';
import type { Memory, TracedView } from '../traced-memory.ts';
import { twinOf } from '../twin.ts';
import { allHold, declareSizes, hasForm } from './form.ts';
import { areLiftable, isSame, isSameCall } from './same-call.ts';
import { isSpelled } from './spelling.ts';
import type { CallStep, CarryStep, Home, InputForm, Place, SegmentEnd, Step, StepNode, ViewForm } from './step.ts';

/** An input of the segment. */
export interface MetInput {
  /** Holds the memory: the program may dispose its own tensor before the segment runs. */
  readonly tensor: Tensor;
  /** The program's tensor; undefined for a number, or what an ended segment kept. */
  readonly original: Tensor | undefined;
  readonly source: Source | undefined;
  readonly form: InputForm;
  memory: Memory | undefined;
}

/** A memory that was taken over, as it was before. */
interface Carried extends Pick<Memory, 'current' | 'version'> {
  readonly memory: Memory;
  readonly ended: EndedSegment;
}

/** A step, and what stood in its places this time. */
export interface Taken {
  readonly step: Step;
  readonly numbers: readonly number[];
  readonly results: readonly Tensor[];
  readonly carried: Carried | undefined;
}

export class Replay {
  readonly #recorder: Recorder;
  readonly taken: Taken[] = [];
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
      const results = this.#take(step, call.tensors, numbers);
      if (results !== undefined) return results;
    }
    return undefined;
  }

  /** The same for a call as it is written, if it is known from that. */
  repeat(given: GivenCall): { readonly operator: Operator; readonly results: readonly Tensor[] } | undefined {
    const steps = this.node.spelled(given.name);
    if (steps.length === 0 || !this.#catchUp()) return undefined;
    for (const step of steps) {
      const filling = { tensors: [], numbers: [] as number[] };
      if (step.spelling === undefined || !isSpelled(step.spelling, given, filling)) continue;
      if (filling.tensors.length === 0 && step.call.device !== ambientDevice()) continue;
      if (filling.tensors.some((tensor) => this.conflicts(tensor))) return undefined;
      const results = this.#take(step, filling.tensors, filling.numbers);
      if (results !== undefined) return { operator: step.call.operator, results };
    }
    return undefined;
  }

  /** Whether the write was done here before, and is a value of the segment as it was then. */
  write(target: Tensor, value: Tensor, writing: Writing): boolean {
    if (target === value || !this.#catchUp()) return false;
    for (const step of this.node.others) {
      if (step.kind !== 'write' || !isSame(step.writing, writing)) continue;
      if (!this.#isAt(step.value, value) || !this.#isAt(step.target, target)) continue;
      const met = this.inputs.length;
      if (step.value.kind === 'new') this.#meet(step.value.form, value);
      if (step.target.kind === 'new') this.#meet(step.target.form, target);
      const { written } = step;
      const isShared = written?.kind === 'input' && this.#isShared(written.input);
      if (isShared || !this.#assume(step.guards)) {
        this.#forget(met);
        return false;
      }
      if (written !== undefined) this.#memoryAt(written).version += 1;
      if (written?.kind === 'input') this.#isWriting = true;
      this.#go(step, {});
      return true;
    }
    return false;
  }

  /** Whether taking over a value that an ended segment left out was done here before. */
  carry(memory: Memory): boolean {
    const ended = memory.home;
    if (!(ended instanceof EndedSegment) || !this.#catchUp()) return false;
    for (const step of this.node.others) {
      if (step.kind !== 'carry' || step.plan !== ended.plan || step.waiting !== ended.positionOf(memory)) continue;
      const met = this.inputs.length;
      if (!this.#meetSources(step, ended) || !this.#assume(step.guards)) {
        this.#forget(met);
        continue;
      }
      const { current, version } = memory;
      memory.home = this;
      memory.current = step.ref;
      memory.version += 1;
      this.fresh.push(memory);
      this.#go(step, { carried: { memory, ended, current, version } });
      return true;
    }
    return false;
  }

  /** How the segment ran when it ended here before. */
  end(signature: string): SegmentEnd | undefined {
    return this.#catchUp() ? this.node.end(signature) : undefined;
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
      if (memory.home === this) this.settle({ ...memory, tensors: [tensor] }, this.placeOf(memory.placeholder ?? 0));
    }
  }

  settle(memory: Memory, place: Placed): void {
    settle(memory, place, (index) => (index.kind === 'int' ? index.value : this.sizes.hint(index)));
  }

  placeOf(input: number): Placed {
    return placeOf(at(this.inputs, input).tensor, 'a segment');
  }

  #take(step: CallStep, tensors: readonly Tensor[], numbers: readonly number[]): readonly Tensor[] | undefined {
    const { operands, lifted } = step;
    for (let i = 0; i < operands.length; i += 1) if (!this.#isAt(at(operands, i), at(tensors, i))) return undefined;
    if (lifted.length > 0 && !areLiftable(step, numbers)) return undefined;
    const met = this.inputs.length;
    for (let i = 0; i < operands.length; i += 1) {
      const place = at(operands, i);
      if (place.kind === 'new') this.#meet(place.form, at(tensors, i));
    }
    for (let i = 0; i < lifted.length; i += 1) {
      const { dtype, form } = at(lifted, i);
      const tensor = numberTensor(at(numbers, i), dtype);
      this.inputs.push({ tensor, original: undefined, source: undefined, form, memory: undefined });
    }
    if (!this.#assume(step.guards)) {
      this.#forget(met);
      return undefined;
    }
    const results = step.results.map((form) => this.#result(form));
    this.#go(step, { numbers, results });
    return results;
  }

  #go(step: Step, { numbers = [], results = [], carried }: Partial<Omit<Taken, 'step'>>): void {
    this.taken.push({ step, numbers, results, carried });
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

  #meet(form: InputForm, original: Tensor): void {
    declareSizes(original, form, () => this.sizes);
    this.inputs.push({ tensor: twinOf(original), original, source: undefined, form, memory: undefined });
  }

  #meetSources({ sources }: CarryStep, ended: EndedSegment): boolean {
    const kept = ended.sources;
    return sources.every(({ source: position, input, form }) => {
      const source = at(kept, position);
      if (input < this.inputs.length) return this.inputs[input]?.source === source;
      if (!source.isIntact || this.inputs.some((other) => other.source === source)) return false;
      const { tensor } = source;
      if (!hasForm(tensor, form)) return false;
      declareSizes(tensor, form, () => this.sizes);
      this.inputs.push({ tensor: twinOf(tensor), original: undefined, source, form, memory: undefined });
      return true;
    });
  }

  /** Takes back what was met from a position on. */
  #forget(from: number): void {
    for (const { tensor } of this.inputs.splice(from)) tensor.dispose();
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
    this.#go(step, {});
    return true;
  }

  #result({ dtype, home, steps, layout, ref, fixed }: ViewForm): Tensor {
    const memory = this.#homeOf(home, ref);
    const view: TracedView = { memory, steps, layout, ref, version: memory.version };
    this.views.push(view);
    const sizes = fixed ?? {
      shape: guardedShape(layout.shape, this.sizes),
      strides: guardedShape(layout.strides, this.sizes),
    };
    const { device } = memory;
    const tensor = new Tensor(dtype, sizes, { kind: 'recorded', recorder: this.#recorder, handle: view, device });
    memory.tensors.push(tensor);
    return tensor;
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
    const { tensor } = at(this.inputs, input);
    return this.inputs.some(
      (other, position) => position !== input && other.source === undefined && sharesMemory(tensor, other.tensor),
    );
  }

  #seesWrites(tensor: Tensor): boolean {
    return this.inputs.some(({ memory, tensor: input }) => (memory?.version ?? 0) > 0 && sharesMemory(tensor, input));
  }
}

/** Disposes the inputs, but for those whose positions are kept. */
export function releaseInputs({ inputs }: Replay, kept: { has(position: number): boolean }): void {
  inputs.forEach(({ tensor }, position) => {
    if (!kept.has(position)) tensor.dispose();
  });
}
