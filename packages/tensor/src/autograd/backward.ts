// The backward pass: cotangents flow from outputs through the recorded nodes, the latest first, to leaves or to the tensors that
// were asked for. Cotangents that meet are added up.
import { dispatchOne } from '../dispatch.ts';
import { dependsOutside } from '../mapping/level.ts';
import type { Tensor } from '../tensor.ts';
import { withGradients, withoutGradients } from './grad-mode.ts';
import type { Edge, GradientHook, GradientNode } from './gradient-state.ts';
import { markedBackward } from './origin-marks.ts';
import { edgeOf } from './record.ts';

export interface Seed {
  readonly tensor: Tensor;
  readonly cotangent: Tensor;
}

interface PassOptions {
  /** Whether the gradients can be differentiated. */
  readonly createGraph: boolean;
  /** Whether what was saved stays for another pass. */
  readonly retainGraph: boolean;
}

/** What came together at each leaf, and at each tensor that is watched. */
interface Collected {
  readonly leaves: ReadonlyMap<Tensor, Tensor>;
  readonly watched: ReadonlyMap<Tensor, Tensor>;
}

const add = (sum: Tensor | undefined, more: Tensor): Tensor =>
  sum === undefined ? more : dispatchOne('add', [sum, more]);

export function backwardPass(
  seeds: readonly Seed[],
  watched: readonly Tensor[],
  { createGraph, retainGraph }: PassOptions,
): Collected {
  const pass = new Pass(watched);
  const isRecorded = createGraph || seeds.some(({ tensor }) => dependsOutside(tensor));
  return pass.run(seeds, { createGraph: isRecorded, retainGraph }, () => pass.collected());
}

/** The same as far as the nodes go that came after the first `start`: what comes to each of `edges`, which lead out of them. */
export function partialPass(
  seeds: readonly Seed[],
  edges: readonly Edge[],
  { start, createGraph }: { readonly start: number; readonly createGraph: boolean },
): readonly (Tensor | undefined)[] {
  const pass = new Pass([], start);
  return pass.run(seeds, { createGraph, retainGraph: createGraph }, () => edges.map((edge) => pass.sumAt(edge)));
}

class Pass {
  readonly #leaves = new Map<Tensor, Tensor>();
  readonly #results = new Map<GradientNode, (Tensor | undefined)[]>();
  readonly #found = new Map<Tensor, Tensor>();
  readonly #watched: ReadonlyMap<GradientNode, readonly { readonly tensor: Tensor; readonly result: number }[]>;
  readonly #wanted: readonly Tensor[];
  /** The number of the last node that is left alone. */
  readonly #start: number;

  constructor(wanted: readonly Tensor[], start = 0) {
    this.#wanted = wanted;
    this.#start = start;
    const watched = new Map<GradientNode, { tensor: Tensor; result: number }[]>();
    for (const tensor of wanted) {
      const edge = edgeOf(tensor);
      if (edge?.kind !== 'result') continue;
      const known = watched.get(edge.node) ?? [];
      known.push({ tensor, result: edge.result });
      watched.set(edge.node, known);
    }
    this.#watched = watched;
  }

  /** Lets the seeds flow, and gives what `result` makes of it. */
  run<T>(seeds: readonly Seed[], { createGraph, retainGraph }: PassOptions, result: () => T): T {
    const inMode = createGraph ? withGradients : withoutGradients;
    const pass = (): T => {
      for (const { tensor, cotangent } of seeds) this.send(edgeOf(tensor), cotangent);
      for (const node of nodesBehind(seeds, this.#start)) {
        const cotangents = this.take(node);
        if (cotangents === undefined) continue;
        const gradients = node.pull(cotangents, createGraph);
        node.inputs.forEach((edge, position) => {
          const gradient = gradients[position];
          if (gradient !== undefined) this.send(edge, gradient);
        });
        if (!retainGraph) node.release();
      }
      return result();
    };
    return markedBackward(() => inMode(pass));
  }

  /** What came to an edge that was not followed. */
  sumAt(edge: Edge): Tensor | undefined {
    return edge.kind === 'leaf' ? this.#leaves.get(edge.tensor) : this.#results.get(edge.node)?.[edge.result];
  }

  send(edge: Edge | undefined, cotangent: Tensor): void {
    if (edge === undefined) return;
    if (edge.kind === 'leaf') {
      this.#leaves.set(edge.tensor, add(this.#leaves.get(edge.tensor), cotangent));
      return;
    }
    const slots = this.#results.get(edge.node) ?? [];
    slots[edge.result] = add(slots[edge.result], cotangent);
    this.#results.set(edge.node, slots);
  }

  /** All that came for the results of a node, after the hooks of tensors that are such results. */
  take(node: GradientNode): readonly (Tensor | undefined)[] | undefined {
    const cotangents = this.#results.get(node);
    if (cotangents === undefined) return undefined;
    this.#results.delete(node);
    for (const [result, hooked] of node.hooks) {
      const cotangent = cotangents[result];
      if (cotangent !== undefined) cotangents[result] = applyHooks(hooked, cotangent);
    }
    for (const { tensor, result } of this.#watched.get(node) ?? []) {
      const cotangent = cotangents[result];
      if (cotangent !== undefined) this.#found.set(tensor, cotangent);
    }
    return cotangents;
  }

  collected(): Collected {
    for (const [leaf, gradient] of this.#leaves)
      this.#leaves.set(leaf, applyHooks(leaf.gradient?.hooks ?? [], gradient));
    for (const tensor of this.#wanted) {
      const gradient = this.#leaves.get(tensor);
      if (gradient !== undefined) this.#found.set(tensor, gradient);
    }
    return { leaves: this.#leaves, watched: this.#found };
  }
}

/** The list of hooks of a tensor, to which one can be added. */
export function hookList(tensor: Tensor): GradientHook[] {
  const edge = edgeOf(tensor);
  if (edge?.kind !== 'result') return tensor.gradient?.hooks ?? [];
  const list = edge.node.hooks.get(edge.result) ?? [];
  edge.node.hooks.set(edge.result, list);
  return list;
}

const applyHooks = (hooks: readonly GradientHook[], gradient: Tensor): Tensor =>
  hooks.reduce((passing, hook) => hook(passing) ?? passing, gradient);

/** Every node that the seeds depend on, the latest first; those alone that came after the first `start`. */
function nodesBehind(seeds: readonly Pick<Seed, 'tensor'>[], start = 0): readonly GradientNode[] {
  const found = new Set<GradientNode>();
  const open: GradientNode[] = [];
  const meet = (edge: Edge | undefined): void => {
    if (edge?.kind !== 'result' || found.has(edge.node) || edge.node.order <= start) return;
    found.add(edge.node);
    open.push(edge.node);
  };
  for (const { tensor } of seeds) meet(edgeOf(tensor));
  for (let node = open.pop(); node !== undefined; node = open.pop()) for (const edge of node.inputs) meet(edge);
  return [...found].sort((a, b) => b.order - a.order);
}

/** Every leaf that the tensors depend on. */
export function leavesBehind(tensors: readonly Tensor[]): ReadonlySet<Tensor> {
  const seeds = tensors.map((tensor) => ({ tensor }));
  const edges = [...tensors.map(edgeOf), ...nodesBehind(seeds).flatMap(({ inputs }) => inputs)];
  return new Set(edges.flatMap((edge) => (edge?.kind === 'leaf' ? [edge.tensor] : [])));
}

/** The edges that lead from what came after the first `start` nodes to what was there before. */
export function crossingEdges(tensors: readonly Tensor[], start: number): readonly Edge[] {
  const nodes = nodesBehind(
    tensors.map((tensor) => ({ tensor })),
    start,
  );
  const found = new Map<string | Tensor, Edge>();
  for (const edge of [...tensors.map(edgeOf), ...nodes.flatMap(({ inputs }) => inputs)]) {
    if (edge === undefined || (edge.kind === 'result' && edge.node.order > start)) continue;
    found.set(edge.kind === 'leaf' ? edge.tensor : `${String(edge.node.order)}.${String(edge.result)}`, edge);
  }
  return [...found.values()];
}
