// A part of a graph as a graph of its own. In: a graph, values that it is to give, and which values it is handed. Out: a graph
// whose placeholders are these, and which of the whole graph's values each of them stands for.
import { at, get } from '@tsinductor/base';
import { valuesOf } from '../argument-reader.ts';
import type { Graph, GraphNode, Meta, ValueRef } from '../graph.ts';
import { NodeList, renameArgs } from '../passes/rebuild.ts';
import { contiguousStrides } from '../shape.ts';

/** What is computed, and from what. */
interface Extract {
  /** Placeholders of the part, beside those that are met: they stand first, in this order. */
  readonly inputs: readonly ValueRef[];
  readonly outputs: readonly ValueRef[];
  /** Whether a value is handed to the part, rather than computed in it. */
  readonly isGiven: (value: ValueRef) => boolean;
}

interface Extracted {
  /** Without mutations, and without symbolic sizes bound to placeholders. */
  readonly graph: Graph;
  /** What its placeholders stand for in the whole graph. */
  readonly inputs: readonly ValueRef[];
}

export const valueKey = ({ node, result }: ValueRef): string => `${String(node)}.${String(result)}`;

/** Copies what `outputs` are made of. A value that is given is contiguous, as results of graphs are. */
export function extractGraph(graph: Graph, { inputs: first, outputs, isGiven }: Extract): Extracted {
  const list = new NodeList();
  const inputs: ValueRef[] = [];
  const renamed = new Map<string, ValueRef>();
  const enter = (value: ValueRef): void => {
    const node = at(graph.nodes, value.node);
    const name = node.kind === 'placeholder' ? node.name : `value${String(value.node)}`;
    const meta = given(node, value);
    const [placeholder] = list.add({ id: 0, kind: 'placeholder', name, results: [meta], origin: node.origin });
    inputs.push(value);
    if (placeholder !== undefined) renamed.set(valueKey(value), placeholder);
  };
  first.forEach(enter);
  const needed = neededNodes(graph, outputs, isGiven);
  for (const node of graph.nodes) {
    if (!needed.has(node.id)) continue;
    const results = node.results.map((_, result): ValueRef => ({ kind: 'value', node: node.id, result }));
    for (const value of results) if (isGiven(value) && !renamed.has(valueKey(value))) enter(value);
    if (results.every((value) => renamed.has(valueKey(value)))) continue;
    const copied = list.add(withArgs(node, (value) => get(renamed, valueKey(value))));
    results.forEach((value, result) => {
      if (!renamed.has(valueKey(value))) renamed.set(valueKey(value), at(copied, result));
    });
  }
  const renamedOutputs = outputs.map((value) => get(renamed, valueKey(value)));
  return { graph: { nodes: list.nodes, outputs: renamedOutputs, mutations: [], sizes: [] }, inputs };
}

function given(node: GraphNode, { result }: ValueRef): Meta {
  const meta = at(node.results, result);
  return node.kind === 'placeholder' ? meta : { ...meta, strides: contiguousStrides(meta.shape) };
}

const withArgs = (node: GraphNode, rename: (value: ValueRef) => ValueRef): GraphNode =>
  'args' in node ? { ...node, args: renameArgs(node.args, rename) } : node;

/** Nodes whose results `outputs` are made of, down to what is given. */
function neededNodes(
  graph: Graph,
  outputs: readonly ValueRef[],
  isGiven: (value: ValueRef) => boolean,
): ReadonlySet<number> {
  const needed = new Set<number>();
  const seen = new Set<string>();
  const open = [...outputs];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(valueKey(next))) continue;
    seen.add(valueKey(next));
    needed.add(next.node);
    const node = at(graph.nodes, next.node);
    if (!isGiven(next) && 'args' in node) open.push(...valuesOf(node.args));
  }
  return needed;
}
