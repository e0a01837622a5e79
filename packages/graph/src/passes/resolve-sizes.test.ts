// Sizes that guards made equal, or numbers, in a graph and in what it decomposes into.
import { expect, test } from '@jest/globals';
import { int } from '@tsinductor/ir';
import { contiguousStrides, decompose, GraphBuilder, printGraph, resolveSizes, SizeEnvironment } from '../index.ts';

test('sizes that an addition makes equal, or a read makes a number, leave the graph', () => {
  const sizes = new SizeEnvironment();
  const builder = new GraphBuilder({ sizes });
  const shapes = [
    [sizes.declare('s0', 3), sizes.declare('s1', 4)],
    [sizes.declare('s2', 3), sizes.declare('s3', 4)],
  ];
  const [x, y] = shapes.map((shape, position) =>
    builder.placeholder(`input${String(position)}`, { dtype: 'f32', shape, strides: contiguousStrides(shape) }),
  );
  if (x === undefined || y === undefined) throw new TypeError('two inputs');
  const sum = builder.call('add', [x, y]);
  sizes.toNumber(sizes.resolve(builder.meta(y).shape[1] ?? int(0)));
  builder.output(builder.call('reshape', [sum], { shape: [-1] }));
  const resolved = resolveSizes(builder.finish(), sizes);
  expect(resolved.sizes).toEqual([{ name: 's0', placeholder: 0, axis: 0 }]);
  expect(printGraph(resolved)).not.toMatch(/s[123]/);
  expect(resolved.nodes.map(({ results }) => results[0]?.shape.length)).toEqual([2, 2, 2, 1]);
  expect(printGraph(resolveSizes(decompose(builder.finish(), sizes), sizes))).not.toMatch(/s[123]/);
});

test('a graph without such sizes is the same graph', () => {
  const sizes = new SizeEnvironment();
  const builder = new GraphBuilder({ sizes });
  const shape = [sizes.declare('s0', 3)];
  builder.output(builder.placeholder('x', { dtype: 'f32', shape, strides: contiguousStrides(shape) }));
  const graph = builder.finish();
  expect(resolveSizes(graph, sizes)).toBe(graph);
});
