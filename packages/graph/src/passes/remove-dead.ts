// Calls and constants that no output needs are dropped; placeholders stay, as they are the signature.
import { valuesOf } from '../argument-reader.ts';
import type { Graph, ValueRef } from '../graph.ts';
import { rebuild } from './rebuild.ts';

export function removeDead(graph: Graph): Graph {
  const live = new Set(graph.outputs.map(({ node }) => node));
  for (const node of [...graph.nodes].reverse()) {
    if (node.kind === 'call' && live.has(node.id)) valuesOf(node.args).forEach((value) => live.add(value.node));
  }
  return rebuild(graph, (node, list) => (live.has(node.id) ? list.add(node) : node.results.map(() => NOWHERE)));
}

/** What a dead call is renamed to: whatever uses it is dead too. */
const NOWHERE: ValueRef = { kind: 'value', node: -1, result: 0 };
