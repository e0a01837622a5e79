// Running a graph some of whose inputs are frozen. In: how it is split, what is computed once, and an executable for the rest.
// Out: one Executable that takes the inputs of the whole graph.
import { at } from '@tsinductor/base';
import { printGraph } from '@tsinductor/graph';
import type { FoldedValue, FrozenSplit, Graph } from '@tsinductor/graph';
import { printIndex } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from '../run/executable.ts';
import type { FoldedValues } from './folded-values.ts';

interface FrozenParts {
  /** As the user wrote it. */
  readonly graph: Graph;
  readonly split: FrozenSplit;
  readonly values: FoldedValues;
  readonly rest: Executable;
  /** Computes the values of other frozen tensors. */
  readonly refresh: (inputs: readonly Tensor[]) => void;
}

export function frozenExecutable({ graph, split, values, rest, refresh }: FrozenParts): Executable {
  const { inputs: wiring } = split;
  const list = new Array<Tensor>(wiring.length);
  const fill = (inputs: readonly Tensor[], given: Tensor[]): Tensor[] => {
    for (let index = 0; index < wiring.length; index += 1) {
      const { kind, position } = at(wiring, index);
      given[index] = at(kind === 'input' ? inputs : values.values, position);
    }
    return given;
  };
  const borrowsInputs = rest.borrowsInputs === true;
  const lines = split.folded.map(describe);
  return {
    run: (inputs) => {
      if (!values.holdFor(inputs)) refresh(inputs);
      return rest.run(fill(inputs, borrowsInputs ? list : []));
    },
    borrowsInputs,
    get report() {
      return { ...rest.report, graph: printGraph(graph), frozen: lines };
    },
    ...(rest.tiers === undefined ? {} : { tiers: rest.tiers }),
  };
}

/** Gives back the memory of frozen tensors that neither the rest nor a gradient reads. */
export function discard({ folded, inputs: wiring }: FrozenSplit, inputs: readonly Tensor[]): void {
  const used = new Set(wiring.flatMap(({ kind, position }) => (kind === 'input' ? [at(inputs, position)] : [])));
  for (const position of new Set(folded.flatMap((value) => value.inputs))) {
    const tensor = at(inputs, position);
    if (!used.has(tensor) && !tensor.requiresGrad) tensor.dispose();
  }
}

function describe({ graph: { nodes }, meta: { dtype, shape } }: FoldedValue): string {
  const made = nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : []));
  const given = nodes
    .filter(({ kind }) => kind === 'placeholder')
    .map(({ results }) => printShape(at(results, 0).shape));
  return `${dtype}${printShape(shape)} by ${made.join(', ')} of ${given.join(', ')}`;
}

const printShape = (shape: FoldedValue['meta']['shape']): string =>
  `[${shape.map((size) => printIndex(size)).join(', ')}]`;
