// One specialisation of a compiled function: what it requires of a call, and what runs when that holds. In: a traced call and
// the executable of its graph. Out: whether a call fits, or which guard fails; and the results of running it.
import { at } from '@tsinductor/base';
import { evaluateIndex, isCheckFailure } from '@tsinductor/ir';
import { requiresGrad, withoutGradients, writesAreShared } from '@tsinductor/tensor/internal';
import type { OutputAlias } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { ClosedOver } from './closed-over.ts';
import { callsHost } from '../hosted/hosted-graph.ts';
import { CallSizes, namesOfSizes } from '../run/call-sizes.ts';
import type { Executable } from '../run/executable.ts';
import {
  DifferentiableCall,
  isUpdate,
  mayHaveGradients,
  recordUpdate,
  whyNotDifferentiable,
} from './differentiable-call.ts';
import type { Compile } from './differentiable-call.ts';
import {
  changedInputs,
  checkGuards,
  explainCoincidence,
  explainFailure,
  guardsHold,
  objectsCoincide,
  printGuard,
} from './guard.ts';
import type { CallScope, GuardFailure, GuardNode } from './guard.ts';
import type { Point } from './explain-number.ts';
import { setNumbers } from './number-inputs.ts';
import { OpenValues } from './open-values.ts';
import { resultMaker } from './result-source.ts';
import type { RanCall } from './result-source.ts';
import { putTogether } from './result.ts';
import type { Backend } from '../options.ts';
import type { TracedCall } from './trace-call.ts';

export interface Mismatch {
  readonly reason: string;
  /** The guard that failed; undefined where it is of sizes, or of a captured tensor. */
  readonly failure?: GuardFailure;
}

export class Specialisation {
  readonly executable: Executable;
  readonly backend: Backend;
  readonly #traced: TracedCall;
  /** Whose method was called; undefined for a plain function. */
  readonly #owner: WeakRef<object> | undefined;
  readonly #slots: unknown[] = [];
  readonly #leaves: Tensor[];
  readonly #closedOver: ClosedOver;
  /** What the function closes over, and numbers, at their places among the graph's inputs; the leaves of a call between them. */
  readonly #inputs: Tensor[];
  /** Undefined where nothing was left open. */
  readonly #open: OpenValues | undefined;
  /** The leaves are the graph's inputs, in its order, and whoever runs it only looks at their list. */
  readonly #areInputs: boolean;
  readonly #sizes: CallSizes;
  readonly #results: readonly ((call: RanCall) => Tensor)[];
  /** The results are the graph's outputs, each once and in their order (a backend of the user's may give more). */
  readonly #areOutputs: boolean;
  #differentiable: DifferentiableCall | undefined;
  /** Which inputs required gradients when it was last asked whether results have any, and the answer. */
  #lastAsked: { readonly required: readonly boolean[]; readonly answer: boolean } | undefined;

  constructor(traced: TracedCall, how: { executable: Executable; backend: Backend; owner: object | undefined }) {
    this.executable = how.executable;
    this.backend = how.backend;
    this.#traced = traced;
    this.#owner = how.owner === undefined ? undefined : new WeakRef(how.owner);
    this.#leaves = [...traced.leaves];
    this.#closedOver = new ClosedOver(traced);
    const { numbers, conditions, sizeHolds } = traced;
    const isOpen = numbers.length > 0 || conditions.length > 0 || sizeHolds !== undefined;
    this.#open = isOpen ? new OpenValues(traced) : undefined;
    const { results, graph, positions, captured, sizes } = traced;
    const names = namesOfSizes(sizes);
    this.#sizes = CallSizes.of(sizes);
    this.#results = results.map((source) => resultMaker(source, names));
    const isInOrder = captured.length === 0 && positions.every((position, leaf) => position === leaf);
    this.#inputs = [...traced.inputs];
    this.#areInputs = isInOrder && how.executable.borrowsInputs === true;
    const isItsOutput = (source: (typeof results)[number], index: number): boolean =>
      source.kind === 'computed' && source.output === index;
    this.#areOutputs = results.length === graph.outputs.length && results.every(isItsOutput);
  }

  isOf(owner: object | undefined): boolean {
    return this.#owner?.deref() === owner;
  }

  fits(scope: CallScope): boolean {
    this.#slots[0] = scope;
    if (checkGuards(this.#traced.guards, this.#slots, this.#leaves) !== guardsHold) return false;
    if (!this.#closedOver.holds(this.#leaves, this.#inputs)) return false;
    return this.#open === undefined || this.#open.isAsBefore(this.#slots, this.#leaves) || this.#fitsOpen();
  }

  /** Whether what was left open has values for which the code was made. */
  #fitsOpen(): boolean {
    const { numbers, conditions, sizeHolds } = this.#traced;
    if (sizeHolds !== undefined && !sizeHolds(this.#leaves)) return false;
    if (numbers.length > 0 || conditions.length > 0) {
      const point = this.#point();
      if (!conditions.every(({ isMet }) => isMet(point)) || !setNumbers(numbers, point)) return false;
    }
    this.#open?.remember(this.#slots, this.#leaves);
    return true;
  }

  /** The numbers and sizes of the call whose guards held. */
  #point(): Point {
    return this.#open?.point(this.#slots, this.#leaves) ?? { numbers: new Map(), sizes: new Map() };
  }

  /** The numbers and sizes of a call that does not fit which are others than those that it was traced for. */
  changes(scope: CallScope): readonly GuardFailure[] {
    this.#slots[0] = scope;
    return changedInputs(this.#traced.guards, this.#slots);
  }

  /** Why the call does not fit. */
  mismatch(scope: CallScope): Mismatch {
    this.#slots[0] = scope;
    const { guards } = this.#traced;
    const failed = checkGuards(guards, this.#slots, this.#leaves);
    if (failed === objectsCoincide) return { reason: printFailure(explainCoincidence(guards, this.#slots)) };
    const node = guards.nodes[failed];
    if (node === undefined) {
      return { reason: this.#otherReason() };
    }
    const failure = explainFailure(node, this.#slots);
    return { reason: printFailure(failure), failure };
  }

  /** Why a call does not fit whose guards hold. */
  #otherReason(): string {
    const { sizeGuards, sizeHolds, conditions } = this.#traced;
    const changed = this.#closedOver.changed();
    if (changed !== undefined) return changed;
    if (sizeHolds !== undefined && !sizeHolds(this.#leaves))
      return `sizes: ${sizeGuards.map((guard) => guard.text).join(', ')} no longer hold`;
    const point = this.#point();
    const condition = conditions.find(({ isMet }) => !isMet(point));
    if (condition !== undefined) return `${condition.text} no longer holds`;
    return 'a number no longer fits the dtype of its tensors';
  }

  /** The graph's inputs in the call that fitted last. */
  inputs(): readonly Tensor[] {
    if (this.#areInputs) return this.#leaves;
    const inputs = this.executable.borrowsInputs === true ? this.#inputs : [...this.#inputs];
    const { positions } = this.#traced;
    let index = 0;
    for (const leaf of this.#leaves) {
      const position = positions[index++] ?? -1;
      if (position >= 0) inputs[position] = leaf;
    }
    return inputs;
  }

  /** Whether the graph writes to memory that several of the inputs share: it was traced as if each were its own. */
  writesShared(inputs: readonly Tensor[]): boolean {
    const { mutations } = this.#traced.graph;
    if (mutations.length === 0) return false;
    const written = mutations.map(({ placeholder }) => at(inputs, placeholder));
    return writesAreShared(written, inputs);
  }

  /** Whether an error of a run says that a check failed, behind writes which eager mode would have done by then. */
  hasLeftUndone(error: unknown): boolean {
    const { graph, program } = this.#traced;
    return isCheckFailure(error) && graph.mutations.length > 0 && !callsHost(program);
  }

  run(inputs: readonly Tensor[]): unknown {
    return this.#put(inputs, this.executable.run(inputs));
  }

  /** Whether results may have gradients of inputs that require them. */
  mayHaveGradients(inputs: readonly Tensor[]): boolean {
    const asked = this.#lastAsked;
    const isAsBefore = (required: boolean, position: number): boolean =>
      required === requiresGrad(at(inputs, position));
    if (asked?.required.every(isAsBefore) === true) return asked.answer;
    const required = inputs.map(requiresGrad);
    const answer = mayHaveGradients(this.#traced, inputs);
    this.#lastAsked = { required, answer };
    return answer;
  }

  /** Whether a call whose inputs require gradients is run as any other, as it updates them itself. */
  isUpdate(inputs: readonly Tensor[]): boolean {
    return isUpdate(this.#traced, inputs);
  }

  /** Such a call. */
  runUpdate(inputs: readonly Tensor[], name: string): unknown {
    const given = [...inputs];
    const outputs = withoutGradients(() => this.executable.run(given));
    recordUpdate(name, this.#traced, { inputs: given, outputs });
    return withoutGradients(() => this.#put(given, outputs));
  }

  /**
   * The same as a step that is recorded for gradients. `compile` is asked for the graph of these when they are first needed.
   * Undefined where the call has to run as it is, `why` being told the reason, or where a check has failed behind writes.
   */
  runTracked(
    inputs: readonly Tensor[],
    { name, compile, why }: { name: string; compile: Compile; why: (reason: string) => void },
  ): { readonly result: unknown } | undefined {
    const reason = whyNotDifferentiable(this.#traced);
    if (reason !== undefined) {
      why(reason);
      return undefined;
    }
    const { executable } = this;
    this.#differentiable ??= new DifferentiableCall(name, this.#traced, { executable, compile });
    const outputs = this.#tried(inputs, this.#differentiable);
    if (outputs === undefined) return undefined;
    const { results, template } = this.#traced;
    const made = results.map((source) => {
      if (source.kind === 'input') return at(inputs, source.placeholder);
      const output = at(outputs, source.output);
      return source.kind === 'computed' ? output : recordedView(output, source.alias);
    });
    return { result: putTogether(template, { outputs: made, slots: this.#slots }) };
  }

  #tried(inputs: readonly Tensor[], step: DifferentiableCall): readonly Tensor[] | undefined {
    try {
      return step.outputs(inputs);
    } catch (error) {
      if (!this.hasLeftUndone(error)) throw error;
      return undefined;
    }
  }

  #put(inputs: readonly Tensor[], outputs: readonly Tensor[]): unknown {
    const { results, template } = this.#traced;
    const areResults = this.#areOutputs && outputs.length === results.length;
    const given = areResults ? outputs : this.#resultsOf(inputs, this.#inRows(outputs));
    return putTogether(template, { outputs: given, slots: this.#slots });
  }

  #resultsOf(inputs: readonly Tensor[], outputs: readonly Tensor[]): readonly Tensor[] {
    const call = { inputs, outputs, sizes: this.#sizes.in(inputs) };
    const results = this.#results.map((resultOf) => resultOf(call));
    // New values of mutated inputs were written back: their own memory is free again.
    for (const output of outputs) if (!results.includes(output)) output.dispose();
    return results;
  }

  /** Views are made of memory whose elements lie row by row. A backend of the user's may give others, which are copied. */
  #inRows(outputs: readonly Tensor[]): readonly Tensor[] {
    const isViewed = (output: number): boolean =>
      this.#traced.results.some((source) => source.kind === 'view' && source.output === output);
    return outputs.map((tensor, output) => (tensor.isContiguous() || !isViewed(output) ? tensor : tensor.contiguous()));
  }

  /** One line for each thing that is required. */
  guards(): string[] {
    const { guards, sizeGuards } = this.#traced;
    const isCount = ({ expect }: GuardNode): boolean => expect.kind === 'count';
    return [
      ...guards.nodes.filter((node) => !isCount(node)).map(printGuard),
      ...guards.nodes.filter(isCount).map(printGuard),
      ...this.#closedOver.guards(),
      ...sizeGuards.map(({ text }) => text),
      ...this.#traced.conditions.map(({ text }) => text),
    ];
  }
}

/** A view of an output, as an operator makes it. */
function recordedView(output: Tensor, { layout }: OutputAlias): Tensor {
  const evaluate = (index: OutputAlias['layout']['offset']): number => evaluateIndex(index, { sizes: new Map() });
  const [size, stride] = [layout.shape.map(evaluate), layout.strides.map(evaluate)];
  const rows = output.isContiguous() ? output : output.contiguous();
  return rows.asStrided(size, stride, evaluate(layout.offset));
}

const printFailure = ({ path, found, expected }: GuardFailure): string => `${path} was ${found}, expected ${expected}`;
