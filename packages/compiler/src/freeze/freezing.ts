// Freezing at compile time: how a traced graph is split by its frozen inputs, and requests for both parts. In: a graph, a request
// that names its frozen inputs, the settings. Out: a split, or undefined where the graph is compiled as it is.
import { at, dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { panelColumns } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import { splitFrozen } from '@tsinductor/graph';
import type { FrozenSplit, Graph, Packing } from '@tsinductor/graph';
import type { Isa } from '@tsinductor/runtime';
import type { Tensor } from '@tsinductor/tensor';
import type { PrepareRequest, TracedGraph } from '../request.ts';
import type { Executable } from '../run/executable.ts';
import { isWatched } from './folded-store.ts';
import type { FoldedStore } from './folded-store.ts';
import { compute, FoldedValues } from './folded-values.ts';
import type { PendingFold } from './folded-values.ts';
import { discard, frozenExecutable } from './frozen-executable.ts';

/** Products of fewer rows read a matrix once, in the order in which it lies. */
const leastRows = 4;

interface Frozen {
  readonly config: Config;
  /** What products are packed for; undefined: for nothing, matrices stay as they are. */
  readonly isa: Isa | undefined;
}

export function splitByFrozen(
  { primitives }: TracedGraph,
  { frozen, examples }: PrepareRequest,
  { config, isa }: Frozen,
): FrozenSplit | undefined {
  if (frozen === undefined || frozen.size === 0) return undefined;
  const packing: Packing | undefined =
    isa === undefined || !config.cpp.weightPrepack
      ? undefined
      : {
          panelColumns: (dtype) => columnsFor(isa, dtype),
          // Where originals are given back, each weight is to be there once: as panels.
          leastRows: config.freezingDiscardParameters ? 1 : leastRows,
        };
  return splitFrozen(primitives, {
    isFrozen: (position) => frozen.has(position) && isWatched(at(examples, position)),
    ...(packing === undefined ? {} : { packing }),
  });
}

/** Half floats are widened as they are packed, once for many rows, so their panels are not kept. */
const columnsFor = (isa: Isa, dtype: DType): number | undefined =>
  dtypeInfo[dtype].compute === dtype ? panelColumns(isa, dtype) : undefined;

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
    this.#values = new FoldedValues(split.folded, store);
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
