// The effects of the settings of graph passes, seen in what passes did, in the graph of a stage, and in results.
import { expect } from '@jest/globals';
import { cat, graphPass, nn, ones, randn, replacement, slice, stack, tensor } from 'tsinductor';
import type { Graph, Tensor } from 'tsinductor';
import { compiledWith, reportOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

type Program = (...inputs: Tensor[]) => unknown;

/** What rules did, by name. */
function rewritten(fn: Program, inputs: readonly Tensor[], options: Options): readonly string[] {
  const { decisions } = reportOf(fn, inputs, { fxPassesNumericCheck: 1e-4, ...options });
  return decisions.flatMap((one) => (one.kind === 'rewritten' ? [one.rule] : []));
}

/** How often operators stand in the graph of primitives when it is simplified. */
function simplified(fn: Program, inputs: readonly Tensor[], options: Options): (target: string) => number {
  const text = reportOf(fn, inputs, options).showStage?.('remove-dead-again') ?? '';
  return (target) => text.split(` = ${target}(`).length - 1;
}

const x = randn([4, 6]);
const three = [0, 1, 2].map(() => randn([5, 6]));

const towers = (input: Tensor, ...weights: Tensor[]): Tensor =>
  weights.reduce((sum, w, position) => sum.add(nn.functional.linear(input.mul(position + 1), w).tanh()), input.sum());
const heads = (input: Tensor, ...weights: Tensor[]): Tensor[] => weights.map((w) => nn.functional.linear(input, w));

const doubling = graphPass('doubling', [
  replacement('doubled sine', {
    like: [{ shape: [2] }],
    search: (t: Tensor) => t.sin(),
    replace: (t: Tensor) => t.sin().mul(2),
  }),
]);
const sine = (input: Tensor): Tensor => input.sin();
const isDoubled = (options: Options): boolean => (compiledWith(sine, options)(ones([1])).item() as number) > 1;

const image = randn([1, 3, 6, 6]);
const kernel = randn([4, 3, 3, 3]);
const [mean, variance] = [randn([4]), randn([4]).square().add(0.5)];
const normalised = (input: Tensor, over = variance): Tensor =>
  nn.functional.batchNorm(nn.functional.conv2d(input, kernel), mean, over);
const scaled = (input: Tensor): Tensor => nn.functional.linear(input, at(three, 0)).mul(2).add(1);

const classes = tensor([1, 0, 3], { dtype: 'i64' });
const oneHot = (index: Tensor): Tensor => nn.functional.oneHot(index, 5).mul(3);

/** What became of products of uneven rows. */
const paddings = (fn: Program, inputs: readonly Tensor[], options: Options): readonly string[] =>
  reportOf(fn, inputs, options).decisions.flatMap((one) =>
    one.kind === 'padded' || one.kind === 'rewritten' ? [one.reason] : [],
  );
const times = (a: Tensor, b: Tensor): Tensor => a.matmul(b);
/** Operators of the late graph. */
function lateOf(fn: Program, inputs: readonly Tensor[], options: Options): readonly string[] {
  const text = reportOf(fn, inputs, options).showStage?.('pad-products') ?? '';
  const targets = [...text.matchAll(/ = (\w+)\(/g)].map(([, target]) => target ?? '');
  return targets.filter((target) => target !== 'placeholder');
}
/** How far apart two results are at most. */
const apart = (a: Tensor, b: Tensor): number => a.sub(b).abs().amax().item() as number;

function at<T>(list: readonly T[], position: number): T {
  const item = list[position];
  if (item === undefined) throw new RangeError(`no item ${String(position)}`);
  return item;
}

export const graphPassEffects = {
  patternMatcher: () => {
    expect(rewritten(oneHot, [classes], {})).toEqual(['select-for-scatter']);
    expect(rewritten(oneHot, [classes], { patternMatcher: false })).toEqual([]);
    expect(rewritten(sine, [x], { preGradCustomPass: doubling, patternMatcher: false })).toEqual([]);
  },
  usePreGradPasses: () => {
    const options = { preGradFusionOptions: ['batch_linear'] };
    expect(rewritten(towers, [x, ...three], options)).toEqual(['batch_linear']);
    expect(rewritten(towers, [x, ...three], { ...options, usePreGradPasses: false })).toEqual([]);
  },
  preGradCustomPass: () => {
    expect(isDoubled({})).toBe(false);
    expect(isDoubled({ preGradCustomPass: doubling })).toBe(true);
    expect(isDoubled({ preGradCustomPass: doubling, usePreGradPasses: false })).toBe(false);
  },
  preGradFusionOptions: () => {
    const each = (option: string, fn: Program, ...inputs: readonly Tensor[]): void => {
      expect(rewritten(fn, inputs, {})).toEqual([]);
      expect(rewritten(fn, inputs, { preGradFusionOptions: [option] })).toEqual([option.replace(/:.*/, '')]);
    };
    each('batch_linear', towers, x, ...three);
    each('batch_linear:3', towers, x, ...three);
    expect(rewritten(towers, [x, ...three], { preGradFusionOptions: ['batch_linear:4'] })).toEqual([]);
    each('batch_linear_lhs', heads, x, ...three);
    each('batch_tanh', towers, x, ...three);
    each('batch_relu', (...pair) => pair.map((t) => t.relu()), x, x.neg());
    each('batch_sigmoid', (...pair) => pair.map((t) => t.sigmoid()), x, x.neg());
    each(
      'batch_layernorm',
      (a, b, w) => [a, b].map((t) => nn.functional.layerNorm(t, [6], w, w)),
      x,
      x.neg(),
      randn([6]),
    );
    each('split_cat', (a) => cat(a.split(2, 1), 1).add(1), x);
    each('unbind_stack', (a) => stack(a.unbind(1), -1).add(1), x);
    // Of other shapes or dtypes than the calls alone, there is no one call.
    const none = (option: string, fn: Program, ...inputs: readonly Tensor[]): void => {
      expect(rewritten(fn, inputs, { preGradFusionOptions: [option] })).toEqual([]);
    };
    const [rows, weight] = [randn([3, 1, 6]), randn([5, 6])];
    for (const bias of [randn([3, 5]), randn([3, 4, 5])])
      none('batch_linear', (...own) => own.map((b) => nn.functional.linear(rows, weight, b)), bias, bias.neg());
    none(
      'batch_linear_lhs',
      (...own) => own.map((b) => nn.functional.linear(x, randn([1, 6]), b)),
      randn([3]),
      randn([3]),
    );
    const [half, full] = [randn([4, 6]).to('f16'), randn([6])];
    none('batch_layernorm', (...own) => own.map((t) => nn.functional.layerNorm(t, [6], full, full)), half, half.neg());
    none('split_cat:4', (a) => cat(a.split(2, 1), 1).add(1), x);
    // In their order: once layers are one, so are their activations.
    expect(rewritten(towers, [x, ...three], { preGradFusionOptions: ['batch_tanh', 'batch_linear'] })).toEqual([
      'batch_tanh',
      'batch_linear',
    ]);
    expect(() => rewritten(towers, [x, ...three], { preGradFusionOptions: ['batch_nothing'] })).toThrow(
      /batch_linear_lhs/,
    );
  },
  addPreGradPasses: () => {
    expect(rewritten(towers, [x, ...three], { addPreGradPasses: ['batch_linear'] })).toEqual(['batch_linear']);
    expect(() => rewritten(towers, [x, ...three], { addPreGradPasses: ['nothing'] })).toThrow(/batch_linear_lhs/);
  },
  removePreGradPasses: () => {
    const options = { preGradFusionOptions: ['batch_tanh', 'batch_linear'], removePreGradPasses: ['batch_tanh'] };
    expect(rewritten(towers, [x, ...three], options)).toEqual(['batch_linear']);
  },
  efficientConvBnEvalFxPasses: () => {
    expect(rewritten(normalised, [image], {})).toEqual([]);
    expect(rewritten(normalised, [image], { efficientConvBnEvalFxPasses: true })).toEqual(['conv_bn']);
    // Channels of an image without a batch are not those that are normalised.
    expect(rewritten(normalised, [image.at(0)], { efficientConvBnEvalFxPasses: true })).toEqual([]);
    // Freezing does so where all of the weight and the statistics is frozen.
    expect(rewritten(normalised, [image], { freezing: true })).toEqual(['conv_bn']);
    expect(rewritten(normalised, [image, ones([4])], { freezing: true })).toEqual([]);
  },
  enableLinearBinaryFolding: () => {
    const options = { enableLinearBinaryFolding: true };
    expect(rewritten(scaled, [x], options)).toEqual([]);
    // The product, and then what is added to it.
    expect(rewritten(scaled, [x], { ...options, freezing: true })).toEqual(['linear_binary', 'linear_binary']);
    // A weight of one axis has no axis of outputs.
    const vector = randn([6]);
    const dot = (input: Tensor): Tensor => nn.functional.linear(input, vector).mul(vector.at(slice(0, 4)));
    expect(rewritten(dot, [x], { ...options, freezing: true })).toEqual([]);
  },
  useJointGraphPasses: () => {
    const fn = (a: Tensor): Tensor =>
      a
        .t()
        .t()
        .add(ones([4, 6]).mul(2));
    const calls = (options: Options): ReturnType<typeof simplified> => simplified(fn, [x], options);
    expect(calls({})('permute')).toBe(0);
    expect(calls({ useJointGraphPasses: false })('permute')).toBe(2);
  },
  jointGraphConstantFolding: () => {
    const fn = (a: Tensor): Tensor =>
      a
        .t()
        .t()
        .add(ones([4, 6]).mul(2));
    const calls = (options: Options): ReturnType<typeof simplified> => simplified(fn, [x], options);
    expect(calls({})('mul')).toBe(0);
    const unfolded = calls({ jointGraphConstantFolding: false });
    expect([unfolded('mul'), unfolded('permute')]).toEqual([1, 0]);
  },
  useDce: () => {
    const fn = (a: Tensor): Tensor => {
      a.exp();
      return a.add(1);
    };
    const calls = (options: Options): ReturnType<typeof simplified> => simplified(fn, [x], options);
    expect(calls({})('exp')).toBe(0);
    expect(calls({ useDce: false })('exp')).toBe(1);
  },
  usePostGradPasses: () => {
    expect(rewritten(oneHot, [classes], { usePostGradPasses: false })).toEqual([]);
    expect(isDoubled({ postGradCustomPrePass: doubling, usePostGradPasses: false })).toBe(false);
  },
  postGradCustomPrePass: () => {
    expect(isDoubled({ postGradCustomPrePass: doubling })).toBe(true);
    expect(targetsSeen('postGradCustomPrePass')).toContain('scatter');
  },
  postGradCustomPostPass: () => {
    expect(isDoubled({ postGradCustomPostPass: doubling })).toBe(true);
    expect(targetsSeen('postGradCustomPostPass')).not.toContain('scatter');
  },
  postGradFusionOptions: () => {
    const six = [0, 1, 2, 3, 4, 5];
    const inputs = [randn([5, 6]), ...six.map(() => randn([6, 7])), ...six.map(() => randn([7]))];
    const layers = (input: Tensor, ...given: Tensor[]): Tensor[] =>
      given.slice(0, 6).map((w, position) =>
        input
          .matmul(w)
          .add(at(given, position + 6))
          .mul(2)
          .tanh(),
      );
    const options = ['batch_linear_post_grad', 'batch_aten_add', 'batch_aten_mul', 'batch_aten_tanh'];
    const calls = (postGradFusionOptions: readonly string[]): readonly string[] =>
      lateOf(layers, inputs, { postGradFusionOptions });
    expect(rewritten(layers, inputs, { postGradFusionOptions: options })).toEqual(options);
    // Six of each are one, and what is between them is not taken apart.
    expect(calls(options).filter((target) => !['reshape', 'slice', 'cat', 'expand'].includes(target))).toEqual([
      'bmm',
      'add',
      'mul',
      'tanh',
    ]);
    expect(calls([]).length).toBeGreaterThan(calls(options).length);
    const plain = layers(...(inputs as [Tensor, ...Tensor[]]));
    const batched = compiledWith(layers, { postGradFusionOptions: options })(...(inputs as [Tensor, ...Tensor[]]));
    expect(batched.every((tensor, position) => apart(tensor, at(plain, position)) < 1e-5)).toBe(true);
    // The order of the options is that of the passes; each has its least number of calls.
    const turned = ['batch_aten_tanh', 'batch_linear_post_grad:6', 'batch_aten_add:7'];
    expect(rewritten(layers, inputs, { postGradFusionOptions: turned })).toEqual([
      'batch_aten_tanh',
      'batch_linear_post_grad',
    ]);
    expect(rewritten(layers, inputs, { postGradFusionOptions: turned, usePostGradPasses: false })).toEqual([]);
    const each = (option: string, fn: (t: Tensor) => Tensor): void => {
      const both = (a: Tensor, b: Tensor): Tensor[] => [a, b].map(fn);
      expect(rewritten(both, [x, x.neg()], { postGradFusionOptions: [option] })).toEqual([option]);
    };
    each('batch_aten_sigmoid', (t) => t.sigmoid());
    each('batch_aten_relu', (t) => t.relu());
    each('batch_aten_sub', (t) => t.sub(x.at(0)));
    each('batch_aten_div', (t) => t.div(t.amax(1, true)));
    // Of other shapes there is no one call; batches are joined along their axis.
    const none = (a: Tensor, b: Tensor): Tensor[] => [a.tanh(), b.tanh()];
    expect(rewritten(none, [x, randn([6, 4])], { postGradFusionOptions: ['batch_aten_tanh'] })).toEqual([]);
    const [left, right] = [randn([3, 4, 5]), randn([3, 5, 2])];
    const twice = (a: Tensor, b: Tensor): Tensor[] => [a.matmul(b), a.neg().matmul(b)];
    const [first = left, second = left] = compiledWith(twice, { postGradFusionOptions: ['batch_linear_post_grad'] })(
      left,
      right,
    );
    expect([apart(first, left.matmul(right)), apart(second, first.neg())].every((error) => error < 1e-5)).toBe(true);
    expect(() => rewritten(layers, inputs, { postGradFusionOptions: ['batch_tanh'] })).toThrow(/batch_aten_/);
  },
  shapePadding: () => {
    const [a, b] = [randn([33, 27]).to('bf16'), randn([27, 45]).to('bf16')];
    expect(paddings(times, [a, b], {})).toEqual([expect.stringMatching(/^processors mask/)]);
    expect(paddings(times, [a, b], { shapePadding: false })).toEqual([]);
    expect(paddings(times, [a, b], { usePostGradPasses: false })).toEqual([]);
    // Rows of 16 bytes are even.
    expect(paddings(times, [randn([33, 8]).to('bf16'), randn([8, 16]).to('bf16')], {})).toEqual([]);
    const asked = { maxAutotuneGemm: true, maxAutotuneReportChoicesStats: false };
    expect(paddings(times, [randn([9, 9]), randn([9, 9])], asked)).toEqual([
      expect.stringMatching(/^it reads as much/),
    ]);
    const large = [randn([97, 97]), randn([97, 97])];
    expect(paddings(times, large, asked)).toEqual([
      expect.stringMatching(/^measured [0-9.e-]+ ms padded, [0-9.e-]+ ms/),
    ]);
    expect(paddings(times, large, { ...asked, ciFlag: 'CIRCLECI' })).toEqual([expect.stringMatching(/^processors/)]);
  },
  forceShapePad: () => {
    const options = {
      forceShapePad: true,
      shapePadding: false,
      maxAutotuneGemm: true,
      maxAutotuneReportChoicesStats: false,
    };
    const each = (fn: (a: Tensor, b: Tensor) => Tensor, a: Tensor, b: Tensor): readonly string[] => {
      const padded = compiledWith(fn, options)(a, b);
      expect(apart(padded, fn(a, b))).toBeLessThan(a.dtype === 'f32' ? 1e-4 : 1e-1);
      expect(padded.isContiguous()).toBe(true);
      expect(paddings(fn, [a, b], options)).toEqual(['forceShapePad']);
      return lateOf(fn, [a, b], options).filter((target) => target !== 'reshape');
    };
    const [a, b] = [randn([33, 27]), randn([27, 45])];
    expect(each(times, a, b)).toEqual(['pad', 'pad', 'bmm', 'slice', 'cast']);
    expect(each(times, a.to('bf16'), b.to('bf16'))).toEqual(['pad', 'pad', 'bmm', 'slice', 'cast']);
    expect(each((one, two) => one.matmul(two).add(two.at(0)), a, b)).toContain('pad');
    expect(each((one, two) => one.t().matmul(two.t()), randn([27, 33]), randn([45, 27]))).toContain('pad');
    // Rows of both run along what is summed over.
    expect(each(nn.functional.linear, a, randn([45, 27]))).toEqual(['permute', 'pad', 'pad', 'bmm']);
    expect(each(times, randn([3, 5, 7]), randn([3, 7, 9]))).toEqual(['pad', 'pad', 'bmm', 'slice', 'cast']);
    expect(rewritten(times, [randn([4, 8]), randn([8, 4])], options)).toEqual([]);
    // Of sizes that a call says, rows have none.
    const dynamic = { ...options, dynamic: true };
    const wide = [randn([5, 8]), randn([8, 12])] as const;
    expect(paddings((one, two) => one.matmul(two.detach()), wide, dynamic)).toEqual([
      expect.stringMatching(/^its rows are as long as each call says/),
    ]);
    const image = (input: Tensor): Tensor => nn.functional.conv2d(input, randn([4, 3, 3, 3]));
    expect(paddings(image, [randn([1, 3, 7, 7])], options)).toEqual([
      expect.stringMatching(/^an operand is read in windows/),
    ]);
  },
  optimizeScatterUponConstTensor: () => {
    const kernels = (options: Options): number => reportOf(oneHot, [classes], options).kernels.length;
    expect(kernels({})).toBe(1);
    expect(kernels({ optimizeScatterUponConstTensor: false })).toBeGreaterThan(1);
    const wrong = compiledWith(oneHot, {});
    expect(() => wrong(tensor([1, 5], { dtype: 'i64' }))).toThrow(
      /oneHot: index 5 of dim 1 is out of range for a size of 5/,
    );
  },
  fxPassesNumericCheck: () => {
    const options = { preGradCustomPass: doubling };
    expect(() => compiledWith(sine, { ...options, fxPassesNumericCheck: 1e-4 })(x)).toThrow(
      /preGradCustomPass: output 0 differs by 1.00 after the pass/,
    );
    expect(() => compiledWith(sine, { ...options, fxPassesNumericCheck: 2 })(x)).not.toThrow();
  },
} satisfies Record<string, Effect>;

/** The operators of a graph that a pass of ours rewrites, as the program's own pass sees them. */
function targetsSeen(setting: string): readonly string[] {
  let seen: readonly string[] = [];
  const run = (graph: Graph): Graph => {
    seen = graph.nodes.flatMap((node) => (node.kind === 'call' ? [node.target] : []));
    return graph;
  };
  reportOf(oneHot, [classes], { [setting]: { key: `looking at ${setting}`, run } });
  return seen;
}
