// Reverse-mode differentiation of a graph: Griewank and Walther, "Evaluating Derivatives", chapter 3. In: a graph as traced.
// Out: a graph that takes the same inputs and a cotangent for each differentiable output, and gives the outputs and, for each
// input that is asked for, the gradient of the sum of outputs times cotangents.
//
// What it gives is a graph as any other: it is differentiated again for higher derivatives, and forward and backward are
// simplified and scheduled together.
import { at, isFloat } from '@tsinductor/base';
import { ArgumentReader, isList, isValue, valueKey, valuesOf } from '../argument-reader.ts';
import { Composer } from '../composer.ts';
import { brokenGraph } from '../errors.ts';
import type { Graph, GraphNode, NodeId, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { operatorFor } from '../operator-table.ts';
import { decomposeBut } from '../passes/decompose.ts';
import { renameArgs } from '../passes/rebuild.ts';
import { contiguousMeta } from '../shape.ts';
import type { SizeEnvironment } from '../size-environment.ts';
import { gradientRules, markNames } from './rules.ts';

export interface VjpGraph {
  /** Its inputs are those of the graph, then a cotangent for each of `seeds`; its outputs those of the graph, then the gradients. */
  readonly graph: Graph;
  /** Positions of the outputs that have a cotangent: floats that depend on what is differentiated. */
  readonly seeds: readonly number[];
  /** For each input that was asked for, the position of its gradient among the outputs; undefined where no output depends on it. */
  readonly gradients: readonly (number | undefined)[];
}

interface VjpOptions {
  readonly sizes?: SizeEnvironment | undefined;
  /** Marks stay in the graph, as somebody may differentiate it again: constants are constants then, too. */
  readonly keepsMarks?: boolean;
}

/** `wanted` are positions of inputs. */
export function vjpGraph(traced: Graph, wanted: readonly number[], options: VjpOptions = {}): VjpGraph {
  const { sizes, keepsMarks = false } = options;
  const graph = decomposeBut(markNames, traced, sizes);
  const builder = new GraphBuilder({ expand: true, ...(keepsMarks && { keep: markNames }), ...(sizes && { sizes }) });
  const forward = new Forward(graph, builder);
  const placeholders = graph.nodes.filter(({ kind }) => kind === 'placeholder');
  const sources = wanted.map((position) => at(placeholders, position).id);
  const active = activeNodes(graph, sources);
  const seeds = graph.outputs.flatMap((value, position) =>
    active.has(value.node) && isFloat(at(at(graph.nodes, value.node).results, value.result).dtype) ? [position] : [],
  );
  const cotangents = new Cotangents(new Composer(builder));
  seeds.forEach((position) => {
    const value = at(graph.outputs, position);
    const { dtype, shape } = builder.meta(forward.rename(value));
    cotangents.add(value, builder.placeholder(`cotangent${String(position)}`, contiguousMeta(shape, dtype)));
  });
  for (const node of [...graph.nodes].reverse())
    if (active.has(node.id) && node.kind === 'call') pullBack(builder, { node, forward, cotangents, active });
  builder.output(...graph.outputs.map((value) => forward.rename(value)));
  const gradients = sources.map((node) => {
    const gradient = cotangents.of({ kind: 'value', node, result: 0 });
    return gradient === undefined ? undefined : builder.output(gradient);
  });
  return { graph: { ...builder.finish(), mutations: graph.mutations, sizes: graph.sizes }, seeds, gradients };
}

/** The graph's own nodes, in the graph that is built. */
class Forward {
  readonly #renamed = new Map<NodeId, readonly ValueRef[]>();

  constructor(graph: Graph, builder: GraphBuilder) {
    for (const node of graph.nodes) {
      const made = builder.withOrigin(node.origin, () => this.#copy(node, builder));
      this.#renamed.set(node.id, made);
    }
  }

  rename({ node, result }: ValueRef): ValueRef {
    return at(this.resultsOf(node), result);
  }

  resultsOf(node: NodeId): readonly ValueRef[] {
    return this.#renamed.get(node) ?? [];
  }

  #copy(node: GraphNode, builder: GraphBuilder): readonly ValueRef[] {
    switch (node.kind) {
      case 'placeholder':
        return [builder.placeholder(node.name, at(node.results, 0))];
      case 'constant':
        return [builder.constant(node.data, at(node.results, 0))];
      case 'call':
        return this.#call(node, builder);
      case 'host':
        throw brokenGraph(`${node.target} runs on the host: it is differentiated by its own gradient`);
    }
  }

  /** What is a constant is marked as one, which leaves no node unless marks are kept. */
  #call({ target, args, attrs, origin, results }: CallNode, builder: GraphBuilder): readonly ValueRef[] {
    const renamed = renameArgs(args, (value) => this.rename(value));
    const made = builder.callAll(target, renamed, attrs);
    if (origin.isConstant !== true) return made;
    return made.map((value, result) => (isFloat(at(results, result).dtype) ? builder.call('detach', [value]) : value));
  }
}

/** Positions of the outputs of a graph as traced that gradients of the inputs at `wanted` can be had of. */
export function differentiableOutputs(traced: Graph, wanted: readonly number[]): readonly number[] {
  const placeholders = traced.nodes.filter(({ kind }) => kind === 'placeholder');
  const active = activeNodes(
    traced,
    wanted.map((position) => at(placeholders, position).id),
  );
  return traced.outputs.flatMap(({ node, result }, position) =>
    active.has(node) && isFloat(at(at(traced.nodes, node).results, result).dtype) ? [position] : [],
  );
}

/** The nodes that depend on what is differentiated, by way of floats, and not as constants. */
function activeNodes(graph: Graph, sources: readonly NodeId[]): ReadonlySet<NodeId> {
  const active = new Set(sources);
  for (const node of graph.nodes) {
    if (node.kind !== 'call' || !node.results.some(({ dtype }) => isFloat(dtype))) continue;
    if (node.target === 'detach' || node.origin.isConstant === true) continue;
    if (valuesOf(node.args).some((value) => active.has(value.node))) active.add(node.id);
  }
  return active;
}

/** For each value of the graph, the sum of the cotangents that came to it so far. */
class Cotangents {
  readonly #c: Composer;
  readonly #sums = new Map<string, ValueRef>();

  constructor(c: Composer) {
    this.#c = c;
  }

  of(value: ValueRef): ValueRef | undefined {
    return this.#sums.get(valueKey(value));
  }

  add(value: ValueRef, cotangent: ValueRef): void {
    const sum = this.of(value);
    this.#sums.set(valueKey(value), sum === undefined ? cotangent : this.#c.op('add', sum, cotangent));
  }
}

type CallNode = GraphNode & { readonly kind: 'call' };

interface Step {
  readonly node: CallNode;
  readonly forward: Forward;
  readonly cotangents: Cotangents;
  readonly active: ReadonlySet<NodeId>;
}

/** Cotangents of a call's results become cotangents of its arguments. */
function pullBack(builder: GraphBuilder, { node, forward, cotangents, active }: Step): void {
  const results = forward.resultsOf(node.id);
  const given = results.map((_, result) => cotangents.of({ kind: 'value', node: node.id, result }));
  if (given.every((cotangent) => cotangent === undefined)) return;
  const rule = gradientRules.get(node.target);
  if (rule === undefined) throw brokenGraph(`no gradient rule of ${node.target}`);
  const args = renameArgs(node.args, (value) => forward.rename(value));
  const wanted = new Set(
    valuesOf(node.args)
      .filter((value) => active.has(value.node))
      .map((value) => valueKey(forward.rename(value))),
  );
  const operator = operatorFor(node.target, node.attrs);
  const found = builder.withOrigin({ ...node.origin, from: [...node.origin.from, `gradient of ${node.target}`] }, () =>
    rule(
      new Composer(builder),
      { a: new ArgumentReader(operator, args, node.attrs), results, wants: (value) => wanted.has(valueKey(value)) },
      given,
    ),
  );
  builder.withOrigin(node.origin, () => {
    node.args.forEach((arg, slot) => {
      const values = isList(arg) ? arg : isValue(arg) ? [arg] : [];
      const gradients = [found[slot] ?? []].flat();
      values.forEach((value, position) => {
        const gradient = gradients[position];
        if (gradient !== undefined && active.has(value.node)) cotangents.add(value, gradient);
      });
    });
  });
}
