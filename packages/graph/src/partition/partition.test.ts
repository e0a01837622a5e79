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

  test('is refused where a bound cannot be kept', () => {
    const limited = (limit: number): Graph => partition(chain(4), options({ limit, peakOf: () => 1000 }));
    expect(limited(1000).nodes).toHaveLength(chain(4).nodes.length);
    expect(() => limited(999)).toThrow(/a call takes at least 1000 bytes .*: 999 were allowed/);
  });
});
