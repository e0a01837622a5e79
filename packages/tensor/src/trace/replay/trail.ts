// What is recorded of a segment for the first time, as steps for the next time. In: each operation before and after the
// session has recorded it. Out: steps below the node where the known ones ended, once the segment has run.
//
// Where something is done that no step says (an operator that failed, a tensor of another function), nothing is added.
import { at } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { isScalar, isValue } from '@tsinductor/graph';
import type { SizeGuard } from '@tsinductor/graph';
import type { BoundCall } from '../../bound-call.ts';
import type { Recorder, Writing } from '../../recorder.ts';
import type { Tensor } from '../../tensor.ts';
import type { EndedSegment } from '../ended-segment.ts';
import type { TraceSession } from '../session.ts';
import type { Memory, TracedView } from '../traced-memory.ts';
import { fixedLayout, formOf } from './form.ts';
import { NumberSlot } from './number-slot.ts';
import { spellingOf } from './spelling.ts';
import { StepNode } from './step.ts';
import type { CarryStep, Home, InputForm, Place, SegmentEnd, Step, StepTrie, ViewForm } from './step.ts';

/** A step whose place in the trie is not known yet; the text of its line is made when it gets one. */
type LooseStep = Step extends infer Kind ? (Kind extends Step ? Omit<Kind, 'next'> : never) : never;

/** A place before the operation; what is new has no form yet. */
type Found = Exclude<Place, { kind: 'new' }> | { readonly kind: 'new' };

/** How things stood before an operation. */
export interface Before {
  readonly places: readonly (Found | undefined)[];
  readonly placeholders: number;
  readonly fresh: number;
  readonly guards: number;
}

export class Trail {
  readonly #session: TraceSession;
  readonly #recorder: Recorder;
  readonly #from: StepNode;
  readonly #steps: LooseStep[] = [];
  /** Results so far, by what stands behind them. */
  readonly #views: Map<object, number>;
  #guards: number;
  #isWhole = true;
  /** An operation has begun, and not ended. */
  #isOpen = false;

  /** `known`: what stands behind the results of the steps up to `from`. */
  constructor(
    { session, recorder }: { readonly session: TraceSession; readonly recorder: Recorder },
    { from, known }: { readonly from: StepNode; readonly known: readonly object[] },
  ) {
    this.#session = session;
    this.#recorder = recorder;
    this.#from = from;
    this.#views = new Map(known.map((view, position) => [view, position]));
    this.#guards = session.sizes.guardCount;
  }

  /** No step says what is done. */
  spoil(): void {
    this.#isWhole = false;
  }

  begin(tensors: readonly Tensor[]): Before {
    if (this.#isOpen) this.spoil();
    this.#isOpen = true;
    this.#look();
    return {
      places: tensors.map((tensor) => this.#find(tensor)),
      placeholders: this.#session.placeholders.length,
      fresh: this.#session.memories.fresh.length,
      guards: this.#guards,
    };
  }

  called(
    before: Before,
    {
      call,
      lifted,
      results,
    }: { readonly call: BoundCall; readonly lifted: BoundCall; readonly results: readonly Tensor[] },
    location: SourceLocation | undefined,
  ): void {
    const forms = this.#newForms(before);
    const operands = this.#places(before, forms);
    const { operator, args, attrs, device } = call;
    const numbers = args.flatMap((arg, argument) =>
      isScalar(arg) && isValue(lifted.args[argument]) ? [argument] : [],
    );
    if (operands === undefined || forms.length !== numbers.length) {
      this.spoil();
      return;
    }
    this.#add({
      kind: 'call',
      call: { operator, args, attrs, device },
      operands,
      lifted: numbers.map((argument, position) => {
        const form = at(forms, position);
        return { argument, slot: new NumberSlot(form.meta.dtype), form };
      }),
      results: results.map((result) => this.#viewForm(result, before)),
      spelling: spellingOf(call, numbers),
      guards: this.#newGuards(),
      location,
    });
    for (const { backing } of results)
      if (backing.kind === 'recorded') this.#views.set(backing.handle, this.#views.size);
  }

  /** `areTwo`: target and value are two tensors. */
  wrote(
    before: Before,
    writing: Writing,
    {
      memory,
      areTwo,
      location,
    }: { readonly memory: Memory | undefined; readonly areTwo: boolean; readonly location: SourceLocation | undefined },
  ): void {
    const forms = this.#newForms(before);
    const [value, target] = this.#places(before, forms) ?? [];
    if (value === undefined || target === undefined || forms.length > 0 || !areTwo) {
      this.spoil();
      return;
    }
    const written = memory && this.#homeOf(memory);
    this.#add({ kind: 'write', value, target, writing, written, guards: this.#newGuards(), location });
  }

  carried(
    before: Before,
    { memory, ended }: { readonly memory: Memory; readonly ended: EndedSegment },
    location: SourceLocation | undefined,
  ): void {
    const met = ended.sources.flatMap((kept, source): CarryStep['sources'] => {
      const input = this.#session.placeholderOf(kept);
      return input === undefined ? [] : [{ source, input, form: formOf(this.#session, input) }];
    });
    const sources = met.toSorted((one, other) => one.input - other.input);
    const isKnown =
      sources.filter(({ input }) => input >= before.placeholders).length === this.#newForms(before).length;
    if (ended.isSymbolic || !isKnown) this.spoil();
    const { plan } = ended;
    const waiting = ended.positionOf(memory);
    this.#add({ kind: 'carry', plan, waiting, sources, ref: memory.current, guards: this.#newGuards(), location });
  }

  /** The segment is over: what is assumed of sizes from now on is assumed by its code. */
  finish(): void {
    this.#look();
  }

  /** Adds what was met to the trie, and how it was run. */
  store(trie: StepTrie, signature: string, end: SegmentEnd): void {
    if (!this.#isWhole || this.#isOpen) return;
    trie.reserve(this.#steps.length);
    let node = this.#from;
    for (const { location, ...step } of this.#steps) {
      const next = new StepNode();
      node.add({ ...step, location: location && { ...plainLocation(location) }, next });
      node = next;
    }
    node.addEnd(signature, end);
  }

  #add(step: LooseStep): void {
    this.#isOpen = false;
    if (this.#isWhole) this.#steps.push(step);
  }

  /** What the program has asked of sizes since the last operation. */
  #look(): void {
    const guards = this.#newGuards();
    if (guards.length > 0 && this.#isWhole) this.#steps.push({ kind: 'sizes', guards, location: undefined });
  }

  #newGuards(): readonly SizeGuard[] {
    const { sizes } = this.#session;
    if (sizes.guardCount === this.#guards) return [];
    const guards = sizes.guards().slice(this.#guards);
    this.#guards = sizes.guardCount;
    return guards;
  }

  #newForms({ placeholders }: Before): InputForm[] {
    const forms: InputForm[] = [];
    for (let position = placeholders; position < this.#session.placeholders.length; position += 1)
      forms.push(formOf(this.#session, position));
    return forms;
  }

  /** The places with their forms, which are taken off `forms`. */
  #places({ places }: Before, forms: InputForm[]): readonly Place[] | undefined {
    const found: Place[] = [];
    for (const place of places) {
      const form = place?.kind === 'new' ? forms.shift() : undefined;
      if (form !== undefined) found.push({ kind: 'new', form });
      else if (place === undefined || place.kind === 'new') return undefined;
      else found.push(place);
    }
    return found;
  }

  #find(tensor: Tensor): Found | undefined {
    const { backing } = tensor;
    if (backing.kind === 'placed') {
      const input = this.#session.placeholderOf(tensor);
      return input === undefined ? { kind: 'new' } : { kind: 'input', input };
    }
    if (backing.kind !== 'recorded' || backing.recorder !== this.#recorder) return undefined;
    const view = this.#views.get(backing.handle);
    if (view !== undefined) return { kind: 'view', view };
    const { memory, steps } = backing.handle as TracedView;
    const position = this.#session.memories.fresh.indexOf(memory);
    return steps.length > 0 || position === -1 ? undefined : { kind: 'memory', memory: position };
  }

  #viewForm({ dtype, backing }: Tensor, { fresh }: Before): ViewForm {
    const { memory, steps, layout, ref } = (backing as { readonly handle: object }).handle as TracedView;
    const home = this.#homeOf(memory);
    const isMade = home.kind === 'fresh' && home.memory >= fresh;
    return {
      dtype,
      home: isMade ? { kind: 'made', device: memory.device, meta: memory.meta } : home,
      steps,
      layout,
      ref,
      fixed: fixedLayout(layout),
    };
  }

  #homeOf(memory: Memory): Exclude<Home, { kind: 'made' }> {
    if (memory.placeholder !== undefined) return { kind: 'input', input: memory.placeholder };
    return { kind: 'fresh', memory: this.#session.memories.fresh.indexOf(memory) };
  }
}

/** The line alone: what stands for one until it is looked at holds all that was on the stack. */
const plainLocation = ({ file, line, column }: SourceLocation): SourceLocation => ({
  file,
  line,
  ...(column === undefined ? {} : { column }),
});
