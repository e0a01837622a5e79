// Graphs of primitives executed one node at a time: each call is lowered and interpreted alone, so nothing is fused, shared
// or reordered, and every intermediate is rounded to its dtype. That is what the operators mean. A hook sees each value
// and may put another in its place: a compiled one that is fed forward, or a disturbed one.
import { at, get } from '@tsinductor/base';
import { contiguousStrides, isList, isValue } from '@tsinductor/graph';
import { int } from '@tsinductor/ir';
import type { Arg, Graph, GraphNode, Meta, ValueRef } from '@tsinductor/graph';
import { GraphProgram } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';

export type CallNode = GraphNode & { readonly kind: 'call' };

/** Called with each call's results; gives what is used in their place. */
export type Hook = (node: CallNode, results: readonly Tensor[], args: readonly Tensor[]) => readonly Tensor[];

/** Plans for single calls, by operator, attributes and metas. */
export class GraphEvaluator {
  readonly #programs = new Map<string, GraphProgram>();
  readonly #capacity: number;

  constructor(capacity = 2000) {
    this.#capacity = capacity;
  }

  /** The graph's outputs. `graph` has no symbolic sizes. */
  run(graph: Graph, inputs: readonly Tensor[], hook?: Hook): readonly Tensor[] {
    const values = new Map<number, readonly Tensor[]>();
    const valueOf = ({ node, result }: ValueRef): Tensor => at(get(values, node), result);
    let placeholders = 0;
    for (const node of graph.nodes) {
      if (node.kind === 'placeholder') values.set(node.id, [at(inputs, placeholders++)]);
      else if (node.kind === 'constant') values.set(node.id, this.#single(node, [], []));
      else if (node.kind === 'host') throw new TypeError(`a program of the operator table has no ${node.target}`);
      else {
        const refs = node.args.flatMap((arg) => (isList(arg) ? [...arg] : isValue(arg) ? [arg] : []));
        const args = refs.map(valueOf);
        const metas = refs.map(({ node: id, result }) => at(at(graph.nodes, id).results, result));
        const results = this.#single(
          node,
          args,
          metas.map((meta, k) => asIs(meta, at(args, k))),
        );
        values.set(node.id, hook === undefined ? results : hook(node, results, args));
      }
    }
    return graph.outputs.map(valueOf);
  }

  /** The results of one call; their dtypes are those that the node says. */
  apply(node: CallNode, args: readonly Tensor[]): readonly Tensor[] {
    const metas = args.map(({ dtype, shape, strides }): Meta => ({
      dtype,
      shape: shape.map(int),
      strides: strides.map(int),
    }));
    return this.#single(node, args, metas);
  }

  #single(node: GraphNode, args: readonly Tensor[], metas: readonly Meta[]): readonly Tensor[] {
    const key =
      node.kind === 'call' ? JSON.stringify([node.target, args.length, shapeOfArgs(node.args), node.attrs, metas]) : '';
    let program = this.#programs.get(key);
    if (program === undefined || key === '') {
      program = new GraphProgram(singleNode(node, metas));
      if (this.#programs.size >= this.#capacity) this.#programs.clear();
      if (key !== '') this.#programs.set(key, program);
    }
    return program.run(args);
  }
}

/** The meta of a value as it lies in memory: strides of inputs are theirs, everything else is contiguous. */
const asIs = ({ dtype, shape }: Meta, tensor: Tensor): Meta => ({
  dtype,
  shape,
  strides: tensor.isContiguous() ? contiguousStrides(shape) : tensor.strides.map(int),
});

const shapeOfArgs = (args: readonly Arg[]): unknown =>
  args.map((arg) => (isList(arg) ? arg.length : isValue(arg) ? 'v' : arg));

/** A graph of one node, whose arguments are placeholders. */
function singleNode(node: GraphNode, metas: readonly Meta[]): Graph {
  const origin = { from: [] };
  const nodes: GraphNode[] = metas.map((meta, id) => ({
    kind: 'placeholder',
    id,
    name: `x${String(id)}`,
    results: [meta],
    origin,
  }));
  let next = 0;
  const ref = (): ValueRef => ({ kind: 'value', node: next++, result: 0 });
  const id = metas.length;
  const single =
    node.kind === 'call'
      ? { ...node, id, args: node.args.map((arg): Arg => (isList(arg) ? arg.map(ref) : isValue(arg) ? ref() : arg)) }
      : { ...node, id };
  nodes.push(single);
  return {
    nodes,
    outputs: node.results.map((_, result) => ({ kind: 'value', node: id, result })),
    mutations: [],
    sizes: [],
  };
}
