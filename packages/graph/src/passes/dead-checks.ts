// Checks that a program makes and whose results it does not use: an index out of range is an error all the same. In: a graph of
// primitives, and the results of every call that the program made. Out: the values that have to be computed beside the outputs, so
// that these checks take place. What a composite computes for nobody is not among them: eager mode does not compute it either.
import { at } from '@tsinductor/base';
import { valuesOf } from '../argument-reader.ts';
import type { Graph, NodeId, ValueRef } from '../graph.ts';
import { operatorFor } from '../operator-table.ts';

export function deadChecks({ nodes, outputs }: Graph, results: readonly ValueRef[]): readonly ValueRef[] {
  const isCheck = (id: NodeId): boolean => {
    const node = at(nodes, id);
    return node.kind === 'call' && operatorFor(node.target, node.attrs).checks === true;
  };
  const made = new Set<NodeId>();
  reach({ nodes }, results, made);
  if (![...made].some(isCheck)) return [];
  const live = new Set<NodeId>();
  reach({ nodes }, outputs, live);
  const kept: ValueRef[] = [];
  // From the last one on: what it is made of is computed, and checked, on the way.
  for (const id of [...made].sort((a, b) => b - a)) {
    if (live.has(id) || !isCheck(id)) continue;
    const value: ValueRef = { kind: 'value', node: id, result: 0 };
    kept.push(value);
    reach({ nodes }, [value], live);
  }
  return kept;
}

/** Adds the nodes that values are made of to those that are known. */
function reach({ nodes }: Pick<Graph, 'nodes'>, values: readonly ValueRef[], known: Set<NodeId>): void {
  const open = [...values];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (known.has(next.node)) continue;
    known.add(next.node);
    const node = at(nodes, next.node);
    if (node.kind === 'call') open.push(...valuesOf(node.args));
  }
}
