// Joint graphs written by hand: what is late, what is kept, what is computed again and where, and that graphs mean the same.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import { int } from '@tsinductor/ir';
import { GraphBuilder } from '../graph-builder.ts';
import type { Graph, NodeOrigin, ValueRef } from '../graph.ts';
import { printGraph } from '../print-graph.ts';
import { removeDead } from '../passes/remove-dead.ts';
import { shareCommon } from '../passes/share-common.ts';
import { verifyGraph } from '../verify-graph.ts';
import { jointGraph } from './joint-graph.ts';
import { partition } from './partition.ts';
import type { RowLimits } from './rows-between.ts';
import type { PartitionChoice, PartitionOptions } from './partition.ts';

const backward: NodeOrigin = { from: [], pass: 'backward' };
const residual: NodeOrigin = { from: [], pass: 'residual' };

/** Layers y = exp(y), whose gradients need their results, below a checkpoint or none; and a step that uses the gradient. */
function chain(depth: number, checkpoints: readonly number[] = []): Graph {
  const b = new GraphBuilder();
  const x = b.placeholder('x', { shape: [int(8), int(16)], strides: [int(16), int(1)], dtype: 'f32' });
  const layers: ValueRef[] = [x];
  for (let layer = 0; layer < depth; layer += 1) {
    const origin = checkpoints.includes(layer) ? { from: [], region: 0 } : { from: [] };
    layers.push(b.withOrigin(origin, () => b.call('exp', [at(layers, layer)])));
  }
  const loss = b.call('sum', [at(layers, depth)], { dims: [0, 1], keepdim: false });
  let g = b.withOrigin(backward, () => b.call('neg', [at(layers, depth)]));
  for (let layer = depth; layer > 0; layer -= 1) {
    const half = b.withOrigin(residual, () => b.call('square', [at(layers, layer)]));
    g = b.withOrigin(backward, () => b.call('mul', [g, half]));
  }
  b.output(loss, b.call('sub', [x, g]));
  return b.finish();
}

const targets = ({ nodes }: Graph): readonly string[] =>
  nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : []));

const options = (more: Partial<PartitionOptions>): PartitionOptions => ({
  budget: 1,
  aggressive: false,
  peakOf: ({ nodes }) => -nodes.length,
  ...more,
});

describe('a joint graph', () => {
  test('is late where cotangents flow, and where their results are used', () => {
    const joint = jointGraph(chain(2));
    expect(
      [...(joint?.late ?? [])]
        .map((id) => at(joint?.graph.nodes ?? [], id))
        .map((node) => 'target' in node && node.target),
    ).toEqual(['neg', 'mul', 'mul', 'sub']);
    expect(joint?.early.map(({ target }) => target)).toEqual(['exp', 'exp', 'sum', 'square', 'square']);
  });

  test('is none without a backward pass', () => {
    const b = new GraphBuilder();
    const x = b.placeholder('x', { shape: [int(4)], strides: [int(1)], dtype: 'f32' });
    b.output(b.call('exp', [x]));
    const graph = b.finish();
    expect(jointGraph(graph)).toBeUndefined();
    expect(partition(graph, options({ budget: 0 }))).toBe(graph);
  });
});

describe('a partition', () => {
  test('is the graph itself under a budget of 1', () => {
    const graph = chain(4);
    expect(partition(graph, options({}))).toBe(graph);
  });

  test('computes again what a program’s own partitioner does not keep, where it is needed', () => {
    const graph = chain(3);
    const kept = (choice: PartitionChoice): unknown =>
      choice.values.filter(({ target }) => target === 'sum').map(({ node }) => node);
    const parted = partition(graph, options({ partitioner: kept }));
    verifyGraph(parted, { primitivesOnly: true });
    expect(targets(parted)).toEqual([
      ...['exp', 'exp', 'exp', 'sum', 'exp', 'exp', 'exp', 'neg'],
      ...['square', 'mul', 'square', 'mul', 'square', 'mul', 'sub'],
    ]);
    // Copies say of what, and late ones what they wait for.
    expect(printGraph(parted)).toMatch(/exp\(%\d+\) as %1/);
    expect(printGraph(parted)).toMatch(/square\(%\d+\) after %\d+/);
  });

  test('is not undone by later passes', () => {
    const parted = partition(chain(3), options({ partitioner: () => [] }));
    expect(targets(removeDead(shareCommon(parted)))).toEqual(targets(parted));
  });

  test('keeps nothing of what does not leave a checkpoint', () => {
    const parted = partition(chain(4, [1, 2]), options({}));
    // The second of the two leaves it, the first is computed again from what came before.
    expect(targets(parted).filter((target) => target === 'exp')).toHaveLength(5);
    expect(parted.decisions?.filter(({ kind }) => kind === 'recomputed')).toMatchObject([
      { value: 'exp f32[8, 16]', reason: 'a checkpoint keeps nothing of what lies within' },
      { value: 'square f32[8, 16]', reason: 'a checkpoint keeps nothing of what lies within' },
    ]);
  });

  test('takes the fastest plan within the budget', () => {
    const graph = chain(12);
    const budgets = Array.from({ length: 20 }, (_, index) => index / 19);
    const sizes = budgets.map((budget) => partition(graph, options({ budget })).nodes.length);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBeGreaterThan(1);
  });

  describe('rows between products', () => {
    const limits = (leastBytes: number): RowLimits => ({
      leastBytes,
      leastRows: 16,
      leastMatrices: 4,
      rowBytes: 32 << 10,
    });
    type Late = (b: GraphBuilder, rows: { weights: ValueRef; change: ValueRef }) => ValueRef;

    /** Scores, their exponentials and a product of these; and the product of what the backward pass makes of the exponentials. */
    function attention(late: Late, result: 'product' | 'weights' = 'product'): Graph {
      const b = new GraphBuilder();
      const of = (name: string, rows: number, columns: number): ValueRef =>
        b.placeholder(name, {
          shape: [4, rows, columns].map(int),
          strides: [rows * columns, columns, 1].map(int),
          dtype: 'f32',
        });
      const [q, k, v, g] = [of('q', 32, 8), of('k', 8, 24), of('v', 24, 8), of('g', 32, 24)];
      const weights = b.call('exp', [b.call('bmm', [q, k])]);
      const out = b.call('bmm', [weights, v]);
      const made = b.withOrigin(backward, () => late(b, { weights, change: g }));
      b.output(
        out,
        b.withOrigin(backward, () => b.call('bmm', [made, v])),
        ...(result === 'weights' ? [weights] : []),
      );
      return b.finish();
    }
    const elements: Late = (b, { weights, change }) => b.call('mul', [weights, change]);
    const alongRows: Late = (b, { weights, change }) => {
      const sum = b.call('sum', [b.call('mul', [weights, change])], { dims: [2], keepdim: true });
      return b.call('mul', [weights, sum]);
    };
    const downColumns: Late = (b, { weights, change }) => {
      const sum = b.call('sum', [b.call('mul', [weights, change])], { dims: [1], keepdim: true });
      return b.call('mul', [weights, sum]);
    };
    const products = (graph: Graph): number =>
      targets(partition(graph, options({ rowLimits: limits(0) }))).filter((target) => target === 'bmm').length;

    test('are computed again, where they are used along rows', () => {
      const graph = attention(elements);
      expect(targets(partition(graph, options({}))).filter((target) => target === 'bmm')).toHaveLength(3);
      const parted = partition(graph, options({ rowLimits: limits(0) }));
      verifyGraph(parted, { primitivesOnly: true });
      expect(targets(parted)).toEqual(['bmm', 'exp', 'bmm', 'bmm', 'exp', 'mul', 'bmm']);
      expect(parted.decisions).toContainEqual(
        expect.objectContaining({
          reason: 'rows between matrix products stay in a cache, and never are a whole matrix',
        }),
      );
      expect(products(attention(alongRows))).toBe(4);
    });

    test('are kept where a whole matrix is needed, and where they are small', () => {
      expect(products(attention(downColumns))).toBe(3);
      expect(products(attention(elements, 'weights'))).toBe(3);
      const bytes = 4 * 32 * 24 * 4;
      const least = (leastBytes: number): number =>
        targets(partition(attention(elements), options({ rowLimits: limits(leastBytes) }))).length;
      expect([least(bytes), least(bytes + 1)]).toEqual([7, 5]);
    });
  });

  test('is refused where a bound cannot be kept', () => {
    const limited = (limit: number): Graph => partition(chain(4), options({ limit, peakOf: () => 1000 }));
    expect(limited(1000).nodes).toHaveLength(chain(4).nodes.length);
    expect(() => limited(999)).toThrow(/a call takes at least 1000 bytes .*: 999 were allowed/);
  });
});
