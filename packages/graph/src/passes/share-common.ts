// Common subexpressions: a call that was made before, with the same arguments and attributes, is not made again.
import { stableStringify } from '@tsinductor/base';
import type { Graph, ValueRef } from '../graph.ts';
import { rebuild } from './rebuild.ts';

export function shareCommon(graph: Graph): Graph {
  const seen = new Map<string, readonly ValueRef[]>();
  return rebuild(graph, (node, list) => {
    // What is computed again is so that nobody has to keep it.
    if (node.again !== undefined || node.after !== undefined) return list.add(node);
    const key = stableStringify([node.target, node.args, node.attrs]);
    const known = seen.get(key);
    if (known !== undefined) return known;
    const results = list.add(node);
    seen.set(key, results);
    return results;
  });
}
