// What a rule sees: the values of the nodes before it, by the references of its arguments, and the program that it
// adds to. A rule takes one primitive's node and returns the View of its result.
import { at, get } from '@tsinductor/base';
import type { Meta, ValueRef } from '@tsinductor/graph';
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
}

export class Lowering {
  readonly program: ProgramBuilder;
  readonly options: LoweringOptions;
  readonly #views = new Map<string, View>();

  constructor(program: ProgramBuilder, options: LoweringOptions) {
    this.program = program;
    this.options = options;
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
