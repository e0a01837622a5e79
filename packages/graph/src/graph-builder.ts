// Builds a Graph, call by call: checks and infers each call at once, so that a mistake is reported at the user's line.
// With `expand`, composites are replaced by their decompositions as they come, and only primitives are kept.
import { at, get } from '@tsinductor/base';
import type { SourceLocation } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { invalidReference, withLocation } from './errors.ts';
import type {
  Arg,
  Attrs,
  Graph,
  GraphNode,
  HostCallNode,
  Meta,
  NodeId,
  NodeOrigin,
  OriginMarks,
  ValueRef,
} from './graph.ts';
import { asList } from './meta-builder.ts';
import { fullAttrs, operatorFor } from './operator-table.ts';
import type { Builder, CanonicalCall, InferContext } from './operator.ts';
import { SizeEnvironment } from './size-environment.ts';

interface GraphBuilderOptions {
  readonly sizes?: SizeEnvironment;
  /** Where the user's call stands, asked at every call. */
  readonly locate?: () => SourceLocation | undefined;
  /** What is said of the call beside, asked at every call. */
  readonly marks?: () => OriginMarks;
  /** Keep primitives only, */
  readonly expand?: boolean;
  /** and the composites of these names. */
  readonly keep?: ReadonlySet<string>;
}

interface Call {
  readonly target: string;
  readonly args: readonly Arg[];
  readonly attrs: Attrs;
}

export class GraphBuilder implements Builder, InferContext {
  readonly sizes: SizeEnvironment;
  readonly #options: GraphBuilderOptions;
  readonly #nodes: GraphNode[] = [];
  readonly #placeholders: NodeId[] = [];
  readonly #outputs: ValueRef[] = [];
  readonly #mutations: { placeholder: number; output: number }[] = [];
  /** Composites being expanded, outermost first, and the user's line of the outermost. */
  #origin: NodeOrigin | undefined;

  constructor(options: GraphBuilderOptions = {}) {
    this.sizes = options.sizes ?? new SizeEnvironment();
    this.#options = options;
  }

  meta(value: ValueRef): Meta {
    const node = this.#nodes[value.node] ?? invalidReference(value);
    return node.results[value.result] ?? invalidReference(value);
  }

  /** Whether a value is an input. */
  isPlaceholder({ node }: ValueRef): boolean {
    return this.#nodes[node]?.kind === 'placeholder';
  }

  metaOf(value: ValueRef): Meta {
    return this.meta(value);
  }

  placeholder(name: string, meta: Meta): ValueRef {
    this.#placeholders.push(this.#nodes.length);
    return at(this.#add([meta], { kind: 'placeholder', name }), 0);
  }

  /** A tensor whose contiguous little-endian bytes are known, in base64. */
  constant(data: string, meta: Meta): ValueRef {
    return at(this.#add([meta], { kind: 'constant', data }), 0);
  }

  call(target: string, args: readonly Arg[], attrs: Attrs = {}): ValueRef {
    return at(this.callAll(target, args, attrs), 0);
  }

  callAll(target: string, args: readonly Arg[], attrs: Attrs = {}): readonly ValueRef[] {
    if (this.#origin !== undefined) return this.#emit({ target, args, attrs });
    return this.withOrigin(this.#originHere(), () => this.#emit({ target, args, attrs }));
  }

  /** A call of the host, whose results are said to be `metas`. */
  host(call: Omit<HostCallNode, 'kind'>, metas: readonly Meta[]): readonly ValueRef[] {
    return this.withOrigin(this.#originHere(), () => this.#add(metas, { kind: 'host', ...call }));
  }

  #originHere(): NodeOrigin {
    const location = this.#options.locate?.();
    return { from: [], ...(location === undefined ? {} : { location }), ...this.#options.marks?.() };
  }

  /** What `build` adds comes from `origin`; errors get its location. */
  withOrigin<T>(origin: NodeOrigin, build: () => T): T {
    const outer = this.#origin;
    this.#origin = origin;
    try {
      return build();
    } catch (error) {
      throw withLocation(error, origin.location);
    } finally {
      this.#origin = outer;
    }
  }

  /** Marks results of the graph, in order; returns the position of the first. */
  output(...values: readonly ValueRef[]): number {
    values.forEach((value) => this.meta(value));
    return this.#outputs.push(...values) - values.length;
  }

  /** After the call, input `placeholder` holds output `output` (positions). */
  mutate(placeholder: number, output: number): void {
    this.#mutations.push({ placeholder, output });
  }

  finish(): Graph {
    const nodes = [...this.#nodes];
    return {
      nodes,
      outputs: [...this.#outputs],
      mutations: [...this.#mutations],
      sizes: boundSizes(this.#placeholders.map((id) => at(nodes, id))),
    };
  }

  #emit({ target, args, attrs }: Call): readonly ValueRef[] {
    const operator = operatorFor(target, attrs);
    const full = fullAttrs(operator, attrs);
    const call: CanonicalCall = operator.canonical?.(this, args, full) ?? { args, attrs: full };
    if (call.target !== undefined) return this.#emit({ ...call, target: call.target });
    const { expand = false, keep } = this.#options;
    if (operator.decompose !== undefined && expand && keep?.has(operator.name) !== true) {
      const origin = this.#origin ?? { from: [] };
      return this.withOrigin({ ...origin, from: [...origin.from, operator.name] }, () =>
        asList(operator.decompose?.(this, call.args, call.attrs) ?? []),
      );
    }
    const metas = operator.infer(this, call.args, call.attrs);
    return this.#add(metas, { kind: 'call', target, args: call.args, attrs: call.attrs });
  }

  #add(
    results: readonly Meta[],
    node:
      | { kind: 'placeholder'; name: string }
      | { kind: 'constant'; data: string }
      | ({ kind: 'call' } & Call)
      | HostCallNode,
  ): readonly ValueRef[] {
    const id: NodeId = this.#nodes.length;
    this.#nodes.push({ id, results, origin: this.#origin ?? { from: [] }, ...node });
    return results.map((_, result) => ({ kind: 'value', node: id, result }));
  }
}

/** Each symbolic size that is the whole size of an axis of an input, bound where it first appears. */
export function boundSizes(placeholders: readonly GraphNode[]): Graph['sizes'] {
  const bound = new Map<string, Graph['sizes'][number]>();
  placeholders.forEach((node, placeholder) => {
    at(node.results, 0).shape.forEach((size: Index, axis: number) => {
      if (size.kind === 'size' && !bound.has(size.name)) bound.set(size.name, { name: size.name, placeholder, axis });
    });
  });
  return [...bound.keys()].sort().map((name) => get(bound, name));
}
