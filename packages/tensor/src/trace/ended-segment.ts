// A segment that has run, for the values that it did not compute: those that nobody seemed to need. In: its graph, and
// the tensors (inputs, computed results) that these values are made of. Out: when one is needed after all, its expression
// in a later segment.
//
// Invariant: a source holds what it held when the segment ended. While the function runs, whoever is about to write
// to it puts a copy in its place; afterwards a source that was written to is refused.
import { at, get } from '@tsinductor/base';
import { isList, isValue } from '@tsinductor/graph';
import type { Arg, Attr, Attrs, Graph, GraphNode, ValueRef, ViewLayout } from '@tsinductor/graph';
import { substitute } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { brokenTrace, leftBehind } from '../errors.ts';
import type { SegmentPlan } from './segment.ts';
import type { Source } from './source.ts';
import type { TraceSession } from './session.ts';
import type { Memory, TracedView } from './traced-memory.ts';

type Sizes = ReadonlyMap<string, Index>;

interface Replay {
  readonly session: TraceSession;
  readonly sizes: Sizes;
  readonly refs: Map<string, ValueRef>;
}

/** What is left of a segment that has run. */
interface SegmentRemains {
  readonly plan: SegmentPlan;
  readonly graph: Graph;
  /** The values of all memories that it made. */
  readonly refs: readonly ValueRef[];
}

export class EndedSegment {
  readonly #remains: SegmentRemains;
  #placeholders: readonly number[] | undefined;
  readonly #waiting: readonly Memory[];
  /** Of the inputs that are kept, then of the outputs that are. */
  readonly sources: readonly Source[];
  /** What was computed, by its value in the graph; made when it is asked for. */
  #computed: ReadonlyMap<string, Source> | undefined;

  constructor(remains: SegmentRemains, sources: readonly Source[], waiting: readonly Memory[]) {
    this.#remains = remains;
    this.#waiting = waiting;
    this.sources = sources;
    for (const source of sources) source.keeper = this;
    for (const memory of waiting) memory.home = this;
  }

  /** How it ran. */
  get plan(): SegmentPlan {
    return this.#remains.plan;
  }

  get #graph(): Graph {
    return this.#remains.graph;
  }

  /** Whether a value may still be asked for: one that neither a later segment has taken over, nor the program disposed. */
  get isNeeded(): boolean {
    return this.#waiting.some(({ home, tensors }) => home === this && tensors.some(({ isDisposed }) => !isDisposed));
  }

  /** Which of its waiting values a memory has. */
  positionOf(memory: Memory): number {
    return this.#waiting.indexOf(memory);
  }

  /** Whether it has symbolic sizes. */
  get isSymbolic(): boolean {
    return this.#graph.sizes.length > 0;
  }

  /** Writes the expression of a memory's value into a session, which takes the memory over. */
  carry(memory: Memory, session: TraceSession): void {
    const sizes = this.#sizesIn(session);
    const ref = this.express(memory.current, session);
    for (const { backing } of memory.tensors) {
      if (backing.kind !== 'recorded') continue;
      const view = backing.handle as TracedView;
      view.steps = view.steps.map(({ target, attrs }) => ({ target, attrs: inSizes(attrs, sizes) }));
      view.layout = layoutIn(view.layout, sizes);
    }
    session.adopt(memory, ref);
  }

  /** A value of this segment as a value of `session`. Throws UserError TRACED_ESCAPED. */
  express(value: ValueRef, session: TraceSession): ValueRef {
    const replay: Replay = { session, sizes: this.#sizesIn(session), refs: new Map() };
    const { computed, nodes } = this.#needed(value);
    for (const key of computed) replay.refs.set(key, session.snapshotOf(get(this.#sourcesOfOutputs(), key)));
    for (const id of nodes) {
      this.#values(at(this.#graph.nodes, id), replay).forEach((ref, result) => {
        const key = keyOf({ node: id, result });
        if (!replay.refs.has(key)) replay.refs.set(key, ref);
      });
    }
    return get(replay.refs, keyOf(value));
  }

  #values(node: GraphNode, { session, sizes, refs }: Replay): readonly ValueRef[] {
    switch (node.kind) {
      case 'placeholder': {
        this.#placeholders ??= this.#graph.nodes.filter(({ kind }) => kind === 'placeholder').map(({ id }) => id);
        const source = this.#sourceOfInput(this.#placeholders.indexOf(node.id));
        if (source === undefined) throw leftBehind();
        return [session.snapshotOf(source)];
      }
      case 'constant':
        return [session.builder.constant(node.data, at(node.results, 0))];
      case 'call':
        return session.builder.callAll(
          node.target,
          node.args.map((arg) => renamed(arg, refs)),
          inSizes(node.attrs, sizes),
        );
      case 'host':
        throw brokenTrace(`${node.target} runs on the host, and is part of no segment`);
    }
  }

  #sourceOfInput(position: number): Source | undefined {
    const { keptInputs } = this.plan.choice;
    return keptInputs.includes(position) ? at(this.sources, keptInputs.indexOf(position)) : undefined;
  }

  #sourcesOfOutputs(): ReadonlyMap<string, Source> {
    const { keptInputs, keptOutputs } = this.plan.choice;
    return (this.#computed ??= new Map(
      keptOutputs.map((output, position) => [
        keyOf(at(this.#remains.refs, output)),
        at(this.sources, keptInputs.length + position),
      ]),
    ));
  }

  /** What a value is made of: computed values, and nodes over them, in order. */
  #needed(value: ValueRef): { readonly computed: ReadonlySet<string>; readonly nodes: readonly number[] } {
    const computed = new Set<string>();
    const nodes = new Set<number>();
    const open = [value];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const key = keyOf(next);
      if (this.#sourcesOfOutputs().has(key)) computed.add(key);
      else if (!nodes.has(next.node)) {
        nodes.add(next.node);
        open.push(...argumentsOf(at(this.#graph.nodes, next.node)));
      }
    }
    return { computed, nodes: [...nodes].sort((a, b) => a - b) };
  }

  /** This segment's symbolic sizes in terms of the session's. */
  #sizesIn(session: TraceSession): Sizes {
    const sizes = new Map<string, Index>();
    for (const { name, placeholder, axis } of this.#graph.sizes) {
      const source = this.#sourceOfInput(placeholder);
      if (source !== undefined) sizes.set(name, at(session.builder.meta(session.snapshotOf(source)).shape, axis));
    }
    return sizes;
  }
}

export const keyOf = ({ node, result }: Pick<ValueRef, 'node' | 'result'>): string =>
  `${String(node)}.${String(result)}`;

/** The values that a node is made of. */
export const argumentsOf = (node: GraphNode): readonly ValueRef[] =>
  node.kind === 'call' ? node.args.flatMap((arg) => (isList(arg) ? arg : isValue(arg) ? [arg] : [])) : [];

function renamed(arg: Arg, refs: ReadonlyMap<string, ValueRef>): Arg {
  if (isList(arg)) return arg.map((item) => get(refs, keyOf(item)));
  return isValue(arg) ? get(refs, keyOf(arg)) : arg;
}

const sizeIn = (size: Index, sizes: Sizes): Index => (size.kind === 'int' ? size : substitute(size, sizes));

function inSizes(attrs: Attrs, sizes: Sizes): Attrs {
  if (sizes.size === 0) return attrs;
  return Object.fromEntries(Object.entries(attrs).map(([name, attr]) => [name, attrIn(attr, sizes)]));
}

function attrIn(attr: Attr, sizes: Sizes): Attr {
  if (Array.isArray(attr)) return (attr as readonly Attr[]).map((item) => attrIn(item, sizes));
  if (typeof attr === 'object' && attr !== null && 'size' in attr) {
    const size = sizeIn(attr.size, sizes);
    return size.kind === 'int' ? size.value : { size };
  }
  return attr;
}

const layoutIn = (layout: ViewLayout, sizes: Sizes): ViewLayout => ({
  shape: layout.shape.map((size) => sizeIn(size, sizes)),
  strides: layout.strides.map((size) => sizeIn(size, sizes)),
  offset: sizeIn(layout.offset, sizes),
});
