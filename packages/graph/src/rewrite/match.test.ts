// How much a matcher looks at: in proportion to the graph, however many ways there are to match.
import { expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import type { Graph, GraphNode, ValueRef } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { contiguousMeta } from '../shape.ts';
import { Matcher } from './match.ts';

const square = contiguousMeta([int(4), int(4)], 'f32');

function built(inputs: number, build: (b: GraphBuilder, inputs: readonly ValueRef[]) => readonly ValueRef[]): Graph {
  const b = new GraphBuilder();
  const given = Array.from({ length: inputs }, (_, position) => b.placeholder(`x${String(position)}`, square));
  b.output(...build(b, given));
  return b.finish();
}

/** How often the matcher reads the arguments of a call while it looks for a pattern at every node. */
function readsOf(graph: Graph, pattern: Graph): number {
  let reads = 0;
  const counted = (node: GraphNode): GraphNode =>
    new Proxy(node, {
      get: (target, name) => {
        if (name === 'args') reads += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  const matcher = new Matcher({ ...graph, nodes: graph.nodes.map(counted) });
  for (const { id } of graph.nodes)
    for (const _ of matcher.matchesAt({ graph: pattern, numbers: [], isLoose: false }, id)) reads += 1;
  return reads;
}

/** Products by one tensor, each with what follows it. */
const products = (count: number): Graph =>
  built(2, (b, [x, w]) =>
    Array.from({ length: count }, (_, layer) => {
      const own = b.call('add', [w ?? null, { kind: 'scalar', category: 'int', value: layer }]);
      return b.call('relu', [b.call('matmul', [x ?? null, own])]);
    }),
  );

test('two results over one tensor that many calls share', () => {
  const pattern = built(3, (b, [x, v, w]) =>
    [v, w].map((other) => b.call('relu', [b.call('matmul', [x ?? null, other ?? null])])),
  );
  const [few, many] = [readsOf(products(100), pattern), readsOf(products(400), pattern)];
  expect(many).toBeLessThan(5 * few);
});

test('sums that commute at every step, of which one is something else', () => {
  const sumOf = (b: GraphBuilder, values: readonly ValueRef[]): ValueRef => {
    if (values.length === 1) return at(values, 0);
    const half = values.length >> 1;
    return b.call('add', [sumOf(b, values.slice(0, half)), sumOf(b, values.slice(half))]);
  };
  const graph = built(16, (b, xs) => [b.call('exp', [sumOf(b, xs)])]);
  const pattern = built(16, (b, xs) => [b.call('exp', [sumOf(b, [...xs.slice(0, -1), b.call('neg', [at(xs, 15)])])])]);
  expect(readsOf(graph, pattern)).toBeLessThan(100_000);
});
