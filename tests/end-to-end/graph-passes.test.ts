// Passes over graphs that a program gives: replacements by pattern, and passes of its own.
import { describe, expect, test } from '@jest/globals';
import { addmm, compile, graphPass, grad, nn, ones, randn, replacement, tensor, zeros } from 'tsinductor';
import type { Replacement, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

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

  test('leaves a place for which it is none, and says why', () => {
    const fn = (x: Tensor): Tensor => x.mul(x.sigmoid());
    const compiled = compile(fn, { options: { preGradCustomPass: graphPass('dtypes', [sigmoids]) } });
    const whole = tensor([1, 2, 3], { dtype: 'i32' });
    expect(compiled(whole).toArray()).toEqual(fn(whole).toArray());
    expect(compiled.explain(whole).toString()).toMatch(
      /rewrote 0 parts by silu: replace refuses it: silu does not take i32/,
    );
    const widening = replacement('wide', {
      like: [square],
      search: (x: Tensor) => x.sin(),
      replace: (x) => x.sin().to('f32'),
    });
    const kept = compile((x: Tensor) => x.sin(), { options: { preGradCustomPass: graphPass('wide', [widening]) } });
    expect(kept(ones([2], { dtype: 'f64' })).dtype).toBe('f64');
  });

  test('does not change operands of a scaled sum', () => {
    const scaled = replacement('scaled sum', {
      like: [square, square],
      search: (x: Tensor, y: Tensor) => y.add(x.exp(), { alpha: 3 }),
      replace: (x, y) => y.add(x.exp(), { alpha: 3 }),
    });
    const [x, y] = [randn([4]), randn([4])];
    expectRewritten((a, b) => b.add(a.exp(), { alpha: 3 }), [x, y], { rules: [scaled], counts: ['scaled sum 1'] });
    expectRewritten((a, b) => a.exp().add(b, { alpha: 3 }), [x, y], { rules: [scaled], counts: [] });
  });

  test('gives views where what it replaces does', () => {
    const same = (x: Tensor): Tensor => x.t();
    const views = replacement('views', { like: [square], search: same, replace: same });
    expectRewritten((x) => x.t().exp(), [randn([2, 3])], { rules: [views], counts: ['views 1'] });
  });

  test('is not made of what it is given itself', () => {
    const sums = replacement('sums', {
      like: [square, square],
      search: (x: Tensor, y: Tensor) => x.exp().add(y),
      replace: (x, y) => y.add(x.exp()),
    });
    expectRewritten((x) => x.exp().add(x.exp().neg()), [randn([4])], { rules: [sums], counts: ['sums 1'] });
    const twice = (x: Tensor): Tensor => {
      const power = x.exp();
      return power.add(power);
    };
    expectRewritten(twice, [randn([4])], { rules: [sums], counts: [] });
  });

  test('is made of as many pairs as there are, but for those that need themselves', () => {
    const pairs = replacement('pairs', {
      like: [square, square, square],
      search: (x: Tensor, v: Tensor, w: Tensor) => [x.matmul(v), x.matmul(w)],
      replace: (x, v, w) => [x.matmul(v), x.matmul(w)],
    });
    const many = Array.from({ length: 5 }, () => randn([4, 4]));
    expectRewritten((x, ...ws) => ws.map((w) => x.matmul(w)), many, { rules: [pairs], counts: ['pairs 2'] });
    expectRewritten((x, a) => [x.matmul(a), x.matmul(x.matmul(a.add(1)))], many.slice(0, 2), {
      rules: [pairs],
      counts: ['pairs 1'],
    });
    const [x, y] = [randn([4, 4]), randn([4, 4])] as const;
    const mixed = (w: Tensor, v: Tensor): Tensor[] => [y.matmul(v), y.matmul(v.add(1)), x.matmul(x.matmul(w))];
    expectRewritten(mixed, many.slice(0, 2), { rules: [pairs], counts: ['pairs 1'] });
  });

  test('of composites is found in primitives as these are after simplification', () => {
    const norm = (x: Tensor): Tensor => nn.functional.layerNorm(x, [x.size(-1)]);
    const norms = replacement('norms', { like: [square], search: norm, replace: (x) => norm(x).mul(1) });
    expectRewritten((x) => norm(x.exp()), [randn([3, 8])], {
      rules: [norms],
      counts: ['norms 1'],
      setting: 'postGradCustomPrePass',
    });
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
