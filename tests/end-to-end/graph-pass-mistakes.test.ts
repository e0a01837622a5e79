// What is wrong about passes over graphs that a program gives, and about their rules: each is an error with a code.
import { describe, expect, test } from '@jest/globals';
import { compile, graphPass, nn, randn, replacement, tensor } from 'tsinductor';
import type { Graph, GraphPass, Replacement, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const square = { shape: [2, 2] };

const sigmoids = replacement('silu', {
  like: [square],
  search: (x: Tensor) => x.mul(x.sigmoid()),
  replace: (x: Tensor) => nn.functional.silu(x),
});

describe('a rule that is no rule', () => {
  const closed = tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).add(1);
  test.each<[string, RegExp, () => Replacement]>([
    [
      'closes over a tensor',
      /closes over tensors/,
      () => replacement('r', { like: [square], search: (x: Tensor) => x.add(closed.sum()), replace: (x) => x }),
    ],
    [
      'does not use a tensor',
      /does not use its tensor 1/,
      () => replacement('r', { like: [square, square], search: (x: Tensor, _y: Tensor) => x.neg(), replace: (x) => x }),
    ],
    [
      'does not use a number as it is',
      /numbers that it computes with/,
      () =>
        replacement('r', { like: [square, 0.5], search: (x: Tensor, n: number) => x.mul(1 / n), replace: (x) => x }),
    ],
    [
      'has a name that is no text for a kernel',
      /its name is not/,
      () => replacement('*/ int x;', { like: [square], search: (x: Tensor) => x.neg(), replace: (x) => x }),
    ],
    [
      'gives its argument',
      /did not compute/,
      () => replacement('r', { like: [square], search: (x: Tensor) => [x.neg(), x], replace: (x) => [x, x] }),
    ],
    [
      'gives no tensor',
      /something else than tensors/,
      () => replacement('r', { like: [square], search: (_: Tensor) => 3 as never, replace: (x) => x }),
    ],
    [
      'writes',
      /writes to its arguments/,
      () => replacement('r', { like: [square], search: (x: Tensor) => x.add_(1).neg(), replace: (x) => x }),
    ],
  ])('%s', (_, message, make) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'REPLACEMENT_INVALID' }));
  });

  test.each<[string, RegExp, unknown]>([
    ['options', /search is no function/, undefined],
    ['examples', /like is no list/, { like: {}, search: () => closed, replace: () => closed }],
    [
      'an example that is none',
      /like\[0\] is neither/,
      { like: [{ shape: [1.5] }], search: () => closed, replace: () => closed },
    ],
    ['something to search for', /search is no function/, { like: [square], replace: (x: Tensor) => x }],
    ['something to replace it', /replace is no function/, { like: [square], search: (x: Tensor) => x.neg() }],
    [
      'options that are known',
      /no option place/,
      { like: [square], search: () => closed, replace: () => closed, place: 1 },
    ],
  ])('has no %s', (_, message, options) => {
    const make = (): unknown => replacement('r', options as never);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'REPLACEMENT_INVALID' }));
  });

  test.each<[string, RegExp, () => Replacement]>([
    [
      'gives results of another shape',
      /replace gives f32 \[\], and search f32 \[2, 2\]/,
      () => replacement('r', { like: [square], search: (x: Tensor) => x.neg(), replace: (x) => x.sum() }),
    ],
    [
      'gives fewer results',
      /replace gives/,
      () => replacement('r', { like: [square], search: (x: Tensor) => [x.sin(), x.cos()], replace: (x) => x.sin() }),
    ],
    [
      'uses a number only changed',
      /numbers that it computes with/,
      () =>
        replacement('r', { like: [square, 0.5], search: (x: Tensor, n: number) => x.mul(-n), replace: (x) => x.neg() }),
    ],
    [
      'fails',
      /search fails: no such thing/,
      () =>
        replacement('r', {
          like: [square],
          search: (_: Tensor): Tensor => {
            throw new RangeError('no such thing');
          },
          replace: (x: Tensor) => x,
        }),
    ],
  ])('%s', (_, message, make) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'REPLACEMENT_INVALID' }));
  });

  test('is none of a pass', () => {
    for (const rules of [undefined, sigmoids, [null]])
      expect(() => graphPass('bad', rules as never)).toThrow(/a list of what replacement\(\) gives/);
  });

  test('asks for a promise', () => {
    const late = replacement('late', {
      like: [square],
      search: (x: Tensor) => x.neg(),
      replace: (x) => x.mul(-1),
      where: (async () => Promise.resolve(false)) as never,
    });
    const compiled = compile((x: Tensor) => x.neg(), { options: { preGradCustomPass: graphPass('late', [late]) } });
    expect(() => compiled(randn([3]))).toThrow(/something else than true or false/);
  });
});

describe("a pass of the program's own", () => {
  const replacing = (from: string, to: string): GraphPass => ({
    key: `${from} by ${to}`,
    run: (graph: Graph) => ({
      ...graph,
      nodes: graph.nodes.map((node) => (node.kind === 'call' && node.target === from ? { ...node, target: to } : node)),
    }),
  });

  test.each(['preGradCustomPass', 'postGradCustomPrePass', 'postGradCustomPostPass'])('%s', (setting) => {
    const compiled = compile((x: Tensor) => x.sin().add(1), { options: { [setting]: replacing('sin', 'neg') } });
    expect(compiled(tensor([1.5, 2.5])).toArray()).toEqual([-0.5, -1.5]);
  });

  test.each<[string, (graph: Graph) => unknown]>([
    ['nothing', () => undefined],
    ['fewer outputs', (graph) => ({ ...graph, outputs: [] })],
    ['an output of another shape', (graph) => ({ ...graph, outputs: [{ kind: 'value', node: 0, result: 0 }] })],
    ['nodes out of order', (graph) => ({ ...graph, nodes: [...graph.nodes].reverse() })],
    ['no nodes', (graph) => ({ ...graph, nodes: [null] })],
    [
      'other inputs',
      (graph) => ({
        ...graph,
        nodes: graph.nodes.map((node) =>
          node.kind === 'placeholder'
            ? { ...node, results: node.results.map((meta) => ({ ...meta, dtype: 'f64' })) }
            : node,
        ),
      }),
    ],
    ['writes that it has not', (graph) => ({ ...graph, mutations: [{ placeholder: 0, output: 0 }] })],
    ['a graph that it has broken', (graph) => ((graph.nodes as unknown[]).push({}), graph)],
    [
      'nothing, as it fails',
      () => {
        throw new TypeError('no');
      },
    ],
  ])('that gives %s is an error', (_, run) => {
    for (const setting of ['preGradCustomPass', 'postGradCustomPostPass']) {
      const pass = { key: `bad ${_}`, run };
      const compiled = compile((x: Tensor) => x.sum(), { options: { [setting]: pass } });
      expect(() => compiled(randn([3, 2]))).toThrow(expect.objectContaining({ code: 'CUSTOM_GRAPH_PASS' }));
    }
  });
});
