// Freezing at compile time: how a traced graph is split by its frozen inputs, and requests for both parts. In: a graph, a request
// that names its frozen inputs, the settings. Out: a split, or undefined where the graph is compiled as it is.
import { at, dtypeInfo } from '@tsinductor/base';
import { keptPanels } from '@tsinductor/codegen-cpp';
import type { Config } from '@tsinductor/config';
import { splitFrozen } from '@tsinductor/graph';
import type { FoldedValue, FrozenSplit, Graph } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';
import { allocate, placedTensor } from '@tsinductor/tensor/internal';
import type { NativeMachine } from '../build/machine.ts';
import { fewNodes } from '../build/native-compiler.ts';
import { hasWinograd } from '../build/stage-options.ts';
import type { Pending } from '../build/pending.ts';
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
    winograd: machine !== undefined && hasWinograd(config),
    // Where originals are given back, each weight is to be there once: as panels.
    ...(packing && { packing: config.freezingDiscardParameters ? { ...packing, leastRows: 1 } : packing }),
  });
}

/** Who compiles graphs: while this thread waits, beside it, or without blocking it. */
interface Compiler {
  now(graph: Graph, request: PrepareRequest): Executable;
  beside(graph: Graph, request: PrepareRequest): Pending<Executable>;
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
    const { rest } = this.#split;
    const pending = this.#values.pending(this.#request.examples);
    // A short rest has no workers that a compiler beside this thread could run in.
    if (pending === undefined || rest.nodes.length <= fewNodes) {
      this.#refresh(this.#request.examples, compiler);
      return this.#finish(compiler.now(rest, this.#restRequest()), compiler);
    }
    // What computes the values is built while this thread writes the code of the rest.
    const folding = compiler.beside(pending.graph, this.#foldRequest(pending));
    const executable = compiler.now(rest, this.#restRequest());
    compute(pending, folding.wait());
    this.#discard(this.#request.examples);
    return this.#finish(executable, compiler);
  }

  async later(compiler: Compiler): Promise<Executable> {
    const pending = this.#values.pending(this.#request.examples);
    const [rest, folding] = await Promise.all([
      compiler.later(this.#split.rest, this.#restRequest()),
      pending && compiler.later(pending.graph, this.#foldRequest(pending)),
    ]);
    if (pending !== undefined && folding !== undefined) compute(pending, folding);
    this.#discard(this.#request.examples);
    return this.#finish(rest, compiler);
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
      kind === 'input' ? at(examples, position) : likeValue(at(this.#split.folded, position)),
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

/** A tensor with the layout of a value, which may not be computed yet: its elements are not to be read. */
function likeValue({ meta: { dtype, shape, strides } }: FoldedValue): Tensor {
  const sizes = (list: readonly Index[]): number[] => list.map((size) => (size.kind === 'int' ? size.value : 1));
  return placedTensor(dtype, allocate(dtypeInfo[dtype].bytes, 'intermediate'), {
    shape: sizes(shape),
    strides: sizes(strides),
    offset: 0,
  });
}
