// Batching of a graph. In: a graph of what is done to one sample, and which of its inputs differ from sample to sample. Out: one graph
// that does it to all samples, each of whose values either has the samples along its first axis or is the same for all.
import { at } from '@tsinductor/base';
import type { Index } from '@tsinductor/ir';
import { ArgumentReader, isValue, valuesOf } from '../argument-reader.ts';
import { brokenGraph } from '../errors.ts';
import type { Arg, Graph, GraphNode, Meta, NodeId, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { markNames } from '../gradient/rules.ts';
import { asList } from '../meta-builder.ts';
import { operatorFor } from '../operator-table.ts';
import { decomposeBut } from '../passes/decompose.ts';
import { renameArgs } from '../passes/rebuild.ts';
import type { SizeEnvironment } from '../size-environment.ts';
import { Batcher } from './rule.ts';
import { batchingRules } from './rules.ts';

interface BatchOptions {
  readonly sizes?: SizeEnvironment | undefined;
  /**
   * What becomes of outputs that need no arithmetic: `shared`, they may be inputs or views of them; `apart`, they are copies;
   * `each`, they are also made anew for every sample where all samples have the same.
   */
  readonly outputs: 'shared' | 'apart' | 'each';
}

export interface BatchedGraph {
  /** Primitives, and the marks of gradients. Its inputs and outputs are those of the graph, for all samples. */
  readonly graph: Graph;
  /** For each output, whether it has the samples along its first axis. */
  readonly differs: readonly boolean[];
}

/** `wholes` has for each input that differs its meta with the samples along the first axis, and undefined for the others. */
export function batchGraph(traced: Graph, wholes: readonly (Meta | undefined)[], options: BatchOptions): BatchedGraph {
  const { sizes } = options;
  const graph = decomposeBut(markNames, traced, sizes);
  const builder = new GraphBuilder({ expand: true, keep: markNames, ...(sizes && { sizes }) });
  const batching = new Batching(builder, { wholes, count: samplesOf(wholes) });
  for (const node of graph.nodes) builder.withOrigin(node.origin, () => batching.add(node));
  const outputs = graph.outputs
    .slice(0, traced.outputs.length)
    .map((value) => batching.output(batching.rename(value), options.outputs));
  builder.output(...outputs);
  return { graph: builder.finish(), differs: outputs.map((value) => batching.batcher.differs(value)) };
}

function samplesOf(wholes: readonly (Meta | undefined)[]): Index {
  const whole = wholes.find((meta) => meta !== undefined);
  if (whole === undefined) throw brokenGraph('a graph is batched of whose inputs none differs');
  return at(whole.shape, 0);
}

interface Samples {
  readonly wholes: readonly (Meta | undefined)[];
  readonly count: Index;
}

class Batching {
  readonly batcher: Batcher;
  readonly #builder: GraphBuilder;
  readonly #wholes: readonly (Meta | undefined)[];
  readonly #renamed = new Map<NodeId, readonly ValueRef[]>();
  /** What is an input, or a view of one. */
  readonly #shown = new Set<ValueRef>();
  #placeholders = 0;

  constructor(builder: GraphBuilder, { wholes, count }: Samples) {
    this.#builder = builder;
    this.#wholes = wholes;
    this.batcher = new Batcher(builder, count);
  }

  rename({ node, result }: ValueRef): ValueRef {
    return at(this.#renamed.get(node) ?? [], result);
  }

  add(node: GraphNode): void {
    this.#renamed.set(node.id, this.#made(node));
  }

  output(value: ValueRef, outputs: BatchOptions['outputs']): ValueRef {
    if (outputs === 'shared') return value;
    const isRepeated = outputs === 'each' && !this.batcher.differs(value);
    if (!isRepeated && !this.#shown.has(value)) return value;
    const { c } = this.batcher;
    const copy = c.call('cast', [isRepeated ? this.batcher.whole(value) : value], { dtype: { dtype: c.dtype(value) } });
    if (isRepeated || this.batcher.differs(value)) this.batcher.mark(copy);
    return copy;
  }

  #made(node: GraphNode): readonly ValueRef[] {
    switch (node.kind) {
      case 'placeholder':
        return [this.#placeholder(node.name, at(node.results, 0))];
      case 'constant':
        return [this.#builder.constant(node.data, at(node.results, 0))];
      case 'call':
        return this.#call(node);
      case 'host':
        throw brokenGraph(`${node.target} runs on the host: it is batched by calling it for each sample`);
    }
  }

  #placeholder(name: string, meta: Meta): ValueRef {
    const whole = this.#wholes[this.#placeholders++];
    const value = this.#builder.placeholder(name, whole ?? meta);
    if (whole !== undefined) this.batcher.mark(value);
    this.#shown.add(value);
    return value;
  }

  #call(node: GraphNode & { readonly kind: 'call' }): readonly ValueRef[] {
    const args = renameArgs(node.args, (value) => this.rename(value));
    const operator = operatorFor(node.target, node.attrs);
    const differ = valuesOf(args).some((value) => this.batcher.differs(value));
    const results = differ ? this.#batched(node, args) : this.#builder.callAll(node.target, args, node.attrs);
    const [input] = args;
    if (operator.kind === 'view' && isValue(input) && this.#shown.has(input))
      for (const result of results) this.#shown.add(result);
    return results;
  }

  #batched(node: GraphNode & { readonly kind: 'call' }, args: readonly Arg[]): readonly ValueRef[] {
    const { target, attrs } = node;
    const rule = batchingRules.get(target);
    if (rule === undefined) throw brokenGraph(`no batching rule of ${target}`);
    const a = new ArgumentReader(operatorFor(target, attrs), args, attrs);
    const results = asList(rule(this.batcher, { target, args, attrs, a, results: node.results }));
    for (const result of results) this.batcher.mark(result);
    return results;
  }
}
