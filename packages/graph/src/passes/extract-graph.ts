// A part of a graph as a graph of its own. In: a graph, the values that the part is to give, and those that it is handed. Out: a graph
// whose placeholders are what it is handed, and which of the whole graph's values each of them stands for.
import { at, get } from '@tsinductor/base';
import { valueKey, valuesOf } from '../argument-reader.ts';
import { boundSizes } from '../graph-builder.ts';
import type { Graph, GraphNode, Meta, ValueRef } from '../graph.ts';
import { contiguousStrides } from '../shape.ts';
import { NodeList, renameArgs } from './rebuild.ts';

interface Part {
  /** What the part is handed in any case: its first placeholders, in this order. Others follow as they are met. */
  readonly inputs: readonly ValueRef[];
  readonly outputs: readonly ValueRef[];
  /** Whether a value is handed to the part, rather than computed in it. */
  readonly isGiven: (value: ValueRef) => boolean;
}

interface Extracted {
  /** Without mutations; symbolic sizes are bound to its own placeholders. */
  readonly graph: Graph;
  /** What its placeholders stand for in the whole graph. */
  readonly inputs: readonly ValueRef[];
}

export function extractGraph(graph: Graph, { inputs: first, outputs, isGiven }: Part): Extracted {
  const list = new NodeList();
  const inputs: ValueRef[] = [];
  const renamed = new Map<string, ValueRef>();
  const enter = (value: ValueRef): void => {
    if (renamed.has(valueKey(value))) return;
    const node = at(graph.nodes, value.node);
    const name = node.kind === 'placeholder' ? node.name : `value${valueKey(value).replace('.', '_')}`;
    const placeholder = { kind: 'placeholder', name, results: [givenMeta(node, value)], origin: node.origin } as const;
    renamed.set(valueKey(value), at(list.add({ id: 0, ...placeholder }), 0));
    inputs.push(value);
  };
  first.forEach(enter);
  const nodes = nodesFor(graph, outputs, isGiven);
  for (const node of nodes) argsOf(node).filter(isGiven).forEach(enter);
  outputs.filter(isGiven).forEach(enter);
  const placeholders = [...list.nodes];
  const rename = (value: ValueRef): ValueRef => get(renamed, valueKey(value));
  for (const node of nodes) {
    const copied = list.add('args' in node ? { ...node, args: renameArgs(node.args, rename) } : node);
    copied.forEach((value, result) => renamed.set(valueKey({ node: node.id, result }), value));
  }
  const part = { nodes: list.nodes, outputs: outputs.map(rename), mutations: [], sizes: boundSizes(placeholders) };
  return { graph: part, inputs };
}

const argsOf = (node: GraphNode): readonly ValueRef[] => ('args' in node ? valuesOf(node.args) : []);

/** What a value is that is handed on: contiguous, as results of graphs are. Inputs, and what a launch wrote to, stay where they were. */
function givenMeta(node: GraphNode, { result }: ValueRef): Meta {
  const meta = at(node.results, result);
  const isPlaced = node.kind === 'placeholder' || (node.kind === 'host' && node.launch !== undefined);
  return isPlaced ? meta : { ...meta, strides: contiguousStrides(meta.shape) };
}

/** The nodes that `outputs` are made of, down to what is given, in order. */
function nodesFor(
  graph: Graph,
  outputs: readonly ValueRef[],
  isGiven: (value: ValueRef) => boolean,
): readonly GraphNode[] {
  const needed = new Set<number>();
  const open = [...outputs];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isGiven(next) || needed.has(next.node)) continue;
    needed.add(next.node);
    open.push(...argsOf(at(graph.nodes, next.node)));
  }
  return [...needed].sort((a, b) => a - b).map((id) => at(graph.nodes, id));
}
