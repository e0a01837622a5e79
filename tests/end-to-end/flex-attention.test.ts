// Attention with scores and masks of the program's own: eager beside plain spelling, compiled beside eager.
import { describe, expect, test } from '@jest/globals';
import { arange, compile, exp2, grad, manualSeed, nn, randn, tensor, vmap, where } from 'tsinductor';
import type { FlexAttentionOptions, Tensor } from 'tsinductor';
import { useOwnCache } from './own-cache.ts';

useOwnCache();

const { flexAttention, scaledDotProductAttention } = nn.functional;
const always = { 'cpp.attentionFusionBytes': 0 };

type Given = [query: Tensor, key: Tensor, value: Tensor];
type Attention = (...given: Given) => Tensor;

interface Sizes {
  readonly heads?: number;
  readonly shared?: number;
  readonly rows?: number;
  readonly columns?: number;
  readonly dtype?: 'f32' | 'f64';
}

function given({ heads = 4, shared = heads, rows = 70, columns = rows, dtype = 'f32' }: Sizes = {}): Given {
  manualSeed(3);
  const make = (...shape: number[]): Tensor => randn([2, ...shape]).to(dtype);
  return [make(heads, rows, 16), make(shared, columns, 16), make(shared, columns, 8)];
}

const farthest = (a: Tensor, b: Tensor): number => Number(a.sub(b).abs().amax().item());

const slopes = exp2(arange(1, 5).neg());
const documents = tensor(Array.from({ length: 70 }, (_, place) => Math.floor(place / 17)));
const place = (x: Tensor, dim: number): Tensor => arange(x.size(-2)).unsqueeze(dim);

/** Options, and how a program without them would change scores. */
const forms: Readonly<
  Record<string, [FlexAttentionOptions, (scores: Tensor, rows: Tensor, columns: Tensor) => Tensor]>
> = {
  nothing: [{}, (scores) => scores],
  'slopes that fall with the distance': [
    { scoreMod: (score, ...[, h, i, j]) => score.add(slopes.index([h]).mul(j.sub(i))) },
    (scores, i, j) => scores.add(slopes.view(4, 1, 1).mul(j.sub(i))),
  ],
  'capped scores': [{ scoreMod: (score) => score.div(2).tanh().mul(2) }, (scores) => scores.div(2).tanh().mul(2)],
  'a causal mask': [{ maskMod: (...[, , i, j]) => i.ge(j) }, (scores, i, j) => where(i.ge(j), scores, -Infinity)],
  'a window behind the row': [
    { maskMod: (...[, , i, j]) => i.ge(j).logicalAnd(i.sub(j).le(9)) },
    (scores, i, j) => where(i.ge(j).logicalAnd(i.sub(j).le(9)), scores, -Infinity),
  ],
  'a window on both sides': [
    { maskMod: (...[, , i, j]) => j.sub(i).lt(5).logicalAnd(i.sub(j).lt(3)) },
    (scores, i, j) => where(j.sub(i).lt(5).logicalAnd(i.sub(j).lt(3)), scores, -Infinity),
  ],
  'columns from some before the row on': [
    { maskMod: (...[, , i, j]) => j.ge(i.sub(20)) },
    (scores, i, j) => where(j.ge(i.sub(20)), scores, -Infinity),
  ],
  'a mask by heads': [
    { maskMod: (...[, h, i, j]) => i.sub(j).abs().le(h.add(1).mul(4)) },
    (scores, i, j) =>
      where(
        i
          .sub(j)
          .abs()
          .le(arange(1, 5).mul(4).view(4, 1, 1)),
        scores,
        -Infinity,
      ),
  ],
  'documents one behind another': [
    { maskMod: (...[, , i, j]) => documents.index([i]).eq(documents.index([j])) },
    (scores) => where(documents.unsqueeze(1).eq(documents), scores, -Infinity),
  ],
  'scores and a mask': [
    {
      scoreMod: (score, ...[b, , i, j]) => score.mul(b.add(1)).sub(i.sub(j).mul(0.25)),
      maskMod: (...[, , i, j]) => i.ge(j),
      scale: 0.5,
    },
    (scores, i, j) =>
      where(
        i.ge(j),
        scores
          .mul(2)
          .mul(tensor([1, 2]).view(2, 1, 1, 1))
          .sub(i.sub(j).mul(0.25)),
        -Infinity,
      ),
  ],
};

describe('flexAttention', () => {
  test.each(Object.entries(forms))('%s', (_, [options, spelt]) => {
    const inputs = given();
    const [q, k, v] = inputs;
    const flex: Attention = (...parts) => flexAttention(...parts, options);
    const scores = spelt(q.matmul(k.transpose(-1, -2)).mul(0.25), place(q, 1), place(k, 0));
    const eager = flex(...inputs);
    expect(farthest(eager, scores.softmax(-1).matmul(v))).toBeLessThan(2e-6);
    const compiled = compile(flex, { fullgraph: true, options: always });
    expect(farthest(compiled(...inputs), eager)).toBeLessThan(2e-6);
    expect(compiled.explain(...inputs).toString()).toMatch(/became 1 kernel/);
  });

  test.each(['a window behind the row', 'a causal mask'])('%s leaves columns out', (name) => {
    const [options] = forms[name] ?? [{}];
    const compiled = compile((...parts: Given) => flexAttention(...parts, options), { options: always });
    compiled(...given());
    const text = compiled
      .graphs()
      .map((graph) => graph.source?.() ?? '')
      .join('\n');
    expect(text).toMatch(/\bcolumns\b/);
    expect(/\bfirst_column\b/.test(text)).toBe(name !== 'a causal mask');
  });

  test('a row that a mask keeps all columns out of is 0, and so are its gradients', () => {
    const inputs = given();
    const late: Attention = (...parts) => flexAttention(...parts, { maskMod: (...[, , i, j]) => i.sub(10).gt(j) });
    const loss = (...parts: Given): Tensor =>
      late(...parts)
        .square()
        .sum();
    for (const run of [late, compile(late, { options: always })]) {
      const made = run(...inputs);
      expect(made.narrow(2, 0, 11).eq(0).all().item()).toBe(true);
      expect(made.isnan().any().item()).toBe(false);
    }
    for (const run of [grad(loss), compile(grad(loss))]) {
      const made = run(...inputs);
      expect(made.narrow(2, 0, 11).eq(0).all().item()).toBe(true);
      expect(made.isnan().any().item()).toBe(false);
    }
  });

  test('heads share keys and values', () => {
    const [q, k, v] = given({ heads: 6, shared: 2 });
    const shared: Attention = (...parts) => flexAttention(...parts, { enableGqa: true });
    const wanted = flexAttention(q, k.repeatInterleave(3, 1), v.repeatInterleave(3, 1));
    for (const run of [shared, compile(shared, { options: always })])
      expect(farthest(run(q, k, v), wanted)).toBeLessThan(2e-6);
  });

  test('parts of keys are joined by the logarithms of their sums', () => {
    const [q, k, v] = given();
    const half = (start: number): [Tensor, Tensor] =>
      flexAttention(q, k.narrow(2, start, 35), v.narrow(2, start, 35), { returnLse: true });
    const joined = (): Tensor => {
      const [[a, x], [b, y]] = [half(0), half(35)];
      const all = x.logaddexp(y);
      return a.mul(x.sub(all).exp().unsqueeze(-1)).add(b.mul(y.sub(all).exp().unsqueeze(-1)));
    };
    for (const run of [joined, compile(joined, { options: always })])
      expect(farthest(run(), flexAttention(q, k, v))).toBeLessThan(2e-6);
  });

  test('with the sums as a result it is one kernel too', () => {
    const inputs = given();
    const both = (...parts: Given): [Tensor, Tensor] =>
      flexAttention(...parts, { returnLse: true, maskMod: (...[, , i, j]) => i.gt(j) });
    const compiled = compile(both, { fullgraph: true, options: always });
    const [made, wanted] = [compiled(...inputs), both(...inputs)];
    expect(farthest(made[0], wanted[0])).toBeLessThan(2e-6);
    expect(made[1].narrow(2, 0, 1).eq(-Infinity).all().item()).toBe(true);
    expect(farthest(made[1].narrow(2, 1, 69), wanted[1].narrow(2, 1, 69))).toBeLessThan(2e-6);
    expect(compiled.explain(...inputs).toString()).toMatch(/became 1 kernel/);
  });

  test('scores that fall far leave no subnormal weights', () => {
    const [q, k] = given();
    const weights = flexAttention(q, k, arange(70).eq(arange(70).unsqueeze(1)).to('f32').expand(2, 4, 70, 70), {
      scoreMod: (score, ...[, , i, j]) => score.sub(i.sub(j).abs().mul(1.7)),
    });
    expect(weights.gt(0).logicalAnd(weights.lt(1.2e-38)).any().item()).toBe(false);
    expect(weights.eq(0).any().item()).toBe(true);
  });

  test('f64, more rows than columns, and more columns than rows', () => {
    const options: FlexAttentionOptions = { maskMod: (...[, , i, j]) => i.ge(j).logicalAnd(i.sub(j).le(30)) };
    const flex: Attention = (...parts) => flexAttention(...parts, options);
    for (const sizes of [
      { rows: 90, columns: 33 },
      { rows: 33, columns: 150 },
      { rows: 64, columns: 61 },
    ]) {
      const inputs = given({ ...sizes, dtype: 'f64' });
      expect(farthest(compile(flex, { options: always })(...inputs), flex(...inputs))).toBeLessThan(1e-14);
    }
  });

  test('sizes may change', () => {
    const [options] = forms['a window behind the row'] ?? [{}];
    const flex: Attention = (...parts) => flexAttention(...parts, options);
    const compiled = compile(flex, { dynamic: true });
    for (const rows of [40, 57, 90]) {
      const inputs = given({ rows });
      expect(farthest(compiled(...inputs), flex(...inputs))).toBeLessThan(2e-6);
    }
    expect(compiled.graphs()).toHaveLength(1);
  });

  test('without keys rows are 0', () => {
    const both = (...parts: Given): [Tensor, Tensor] => flexAttention(...parts, { returnLse: true });
    for (const run of [both, compile(both)]) {
      const [out, lse] = run(...given({ rows: 5, columns: 0 }));
      expect([out.shape, out.eq(0).all().item()]).toEqual([[2, 4, 5, 8], true]);
      expect([lse.shape, lse.eq(-Infinity).all().item()]).toEqual([[2, 4, 5], true]);
    }
    expect(flexAttention(...given({ rows: 0 })).shape).toEqual([2, 4, 0, 8]);
    const shared = given({ heads: 6, shared: 2, rows: 5, columns: 0 });
    expect(flexAttention(...shared, { enableGqa: true }).shape).toEqual([2, 6, 5, 8]);
  });

  test('is mapped as other functions are', () => {
    const [q, k, v] = given();
    const [options] = forms['slopes that fall with the distance'] ?? [{}];
    const of = (...parts: Given): Tensor => flexAttention(...parts, options);
    const many = vmap(of, { inAxes: [0, null, null] });
    const pair = q.unsqueeze(0).mul(tensor([1, 2]).view(2, 1, 1, 1, 1));
    const made = compile(many)(pair, k, v);
    expect(farthest(made.select(0, 1), of(q.mul(2), k, v))).toBeLessThan(2e-6);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['no heads', () => flexAttention(randn([4, 8]), randn([4, 8]), randn([4, 8])), /query is f32 \[4, 8\]/],
    ['integers', () => flexAttention(...(given().map((x) => x.to('i32')) as Given)), /query is i32/],
    [
      'a score with dims',
      () => flexAttention(...given(), { scoreMod: (score) => score.unsqueeze(0) }),
      /scoreMod gives f32 \[1\]/,
    ],
    [
      'a mask of floats',
      () => flexAttention(...given(), { maskMod: (...[, , i]) => i.to('f32') }),
      /maskMod gives f32/,
    ],
    ['a number', () => flexAttention(...given(), { scoreMod: () => 3 as never }), /scoreMod gives 3/],
    ['a scale that is no number', () => flexAttention(...given(), { scale: 'x' as never }), /scale is /],
    ['no function', () => flexAttention(...given(), { maskMod: true as never }), /maskMod is true/],
    ['unknown options', () => flexAttention(...given(), { isCausal: true } as never), /isCausal/],
    [
      'heads that do not share evenly',
      () => flexAttention(...given({ heads: 5, shared: 2 }), { enableGqa: true }),
      /5 heads/,
    ],
  ])('%s', (_, run, message) => {
    expect(run).toThrow(message);
  });
});

describe('scaledDotProductAttention', () => {
  test('heads share keys and values', () => {
    const [q, k, v] = given({ heads: 6, shared: 2 });
    const shared: Attention = (...parts) => scaledDotProductAttention(...parts, { isCausal: true, enableGqa: true });
    const wanted = scaledDotProductAttention(q, k.repeatInterleave(3, 1), v.repeatInterleave(3, 1), { isCausal: true });
    const compiled = compile(shared, { fullgraph: true, options: always });
    for (const run of [shared, compiled]) expect(farthest(run(q, k, v), wanted)).toBeLessThan(2e-6);
    expect(compiled.explain(q, k, v).toString()).toMatch(/became 1 kernel/);
    expect(() => shared(q.narrow(1, 0, 5), k, v)).toThrow(/multiple of the heads/);
  });

  test('drops weights at random, the same ones compiled', () => {
    const inputs = given();
    const dropped: Attention = (...parts) => scaledDotProductAttention(...parts, { dropoutP: 0.25 });
    const run = (fn: Attention): Tensor => {
      manualSeed(9);
      return fn(...inputs);
    };
    expect(farthest(run(compile(dropped, { fullgraph: true })), run(dropped))).toBeLessThan(2e-6);
    expect(farthest(run(dropped), scaledDotProductAttention(...inputs))).toBeGreaterThan(0.01);
    const all = scaledDotProductAttention(...inputs, { dropoutP: 1 });
    expect(all.eq(0).all().item()).toBe(true);
    expect(() => scaledDotProductAttention(...inputs, { dropoutP: 1.5 })).toThrow(/probability/);
  });
});
