// Freezing at compile time: how a traced graph is split by its frozen inputs, and requests for both parts. In: a graph, a request
// that names its frozen inputs, the settings. Out: a split, or undefined where the graph is compiled as it is.
import { at } from '@tsinductor/base';
import { keptPanels } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import { splitFrozen } from '@tsinductor/graph';
import type { FrozenSplit, Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import type { NativeMachine } from '../build/machine.ts';
import type { PrepareRequest, TracedGraph } from '../request.ts';
import type { Executable } from '../run/executable.ts';
import { isWatched } from './folded-store.ts';
import type { FoldedStore } from './folded-store.ts';
import { compute, FoldedValues } from './folded-values.ts';
import type { PendingFold } from './folded-values.ts';
import { discard, frozenExecutable } from './frozen-executable.ts';

/** What is known where a graph is split. */
interface Surroundings {
  readonly config: Config;
  /** For what products are packed; undefined: for nothing, matrices stay as they are. */
  readonly machine: NativeMachine | undefined;
}

export function splitByFrozen(
  { primitives }: TracedGraph,
  { frozen, examples }: PrepareRequest,
  { config, machine }: Surroundings,
): FrozenSplit | undefined {
  if (frozen === undefined || frozen.size === 0) return undefined;
  const packing = machine && config.cpp.weightPrepack ? keptPanels(machine) : undefined;
  return splitFrozen(primitives, {
    isFrozen: (position) => frozen.has(position) && isWatched(at(examples, position)),
    // Where originals are given back, each weight is to be there once: as panels.
    ...(packing && { packing: config.freezingDiscardParameters ? { ...packing, leastRows: 1 } : packing }),
  });
}

/** Who compiles graphs. */
interface Compiler {
  now(graph: Graph, request: PrepareRequest): Executable;
  later(graph: Graph, request: PrepareRequest): Promise<Executable>;
}

/** Compiles a graph that was split, and computes what is computed once. */
export class FrozenGraph {
  readonly #traced: TracedGraph;
  readonly #request: PrepareRequest;
  readonly #split: FrozenSplit;
  readonly #values: FoldedValues;
  readonly #isDiscarding: boolean;

  constructor(
    { traced, request, split }: { traced: TracedGraph; request: PrepareRequest; split: FrozenSplit },
    store: FoldedStore,
    isDiscarding: boolean,
  ) {
    this.#traced = traced;
    this.#request = request;
    this.#split = split;
    this.#values = new FoldedValues(split, store);
    this.#isDiscarding = isDiscarding;
  }

  now(compiler: Compiler): Executable {
    this.#refresh(this.#request.examples, compiler);
    return this.#finish(compiler.now(this.#split.rest, this.#restRequest()), compiler);
  }

  async later(compiler: Compiler): Promise<Executable> {
    const pending = this.#values.pending(this.#request.examples);
    if (pending !== undefined) compute(pending, await compiler.later(pending.graph, this.#foldRequest(pending)));
    this.#discard(this.#request.examples);
    return this.#finish(await compiler.later(this.#split.rest, this.#restRequest()), compiler);
  }

  #finish(rest: Executable, compiler: Compiler): Executable {
    const refresh = (inputs: readonly Tensor[]): void => {
      this.#refresh(inputs, compiler);
    };
    return frozenExecutable({ graph: this.#traced.graph, split: this.#split, values: this.#values, rest, refresh });
  }

  #refresh(inputs: readonly Tensor[], compiler: Compiler): void {
    const pending = this.#values.pending(inputs);
    if (pending !== undefined) compute(pending, compiler.now(pending.graph, this.#foldRequest(pending)));
    this.#discard(inputs);
  }

  #discard(inputs: readonly Tensor[]): void {
    if (this.#isDiscarding) discard(this.#split, inputs);
  }

  #restRequest(): PrepareRequest {
    const { frozen: _, examples, ...request } = this.#request;
    const given = this.#split.inputs.map(({ kind, position }) =>
      at(kind === 'input' ? examples : this.#values.values, position),
    );
    return { ...request, examples: given };
  }

  #foldRequest({ graph, examples }: PendingFold): PrepareRequest {
    const { frozen: _, ...request } = this.#request;
    const { device } = request.placement;
    return {
      ...request,
      name: `${request.name}, what is computed once`,
      examples,
      placement: { ...request.placement, outputs: graph.outputs.map(() => device) },
    };
  }
}
