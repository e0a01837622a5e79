// What is computed again late stays late, and shares no loops with what is not.
import { expect, test } from '@jest/globals';
import { at, verifying } from '@tsinductor/base';
import { GraphBuilder } from '@tsinductor/graph';
import type { Graph, GraphNode, ValueRef } from '@tsinductor/graph';
import { int, verifyProgram } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { resolveConfig } from '@tsinductor/config';
import { schedule } from './index.ts';

const rows = 64;

/** Row sums of exp(x), a product that waits for them, and exp(x) again for that product; `mark` says so of the second one. */
function twice(mark: (node: GraphNode, first: ValueRef, made: ValueRef) => GraphNode): Graph {
  const b = new GraphBuilder();
  const square = { shape: [int(rows), int(rows)], strides: [int(rows), int(1)], dtype: 'f32' as const };
  const [x, w] = [b.placeholder('x', square), b.placeholder('w', square)];
  const batch = (value: ValueRef): ValueRef => b.call('reshape', [value], { shape: [1, rows, rows] });
  const first = b.call('exp', [x]);
  const sums = b.call('sum', [first], { dims: [1], keepdim: true });
  const product = b.call('bmm', [batch(b.call('mul', [w, sums])), batch(w)]);
  const second = b.call('exp', [x]);
  b.output(b.call('bmm', [product, batch(second)]), b.call('sum', [second], { dims: [0], keepdim: false }));
  const graph = b.finish();
  return { ...graph, nodes: graph.nodes.map((node) => (node.id === second.node ? mark(node, first, product) : node)) };
}

const scheduled = (graph: Graph): Schedule =>
  schedule(lowerGraph(graph), { config: resolveConfig({ env: {} }), watch: verifying });

/** Positions of the groups that compute exponentials. */
const withExp = ({ groups }: Schedule): readonly number[] =>
  groups.flatMap(({ nodes }, position) =>
    nodes.some((node) => node.kind === 'map' && node.body.nodes.some((it) => it.kind === 'apply' && it.op === 'exp'))
      ? [position]
      : [],
  );

const marked = (): Graph =>
  twice((node, first, product) => (node.kind === 'call' ? { ...node, after: [product], again: first } : node));

test('what waits stands behind what it waits for', () => {
  const program = lowerGraph(marked());
  verifyProgram(program);
  const waiting = program.nodes.find(({ after }) => after !== undefined);
  expect(waiting).toBeDefined();
  const nodes = [...program.nodes].sort((a, b) => Number(b === waiting) - Number(a === waiting));
  expect(() => {
    verifyProgram({ ...program, nodes });
  }).toThrow(/stands before bmm_\d+, which it waits for/);
});

test('what waits for a product runs behind it, in loops of its own', () => {
  const plan = scheduled(marked());
  const products = plan.groups.flatMap(({ nodes }, position) =>
    nodes.some(({ kind }) => kind === 'contract') ? [position] : [],
  );
  const late = withExp(plan).filter((position) => position > at(products, 0));
  expect(withExp(plan)).toHaveLength(2);
  expect(late).toHaveLength(1);
  // Kernels know nothing of it.
  expect(plan.groups.flatMap(({ nodes }) => nodes).every((node) => !('after' in node) && !('again' in node))).toBe(
    true,
  );
});
