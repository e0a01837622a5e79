// One specialisation of a compiled function: what it requires of a call, and what runs when that holds. In: a traced call and
// the executable of its graph. Out: whether a call fits, or which guard fails; and the results of running it.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import { writesAreShared } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from './executable.ts';
import { checkGuards, explainFailure, meetsTensor, printGuard, printTensorGuard } from './guard.ts';
import type { GuardFailure } from './guard.ts';
import { putTogether } from './result.ts';
import type { Backend } from './options.ts';
import { aliasedResult } from './trace-call.ts';
import type { TracedCall } from './trace-call.ts';

/** What a call brings: its `this`, and the arguments with what `captures` gives. */
export interface CallScope {
  readonly thisArg: unknown;
  readonly values: readonly unknown[];
}

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
  /** Slot 0: kept so that a call allocates nothing. */
  readonly #self: { this: unknown } = { this: undefined };
  readonly #slots: unknown[] = [this.#self];
  readonly #leaves: Tensor[];
  /** The leaves are the graph's inputs, in its order, and whoever runs it only looks at their list. */
  readonly #areInputs: boolean;
  /** The results are the graph's outputs, each once and in their order (a backend of the user's may give more). */
  readonly #areOutputs: boolean;

  constructor(traced: TracedCall, how: { executable: Executable; backend: Backend; owner: object | undefined }) {
    this.executable = how.executable;
    this.backend = how.backend;
    this.#traced = traced;
    this.#owner = how.owner === undefined ? undefined : new WeakRef(how.owner);
    this.#leaves = [...traced.leaves];
    const { results, graph, positions, captured } = traced;
    const isInOrder = captured.length === 0 && positions.every((position, leaf) => position === leaf);
    this.#areInputs = isInOrder && how.executable.borrowsInputs === true;
    const isItsOutput = (source: (typeof results)[number], index: number): boolean =>
      source.kind === 'computed' && source.output === index;
    this.#areOutputs = results.length === graph.outputs.length && results.every(isItsOutput);
  }

  isOf(owner: object | undefined): boolean {
    return this.#owner?.deref() === owner;
  }

  fits({ thisArg, values }: CallScope): boolean {
    this.#self.this = thisArg;
    this.#slots[1] = values;
    const { nodes, captured, sizeHolds } = this.#traced;
    if (checkGuards(nodes, this.#slots, this.#leaves) !== -1) return false;
    for (const { tensor, guard } of captured) if (!meetsTensor(tensor, guard)) return false;
    return sizeHolds === undefined || sizeHolds(this.#leaves);
  }

  /** Why the call does not fit. */
  mismatch({ thisArg, values }: CallScope): Mismatch {
    this.#self.this = thisArg;
    this.#slots[1] = values;
    const { nodes, captured, sizeGuards } = this.#traced;
    const node = nodes[checkGuards(nodes, this.#slots, this.#leaves)];
    if (node === undefined) {
      const changed = captured.find(({ tensor, guard }) => !meetsTensor(tensor, guard));
      return {
        reason:
          changed === undefined
            ? `sizes: ${sizeGuards.map((guard) => guard.text).join(', ')} no longer hold`
            : `a captured tensor is no longer ${printTensorGuard(changed.guard)}`,
      };
    }
    const failure = explainFailure(node, this.#slots);
    return { reason: `${failure.path} was ${failure.found}, expected ${failure.expected}`, failure };
  }

  /** The graph's inputs in the call that fitted last. */
  inputs(): readonly Tensor[] {
    if (this.#areInputs) return this.#leaves;
    const inputs: Tensor[] = [];
    const { positions, captured } = this.#traced;
    let index = 0;
    for (const position of positions) {
      const tensor = this.#leaves[index] ?? captured[index - this.#leaves.length]?.tensor;
      if (position >= 0 && tensor !== undefined) inputs[position] = tensor;
      index += 1;
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

  run(inputs: readonly Tensor[]): unknown {
    const { results, template } = this.#traced;
    const outputs = this.executable.run(inputs);
    const areResults = this.#areOutputs && outputs.length === results.length;
    return putTogether(template, areResults ? outputs : this.#resultsOf(inputs, this.#inRows(outputs)));
  }

  #resultsOf(inputs: readonly Tensor[], outputs: readonly Tensor[]): readonly Tensor[] {
    const { results: sources, sizes } = this.#traced;
    const results = sources.map((source) => {
      switch (source.kind) {
        case 'computed':
          return at(outputs, source.output);
        case 'input':
          return aliasedResult(at(inputs, source.placeholder), source.alias, sizesOf(sizes, inputs));
        case 'view':
          return aliasedResult(at(outputs, source.output), source.alias, sizesOf(sizes, inputs));
      }
    });
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
    const { nodes, captured, sizeGuards } = this.#traced;
    return [
      ...nodes.map(printGuard),
      ...captured.map(({ guard }) => `captured tensor: ${printTensorGuard(guard)}`),
      ...sizeGuards.map(({ text }) => text),
    ];
  }
}

/** The symbolic sizes of a call. */
const sizesOf = (sizes: Graph['sizes'], inputs: readonly Tensor[]): ReadonlyMap<string, number> =>
  new Map(sizes.map(({ name, placeholder, axis }) => [name, inputs[placeholder]?.shape[axis] ?? 0]));
