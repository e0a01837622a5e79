// Composites become primitives, recursively. In: a graph as traced; out: one whose calls are all primitives. Origins
// keep the user's line, and the composites that a node comes from, outermost first. Behind the graph's own outputs stand those
// that are computed for the checks in them alone.
import { at, get } from '@tsinductor/base';
import { brokenGraph } from '../errors.ts';
import type { Graph, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import type { SizeEnvironment } from '../size-environment.ts';
import { deadChecks } from './dead-checks.ts';
import { renameArgs } from './rebuild.ts';

export const decompose = (graph: Graph, sizes?: SizeEnvironment): Graph => decomposeBut(noComposites, graph, sizes);

const noComposites: ReadonlySet<string> = new Set();

/** The same, but composites of the names `keep` stay. */
export function decomposeBut(keep: ReadonlySet<string>, graph: Graph, sizes?: SizeEnvironment): Graph {
  const builder = new GraphBuilder({ expand: true, keep, ...(sizes === undefined ? {} : { sizes }) });
  const renamed = new Map<string, ValueRef>();
  const made: ValueRef[] = [];
  const rename = (value: ValueRef): ValueRef => get(renamed, key(value));
  for (const node of graph.nodes) {
    const results = builder.withOrigin(node.origin, () => {
      switch (node.kind) {
        case 'placeholder':
          return [builder.placeholder(node.name, at(node.results, 0))];
        case 'constant':
          return [builder.constant(node.data, at(node.results, 0))];
        case 'call':
          return builder.callAll(node.target, renameArgs(node.args, rename), node.attrs);
        case 'host':
          throw brokenGraph(`${node.target} runs on the host: splitAtHosts comes before decompose`);
      }
    });
    results.forEach((value, result) => renamed.set(key({ kind: 'value', node: node.id, result }), value));
    if (node.kind === 'call') made.push(...results);
  }
  builder.output(...graph.outputs.map(rename));
  builder.output(...deadChecks(builder.finish(), made));
  return { ...builder.finish(), mutations: graph.mutations, sizes: graph.sizes };
}

const key = ({ node, result }: ValueRef): string => `${String(node)}.${String(result)}`;
