// A function as one step that can be differentiated: whoever made its results says what its gradients are.
import { isFloat } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { deferredLocation } from '../location.ts';
import type { Tensor } from '../tensor.ts';
import { freedGraph } from './errors.ts';
import { newGradientState } from './gradient-state.ts';
import type { Edge, GradientNode } from './gradient-state.ts';
import { edgeOf, nextOrder } from './record.ts';

/** Gradients of the inputs, for cotangents of the results; undefined where nothing flows. */
type Pull = (cotangents: readonly (Tensor | undefined)[], createGraph: boolean) => readonly (Tensor | undefined)[];

class FunctionNode implements GradientNode {
  readonly order: number = nextOrder();
  readonly name: string;
  readonly location: SourceLocation | undefined = deferredLocation();
  readonly inputs: readonly (Edge | undefined)[];
  readonly hooks: GradientNode['hooks'] = new Map();
  #pull: Pull | undefined;

  constructor(name: string, inputs: readonly (Edge | undefined)[], pull: Pull) {
    this.name = name;
    this.inputs = inputs;
    this.#pull = pull;
  }

  pull(cotangents: readonly (Tensor | undefined)[], createGraph: boolean): readonly (Tensor | undefined)[] {
    if (this.#pull === undefined) throw freedGraph(this.name);
    return this.#pull(cotangents, createGraph);
  }

  release(): void {
    this.#pull = undefined;
  }
}

/** Makes `results`, new tensors, the results of a step from `inputs`. */
export function recordFunction(
  name: string,
  { inputs, results }: { readonly inputs: readonly Tensor[]; readonly results: readonly Tensor[] },
  pull: Pull,
): void {
  recordEdges(name, { edges: inputs.map(edgeOf), results }, pull);
}

/** The same from where the gradients of the inputs go. */
export function recordEdges(
  name: string,
  { edges, results }: { readonly edges: readonly (Edge | undefined)[]; readonly results: readonly Tensor[] },
  pull: Pull,
): void {
  const node = new FunctionNode(name, edges, pull);
  results.forEach((tensor, result) => {
    if (!isFloat(tensor.dtype)) return;
    tensor.gradient = { ...newGradientState(), requiresGrad: true, history: { kind: 'result', node, result } };
  });
}
