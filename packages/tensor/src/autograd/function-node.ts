// A function as one step that can be differentiated: whoever made its results says what its gradients are.
import { at, isFloat } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import { dispatchOne } from '../dispatch.ts';
import { deferredLocation } from '../location.ts';
import { dependsOutside, levelAmong, mappedOf, mappedTensor, outside, reopened } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { repeated } from '../mapping/whole.ts';
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

/** Makes `results`, new tensors, the results of a step from `inputs`. Where an input is at a level of vmap, so are they, and differ. */
export function recordFunction(
  name: string,
  { inputs, results }: { readonly inputs: readonly Tensor[]; readonly results: readonly Tensor[] },
  pull: Pull,
): void {
  const level = levelAmong(inputs);
  const isSeen = (tensor: Tensor): boolean => level === undefined || mappedOf(tensor)?.level === level;
  const edges = inputs.map((tensor) => (isSeen(tensor) ? edgeOf(tensor) : undefined));
  if (level === undefined || edges.some((edge) => edge !== undefined)) recordEdges(name, { edges, results }, pull);
  if (level !== undefined) recordOutside(name, { inputs, results, level }, pull);
}

/** Under vmap the step is also one from whole tensors to whole tensors, whose gradients are what all samples give. */
function recordOutside(
  name: string,
  { inputs, results, level }: { inputs: readonly Tensor[]; results: readonly Tensor[]; level: MapLevel },
  pull: Pull,
): void {
  const sources = inputs.map((tensor) => outside(tensor, level));
  const wholes = sources.map(({ whole }) => whole);
  if (!wholes.some((whole) => edgeOf(whole) !== undefined || dependsOutside(whole))) return;
  const made = { inputs: wholes, results: results.map((tensor) => outside(tensor, level).whole) };
  recordFunction(name, made, (cotangents, createGraph) =>
    reopened(level, () => {
      const given = cotangents.map((cotangent) => cotangent && mappedTensor(level, cotangent, true));
      return pull(given, createGraph).map((gradient, position) => {
        if (gradient === undefined) return undefined;
        const { whole, differs } = outside(gradient, level);
        const isShared = !at(sources, position).differs;
        if (isShared) return differs ? dispatchOne('sum', [whole, 0]) : whole;
        return differs ? whole : repeated(whole, level);
      });
    }),
  );
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
