// What a rule sees: the values of the nodes before it, by the references of its arguments, and the program that it
// adds to. A rule takes one primitive's node and returns the View of its result.
import { at, get } from '@tsinductor/base';
import { valuesOf } from '@tsinductor/graph';
import type { Graph, Meta, ValueRef } from '@tsinductor/graph';
import type { CheckSite, Origin } from '@tsinductor/ir';
import { valueArg } from './attributes.ts';
import type { CallNode } from './attributes.ts';
import type { ProgramBuilder, Target } from './program-builder.ts';
import type { View } from './view.ts';

export type Rule = (lowering: Lowering, node: CallNode) => View;

export interface LoweringOptions {
  /** The most tensors of which one node of a concatenation selects. */
  readonly catInputs: number;
  /** Reductions over fewer elements than this are maps that take them one after another. */
  readonly unrollBelow: number;
  /** Whether indices that tensors hold are checked against the axes that they lead into. */
  readonly checkIndices: boolean;
  /** Whether rows of a product that are affine only in two parts make a batch of it, instead of being copied. */
  readonly divideRows: boolean;
  /** Whether kernels have lanes, for which they transpose what lies across, in tiles: of places without masks, and of a product's weight. */
  readonly hasLanes: boolean;
  /** Whether values that pointwise ops make of products lie with their channels last: never, where that gains, always. */
  readonly channelsLast: 'never' | 'whereItGains' | 'always';
  /** Whether results have the strides that eager execution gives them. */
  readonly keepOutputStrides: boolean;
}

export class Lowering {
  readonly program: ProgramBuilder;
  readonly options: LoweringOptions;
  readonly #views = new Map<string, View>();
  readonly #outputs: ReadonlySet<string>;
  /** How often values are read: as arguments, and as results of the graph. */
  readonly #reads = new Map<string, number>();

  constructor(program: ProgramBuilder, options: LoweringOptions, { nodes, outputs }: Graph) {
    this.program = program;
    this.options = options;
    this.#outputs = new Set(outputs.map(keyOf));
    const values = nodes.flatMap((node) => (node.kind === 'call' ? valuesOf(node.args) : []));
    for (const key of [...values, ...outputs].map(keyOf)) this.#reads.set(key, (this.#reads.get(key) ?? 0) + 1);
  }

  /** Whether the first result of the node is a result of the graph. */
  isOutput({ id }: CallNode): boolean {
    return this.#outputs.has(keyOf({ kind: 'value', node: id, result: 0 }));
  }

  isReadOnce(value: ValueRef): boolean {
    return this.#reads.get(keyOf(value)) === 1;
  }

  view(value: ValueRef): View {
    return get(this.#views, keyOf(value));
  }

  define(value: ValueRef, view: View): void {
    this.#views.set(keyOf(value), view);
  }

  argument(node: CallNode, position: number): View {
    return this.view(valueArg(node, position));
  }

  meta(node: CallNode): Meta {
    return at(node.results, 0);
  }

  /** Where the node's result goes. */
  target(node: CallNode): Target {
    const { shape, dtype } = this.meta(node);
    return { name: node.target, origin: this.origin(node), shape, dtype };
  }

  /** The operator that the user called, and where. */
  origin({ target, origin }: CallNode): Origin {
    const { location } = origin;
    return { op: origin.from[0] ?? target, ...(location === undefined ? {} : { location }) };
  }

  site(node: CallNode, what: string, more: Partial<CheckSite> = {}): number {
    const site: CheckSite = { ...this.origin(node), what, ...more };
    return this.program.site(site);
  }
}

const keyOf = ({ node, result }: ValueRef): string => `${String(node)}.${String(result)}`;
