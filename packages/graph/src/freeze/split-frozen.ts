// A graph of which some inputs are frozen (weights that do not change from call to call), as what is computed once and what is
// computed at every call: constant folding over parameters, as `freezing` of PyTorch's Inductor does. In: a graph of primitives.
// Out: the values that are computed once, each with the frozen inputs that it is made of, and the rest of the graph, which takes
// them as inputs.
//
// Not computed once: views, which cost nothing where they are; what is larger in memory than the inputs that it is made of (a
// bf16 matrix as f32, an outer product), as reading it would cost more than making it, also where it is several values (the halves of
// bytes); and the graph's outputs, which belong to the caller.
import { at, get, stableHash } from '@tsinductor/base';
import { valueKey, valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, Meta, ValueRef, ViewLayout } from '../graph.ts';
import { operatorFor } from '../operator-table.ts';
import { cancelViews } from '../passes/cancel-views.ts';
import { extractGraph } from '../passes/extract-graph.ts';
import { optimize } from '../passes/optimize.ts';
import { removeDead } from '../passes/remove-dead.ts';
import { winograd } from '../rewrite/winograd.ts';
import { zero } from '../shape.ts';
import { SizeEnvironment } from '../size-environment.ts';
import { bytesOf, bytesOfInputs, cheaplyMade, frozenNodes } from './frozen-nodes.ts';
import { packProducts } from './pack-products.ts';
import type { Packing } from './pack-products.ts';

/** A value that is computed once. */
export interface FoldedValue {
  /** Positions of the frozen inputs that it is made of, in the order in which its graph takes them. */
  readonly inputs: readonly number[];
  /** Computes it alone. */
  readonly graph: Graph;
  readonly meta: Meta;
  /** Equal for values that are computed equally, whatever graphs they are of. */
  readonly key: string;
}

/** What the rest takes: an input of the whole graph, or the folded value at a position. */
type RestInput =
  { readonly kind: 'input'; readonly position: number } | { readonly kind: 'folded'; readonly position: number };

export interface FrozenSplit {
  readonly folded: readonly FoldedValue[];
  readonly rest: Graph;
  readonly inputs: readonly RestInput[];
  /** Computes the folded values at these positions; `inputs` are positions of inputs of the whole graph. */
  readonly fold: (positions: readonly number[]) => { readonly graph: Graph; readonly inputs: readonly number[] };
}

interface Freezing {
  /** Whether the placeholder at a position holds what does not change. */
  readonly isFrozen: (placeholder: number) => boolean;
  readonly packing?: Packing;
  /** Whether convolutions are rewritten for fewer multiplications, with weights that are transformed once. */
  readonly winograd?: boolean;
}

/** No panels; matrices of convolutions are kept as they are. */
const unpacked: Packing = { panelColumns: () => undefined, leastRows: 1 };

/** Undefined where nothing would be computed once. */
export function splitFrozen(traced: Graph, { isFrozen, packing, ...how }: Freezing): FrozenSplit | undefined {
  const plain = optimize(traced);
  const graph = how.winograd === true ? optimize(winograd(plain, isFrozen)) : plain;
  const packed = packProducts(graph, isFrozen, packing ?? unpacked);
  return new Splitting(packed.graph, isFrozen, packed.panels).split();
}

const firstOf = ({ id }: GraphNode): ValueRef => ({ kind: 'value', node: id, result: 0 });

class Splitting {
  readonly #graph: Graph;
  readonly #isFrozen: (placeholder: number) => boolean;
  readonly #panels: ReadonlySet<string>;
  readonly #sources: ReadonlyMap<number, readonly number[]>;
  readonly #placeholders: readonly GraphNode[];
  /** The position of each placeholder among them, by node. */
  readonly #places: ReadonlyMap<number, number>;
  /** Of frozen values: where their elements lie in memory. */
  readonly #layouts = new Map<string, ViewLayout>();
  readonly #folded = new Map<string, ValueRef>();

  constructor(graph: Graph, isFrozen: (placeholder: number) => boolean, panels: ReadonlySet<string>) {
    this.#graph = graph;
    this.#isFrozen = isFrozen;
    this.#panels = panels;
    this.#sources = frozenNodes(graph, isFrozen);
    this.#placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder');
    this.#places = new Map(this.#placeholders.map(({ id }, position) => [id, position]));
  }

  split(): FrozenSplit | undefined {
    this.#findFolded();
    if (this.#folded.size === 0) return undefined;
    const { outputs, mutations, decisions } = this.#graph;
    const open = this.#placeholders.filter((_, position) => !this.#isFrozen(position)).map(firstOf);
    const part = extractGraph(this.#graph, {
      inputs: open,
      outputs,
      isGiven: (value) => this.#folded.has(valueKey(value)) || this.#placeOf(value) !== undefined,
    });
    const folded = [...this.#folded.values()];
    const order = new Map(folded.map((value, position) => [valueKey(value), position]));
    const inputs = part.inputs.map((value): RestInput => {
      const position = this.#placeOf(value);
      if (position !== undefined) return { kind: 'input', position };
      return { kind: 'folded', position: get(order, valueKey(value)) };
    });
    const places = new Map(inputs.map(({ kind, position }, place) => [`${kind} ${String(position)}`, place]));
    const placed = mutations.map((one) => ({ ...one, placeholder: get(places, `input ${String(one.placeholder)}`) }));
    const fold: FrozenSplit['fold'] = (positions) => this.#graphOf(positions.map((position) => at(folded, position)));
    return {
      folded: folded.map((value) => this.#valueOf(value)),
      rest: { ...part.graph, mutations: placed, ...(decisions && { decisions }) },
      inputs,
      fold,
    };
  }

  #placeOf({ node }: ValueRef): number | undefined {
    return this.#places.get(node);
  }

  /** Goes from the outputs down to what is frozen. */
  #findFolded(): void {
    const seen = new Set<string>();
    const open = [...this.#graph.outputs];
    const outputs = new Set(open.map(valueKey));
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const key = valueKey(next);
      if (seen.has(key)) continue;
      seen.add(key);
      const node = at(this.#graph.nodes, next.node);
      if (this.#sources.has(next.node) && !outputs.has(key) && this.#isWorthKeeping(node, next))
        this.#folded.set(key, next);
      else if ('args' in node) open.push(...valuesOf(node.args));
    }
    this.#giveUpLarger();
  }

  /** Cheap values of the same inputs that are larger than these together are computed at every call. */
  #giveUpLarger(): void {
    const bySources = new Map<string, [string, ValueRef][]>();
    const cheap = cheaplyMade(this.#graph);
    for (const [key, value] of this.#folded) {
      if (!cheap.has(value.node) || this.#panels.has(key)) continue;
      const sources = (this.#sources.get(value.node) ?? []).join();
      bySources.set(sources, [...(bySources.get(sources) ?? []), [key, value]]);
    }
    for (const all of bySources.values()) {
      const bytes = all.reduce(
        (sum, [, { node, result }]) => sum + bytesOf(at(at(this.#graph.nodes, node).results, result)),
        0,
      );
      if (bytes > this.#bytesOfSources(at(all, 0)[1].node)) for (const [key] of all) this.#folded.delete(key);
    }
  }

  #bytesOfSources(node: number): number {
    return bytesOfInputs(this.#graph, this.#sources.get(node) ?? []);
  }

  #isWorthKeeping(node: GraphNode, value: ValueRef): boolean {
    if (node.kind !== 'call') return false;
    if (this.#panels.has(valueKey(value))) return true;
    if (this.#viewOf(value) !== undefined) return false;
    return bytesOf(at(node.results, value.result)) <= this.#bytesOfSources(value.node);
  }

  /** The layout of a value that lies in the memory of what it is a view of; undefined: it has memory of its own. */
  #viewOf(value: ValueRef): ViewLayout | undefined {
    const node = at(this.#graph.nodes, value.node);
    if (node.kind !== 'call') return undefined;
    const operator = operatorFor(node.target, node.attrs);
    const [base] = valuesOf(node.args);
    if (base === undefined || node.args.length !== 1) return undefined;
    return operator.view?.(this.#layoutOf(base), node.attrs, new SizeEnvironment());
  }

  #layoutOf(value: ValueRef): ViewLayout {
    const key = valueKey(value);
    const known = this.#layouts.get(key);
    if (known !== undefined) return known;
    const node = at(this.#graph.nodes, value.node);
    const { shape, strides } = at(node.results, value.result);
    const layout = this.#viewOf(value) ?? { shape, strides, offset: zero };
    this.#layouts.set(key, layout);
    return layout;
  }

  #valueOf(value: ValueRef): FoldedValue {
    const { graph, inputs } = this.#graphOf([value]);
    const meta = at(at(this.#graph.nodes, value.node).results, value.result);
    return { inputs, graph, meta, key: stableHash(graph) };
  }

  /** Whatever graph it is of, its placeholders are called after their positions, and nobody's lines are named. */
  #graphOf(outputs: readonly ValueRef[]): ReturnType<FrozenSplit['fold']> {
    const isGiven = (value: ValueRef): boolean => this.#placeOf(value) !== undefined;
    const { graph, inputs } = extractGraph(this.#graph, { inputs: [], outputs, isGiven });
    const nodes = graph.nodes.map((node): GraphNode => {
      const origin = { from: node.origin.from };
      return node.kind === 'placeholder' ? { ...node, name: `frozen${String(node.id)}`, origin } : { ...node, origin };
    });
    const cleared = removeDead(cancelViews({ ...graph, nodes }));
    return { graph: cleared, inputs: inputs.map(({ node }) => get(this.#places, node)) };
  }
}
