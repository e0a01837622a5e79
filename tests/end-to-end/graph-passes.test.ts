// Passes over graphs that a program gives: replacements by pattern, and passes of its own.
import { describe, expect, test } from '@jest/globals';
import { addmm, compile, graphPass, grad, nn, randn, replacement, tensor, zeros } from 'tsinductor';
import type { Graph, GraphPass, Replacement, Tensor } from 'tsinductor';

const square = { shape: [2, 2] };

/** The operators of the graph that a function becomes, as they are traced, and what the rules did. */
function passedBy(
  fn: (...inputs: Tensor[]) => unknown,
  inputs: readonly Tensor[],
  options: Readonly<Record<string, unknown>>,
): { readonly results: unknown; readonly rewritten: readonly string[] } {
  const compiled = compile(fn, { fullgraph: true, options });
  const results = compiled(...inputs);
  const rewritten = compiled
    .graphs()
    .flatMap(({ decisions }) =>
      decisions.flatMap((one) => (one.kind === 'rewritten' ? [`${one.rule} ${String(one.count)}`] : [])),
    );
  return { results, rewritten };
}

const listOf = (results: unknown): readonly (readonly number[])[] =>
  [results].flat().map((result) => (result as Tensor).reshape([-1]).toArray() as number[]);

/** With the rules, a function is found to be rewritten so often; without, it gives these numbers. */
function expectRewritten(
  fn: (...inputs: Tensor[]) => unknown,
  inputs: readonly Tensor[],
  {
    rules,
    counts,
    setting = 'preGradCustomPass',
  }: { rules: readonly Replacement[]; counts: readonly string[]; setting?: string },
): void {
  const { results, rewritten } = passedBy(fn, inputs, { [setting]: graphPass('test', rules) });
  expect(rewritten).toEqual(counts);
  const expected = listOf(fn(...inputs));
  listOf(results).forEach((list, position) => {
    list.forEach((value, element) => {
      expect(value).toBeCloseTo(expected[position]?.[element] ?? NaN, 4);
    });
  });
}

const sigmoids = replacement('silu', {
  like: [square],
  search: (x: Tensor) => x.mul(x.sigmoid()),
  replace: (x: Tensor) => nn.functional.silu(x),
});

describe('a replacement', () => {
  test('is made wherever the pattern is, in either order of operands', () => {
    const fn = (x: Tensor, w: Tensor): Tensor => {
      const h = x.matmul(w);
      const a = h.mul(h.sigmoid());
      return a.sigmoid().mul(a).add(1);
    };
    expectRewritten(fn, [randn([3, 4]), randn([4, 5])], { rules: [sigmoids], counts: ['silu 2'] });
  });

  test('is not made where what is in between is used elsewhere, or is a result', () => {
    const fn = (x: Tensor): Tensor[] => {
      const gate = x.sigmoid();
      return [x.mul(gate), gate.add(1)];
    };
    expectRewritten(fn, [randn([8])], { rules: [sigmoids], counts: [] });
    expectRewritten((x) => [x.mul(x.sigmoid()), x.exp().sigmoid()], [randn([8])], {
      rules: [sigmoids],
      counts: ['silu 1'],
    });
  });

  test('takes a tensor that stands in two places as one', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => x.mul(y.sigmoid());
    expectRewritten(fn, [randn([8]), randn([8])], { rules: [sigmoids], counts: [] });
  });

  test('takes any number where its pattern has one, and the same in each place', () => {
    const scaled = replacement('scaled exponential', {
      like: [square, 0.5],
      search: (x: Tensor, factor: number) => x.mul(factor).exp().mul(factor),
      replace: (x, factor) => x.mul(factor).exp().mul(factor),
    });
    expectRewritten((x) => x.mul(3).exp().mul(3), [randn([8])], { rules: [scaled], counts: ['scaled exponential 1'] });
    expectRewritten((x) => x.mul(3).exp().mul(2), [randn([8])], { rules: [scaled], counts: [] });
  });

  test('may compute with the shapes of what it finds, and be for some only', () => {
    const means = replacement('mean', {
      like: [square],
      search: (x: Tensor) => x.sum(-1).div(x.size(-1)),
      replace: (x: Tensor) => x.mean(-1),
    });
    const fn = (x: Tensor): Tensor => x.sum(-1).div(6).add(x.sum(-1).div(5).sum());
    expectRewritten(fn, [randn([3, 6])], { rules: [means], counts: ['mean 1'] });
    const narrow = replacement('mean of few', {
      like: [square],
      search: (x: Tensor) => x.sum(-1).div(x.size(-1)),
      replace: (x: Tensor) => x.mean(-1),
      where: (x) => x.size(-1) < 4,
    });
    expectRewritten((x) => x.sum(-1).div(6), [randn([3, 6])], { rules: [narrow], counts: [] });
    expectRewritten((x) => x.sum(-1).div(3), [randn([6, 3])], { rules: [narrow], counts: ['mean of few 1'] });
  });

  test('of several results goes where each is used', () => {
    const both = replacement('sine and cosine', {
      like: [square],
      search: (x: Tensor) => [x.sin(), x.cos()],
      replace: (x: Tensor) => [x.cos().square().neg().add(1).sqrt().mul(x.sin().sign()), x.cos()],
    });
    expectRewritten((x) => x.sin().exp().add(x.cos()), [randn([8])], { rules: [both], counts: ['sine and cosine 1'] });
    expectRewritten((x) => x.sin().cos(), [randn([8])], { rules: [both], counts: [] });
  });

  test('that would need what it gives itself is not made', () => {
    const two = replacement('two layers', {
      like: [square, square, square],
      search: (x: Tensor, v: Tensor, w: Tensor) => [x.matmul(v), x.matmul(w)],
      replace: (x: Tensor, v: Tensor, w: Tensor) => [x.matmul(v), x.matmul(w)],
    });
    expectRewritten((x, w) => x.matmul(x.matmul(w)), [randn([4, 4]), randn([4, 4])], { rules: [two], counts: [] });
    expectRewritten((x, w) => x.matmul(w).add(x.matmul(w.add(1))), [randn([4, 4]), randn([4, 4])], {
      rules: [two],
      counts: ['two layers 1'],
    });
  });

  test('is found in primitives however the program is written', () => {
    const rules = [
      replacement('affine', {
        like: [square, square, { shape: [2] }],
        search: (x: Tensor, w: Tensor, b: Tensor) => x.matmul(w).add(b),
        replace: (x: Tensor, w: Tensor, b: Tensor) => x.matmul(w.mul(2)).div(2).add(b),
      }),
    ];
    const fn = (x: Tensor, w: Tensor, b: Tensor): Tensor => addmm(b, x, w).relu();
    const inputs = [randn([3, 4]), randn([4, 5]), randn([5])];
    expectRewritten(fn, inputs, { rules, counts: [] });
    expectRewritten(fn, inputs, { rules, counts: ['affine 1'], setting: 'postGradCustomPrePass' });
    expectRewritten(fn, inputs, { rules, counts: ['affine 1'], setting: 'postGradCustomPostPass' });
  });

  test('is made in a function whose sizes are symbolic', () => {
    const pass = graphPass('symbolic', [sigmoids]);
    const compiled = compile((x: Tensor) => x.mul(x.sigmoid()).sum(), {
      dynamic: true,
      options: { preGradCustomPass: pass },
    });
    for (const size of [5, 9, 17]) {
      const x = randn([size, 3]);
      expect(compiled(x).item()).toBeCloseTo(x.mul(x.sigmoid()).sum().item(), 4);
    }
    expect(compiled.graphs()).toHaveLength(1);
    expect(compiled.explain(randn([5, 3])).toString()).toContain('rewrote 1 part by silu');
  });

  test('is part of what gradients are made of', () => {
    const doubled = replacement('a slope that is none of the program', {
      like: [square],
      search: (x: Tensor) => x.sin(),
      replace: (x: Tensor) => x.mul(3),
    });
    const fn = (x: Tensor): Tensor => x.sin().sum();
    const x = zeros([3]).requiresGrad_();
    compile(fn, { options: { preGradCustomPass: graphPass('slopes', [doubled]) } })(x).backward();
    expect(x.grad?.toArray()).toEqual([3, 3, 3]);
    const compiled = compile((t: Tensor) => grad(fn)(t), {
      options: { preGradCustomPass: graphPass('slopes', [doubled]) },
    });
    expect(compiled(zeros([3])).toArray()).toEqual([1, 1, 1]);
  });

  test('is off with pattern matching', () => {
    const fn = (x: Tensor): Tensor => x.mul(x.sigmoid());
    const { rewritten } = passedBy(fn, [randn([4])], {
      preGradCustomPass: graphPass('off', [sigmoids]),
      patternMatcher: false,
    });
    expect(rewritten).toEqual([]);
  });
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
      /does not use its number 0/,
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
      () => replacement('r', { like: [square], search: (_: Tensor) => 3 as unknown as Tensor, replace: (x) => x }),
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

  test('gives results of another shape', () => {
    const bad = replacement('r', { like: [square], search: (x: Tensor) => x.neg(), replace: (x) => x.sum() });
    const compiled = compile((x: Tensor) => x.neg(), { options: { preGradCustomPass: graphPass('bad', [bad]) } });
    expect(() => compiled(randn([3]))).toThrow(expect.objectContaining({ code: 'REPLACEMENT_INVALID' }));
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
  ])('that gives %s is an error', (_, run) => {
    for (const setting of ['preGradCustomPass', 'postGradCustomPostPass']) {
      const pass = { key: `bad ${_}`, run };
      const compiled = compile((x: Tensor) => x.sum(), { options: { [setting]: pass } });
      expect(() => compiled(randn([3, 2]))).toThrow(expect.objectContaining({ code: 'CUSTOM_GRAPH_PASS' }));
    }
  });
});
