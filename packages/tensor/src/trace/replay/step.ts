// What a function that runs in segments did before, as a trie of steps: from its root, each way down is a segment, operator
// by operator, and where a segment has ended there is how it was run. In: steps as they were recorded, with all that follows
// from them. Out: for whoever is at a node, the steps that were taken from there before.
//
// Invariant: a step says everything that decides what recording it would give: operator and attributes, which values of the
// segment its operands are, the metas of inputs first met in it, and what it assumes of sizes.
import type { DType, SourceLocation } from '@tsinductor/base';
import type { Graph, Meta, SizeGuard, ValueRef, ViewLayout } from '@tsinductor/graph';
import type { ViewStep } from '../../alias.ts';
import type { BoundCall } from '../../bound-call.ts';
import type { Device } from '../../device.ts';
import type { Layout } from '../../layout.ts';
import type { Writing } from '../../recorder.ts';
import type { SegmentPlan } from '../segment.ts';
import type { NumberSlot } from './number-slot.ts';
import type { Spelling } from './spelling.ts';

/** A tensor that exists, as a segment takes it: the meta of its placeholder, where symbolic sizes have names. */
export interface InputForm {
  readonly ref: ValueRef;
  readonly meta: Meta;
  readonly device: Device;
}

/** What of the segment an operand is; `new` is an input that is first met here. */
export type Place =
  | { readonly kind: 'input'; readonly input: number }
  | { readonly kind: 'view'; readonly view: number }
  /** All of a memory that an earlier segment began. */
  | { readonly kind: 'memory'; readonly memory: number }
  | { readonly kind: 'new'; readonly form: InputForm };

/** The memory behind a result: that of an input, or one that the segment made, or makes now. */
export type Home =
  | { readonly kind: 'input'; readonly input: number }
  | { readonly kind: 'fresh'; readonly memory: number }
  | { readonly kind: 'made'; readonly device: Device; readonly meta: Meta };

/** A result of an operator. */
export interface ViewForm {
  readonly dtype: DType;
  readonly home: Home;
  readonly steps: readonly ViewStep[];
  readonly layout: ViewLayout;
  readonly ref: ValueRef;
  /** The layout in numbers, for all tensors of this form; undefined where sizes are symbolic. */
  readonly fixed: Layout | undefined;
}

/** A number of a call that is an input. */
interface LiftedNumber {
  /** Among the arguments of the call. */
  readonly argument: number;
  readonly slot: NumberSlot;
  readonly form: InputForm;
}

interface AnyStep {
  readonly next: StepNode;
  /** What it was the first to assume of sizes. */
  readonly guards: readonly SizeGuard[];
  readonly location: SourceLocation | undefined;
}

export interface CallStep extends AnyStep {
  readonly kind: 'call';
  /** Without its tensors, and with the numbers of the first time. */
  readonly call: Omit<BoundCall, 'tensors'>;
  readonly operands: readonly Place[];
  readonly lifted: readonly LiftedNumber[];
  readonly results: readonly ViewForm[];
  /** How a program writes the call, where that says all. */
  readonly spelling: Spelling | undefined;
}

export interface WriteStep extends AnyStep {
  readonly kind: 'write';
  readonly value: Place;
  readonly target: Place;
  readonly writing: Writing;
  /** The memory that has other elements now, and their value; undefined where there are none. */
  readonly written: Exclude<Home, { kind: 'made' }> | undefined;
}

/** A value that an earlier segment left out becomes part of this one. */
export interface CarryStep extends AnyStep {
  readonly kind: 'carry';
  /** How the earlier segment ran, and which of its waiting values it is. */
  readonly plan: SegmentPlan;
  readonly waiting: number;
  /** Of what the earlier one kept: where it stands among the inputs. */
  readonly sources: readonly { readonly source: number; readonly input: number; readonly form: InputForm }[];
  readonly ref: ValueRef;
}

/** The program looked at symbolic sizes between two operators. */
interface SizesStep extends AnyStep {
  readonly kind: 'sizes';
}

export type Step = CallStep | WriteStep | CarryStep | SizesStep;

/** How a segment that ended here was run. */
export interface SegmentEnd {
  readonly plan: SegmentPlan;
  /** Of the segment, for values that wait, without the lines it was recorded at: these hold what was on the stack. */
  readonly graph: Graph;
  /** The values of all memories that it made. */
  readonly refs: readonly ValueRef[];
  /** Positions of inputs that it writes to. */
  readonly written: readonly number[];
}

/** Of one operator, how many different calls from one node are kept. */
const mostAlike = 16;
/** How many steps there are before everything is forgotten: a program that never does the same twice gains nothing. */
const mostSteps = 4096;
const mostEnds = 32;

export class StepNode {
  readonly #calls = new Map<string, CallStep[]>();
  readonly #spelled = new Map<string, CallStep[]>();
  readonly #others: Exclude<Step, CallStep>[] = [];
  readonly #ends = new Map<string, SegmentEnd[]>();

  /** Calls of an operator, the newest first. */
  calls(operator: string): readonly CallStep[] {
    return this.#calls.get(operator) ?? none;
  }

  /** Calls that a program writes with this name. */
  spelled(name: string): readonly CallStep[] {
    return this.#spelled.get(name) ?? none;
  }

  get others(): readonly Exclude<Step, CallStep>[] {
    return this.#others;
  }

  /** Ends of one signature differ in what they assume of sizes. */
  ends(signature: string): readonly SegmentEnd[] {
    return this.#ends.get(signature) ?? none;
  }

  add(step: Step): void {
    if (step.kind !== 'call') {
      addFirst(this.#others, step);
      return;
    }
    addUnder(this.#calls, step.call.operator.name, step);
    if (step.spelling !== undefined) addUnder(this.#spelled, step.spelling.name, step);
  }

  addEnd(signature: string, end: SegmentEnd): void {
    if (this.#ends.size >= mostEnds) this.#ends.clear();
    addUnder(this.#ends, signature, end);
  }
}

const none: readonly never[] = [];

function addUnder<T>(map: Map<string, T[]>, name: string, item: T): void {
  const known = map.get(name);
  if (known === undefined) map.set(name, [item]);
  else addFirst(known, item);
}

function addFirst<T>(list: T[], item: T): void {
  list.unshift(item);
  if (list.length > mostAlike) list.pop();
}

/** All steps of a function. */
export class StepTrie {
  #root = new StepNode();
  #count = 0;

  get root(): StepNode {
    return this.#root;
  }

  /** Steps added since it was last emptied. */
  get size(): number {
    return this.#count;
  }

  /** Makes room for as many more: what is at an older node goes with it, once nobody follows it any more. */
  reserve(count: number): void {
    this.#count += count;
    if (this.#count <= mostSteps) return;
    this.#root = new StepNode();
    this.#count = 0;
  }
}
