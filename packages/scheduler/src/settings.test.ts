// What each setting of the scheduler does, seen in the schedule.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { ConfigPatch, Hook } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder, optimize, scalar } from '@tsinductor/graph';
import type { ValueRef } from '@tsinductor/graph';
import { printSchedule, sizeSymbol } from '@tsinductor/ir';
import type { Group, LoopNode, LoopProgram, Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { defaultChoices } from './choices.ts';
import type { Choices } from './choices.ts';
import { schedule } from './index.ts';
import { configOf, input, scheduled, sketches } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const kernels = (build: Build, patch: ConfigPatch = {}): number => scheduled(build, patch).groups.length;

const unary = (b: GraphBuilder, target: string, x: ValueRef): ValueRef => b.call(target, [x]);

const twoMaps: Build = (b) => [unary(b, 'exp', input(b, [64, 8])), unary(b, 'sin', input(b, [64, 8]))];

/** The same update of a parameter of each size. */
const updates =
  (...sizes: readonly number[]): Build =>
  (b) =>
    sizes.map((size) => b.call('sub', [input(b, [size]), b.call('mul', [input(b, [size]), scalar(0.1)])]));

/** A result, and what another result makes of it. */
const following =
  (follow: (b: GraphBuilder, x: ValueRef) => ValueRef): Build =>
  (b) => {
    const first = unary(b, 'exp', input(b, [4, 6]));
    return [first, follow(b, first)];
  };

const outputsOfOne =
  (count: number): Build =>
  (b) => {
    const x = input(b, [64]);
    return Array.from({ length: count }, (_, index) => b.call('tanh', [b.call('add', [x, scalar(index + 1)])]));
  };

const sumOf =
  (count: number): Build =>
  (b) =>
    Array.from({ length: count }, () => input(b, [64])).reduce((sum, x) => b.call('add', [sum, x]));

/** Each row: the kernels by default, and those under a patch. */
interface Row {
  readonly name: string;
  readonly build: Build;
  readonly kernels: number;
  readonly patch: ConfigPatch;
  readonly patched: number;
}

type Cells = readonly [string, Build, number, ConfigPatch, number];

const rows = (
  [
    ['aggressiveFusion joins maps of equal loops', twoMaps, 2, { aggressiveFusion: true }, 1],
    ['comboKernels joins what is independent', twoMaps, 2, { comboKernels: true }, 1],
    [
      'scoreFusionMemoryThreshold: 0 joins those that share a scalar',
      (b) => {
        const scale = input(b, []);
        return [b.call('mul', [input(b, [64, 8]), scale]), b.call('add', [input(b, [64, 8]), scale])];
      },
      2,
      { scoreFusionMemoryThreshold: 0 },
      1,
    ],
    ['comboKernelAllowMixedSizes: 0 keeps sizes apart', updates(1000, 1500), 1, { comboKernelAllowMixedSizes: 0 }, 2],
    [
      'comboKernelMaxNumArgs divides large combinations',
      updates(...Array.from({ length: 200 }, (_, k) => 10 + k)),
      3,
      { comboKernelMaxNumArgs: 60 },
      10,
    ],
    [
      'cpp.maxHorizontalFusionSize: pairs of outputs',
      outputsOfOne(20),
      2,
      { 'cpp.maxHorizontalFusionSize': 2, comboKernelMaxNumArgs: 1 },
      10,
    ],
    [
      'loopOrderingAfterFusion: a transposed follower',
      following((b, x) => b.call('add', [b.call('permute', [x], { dims: [1, 0] }), scalar(1)])),
      1,
      { loopOrderingAfterFusion: false },
      2,
    ],
    [
      'loopIndexInversionInFusion: a follower that shuffles',
      following((b, x) =>
        b.call('add', [
          b.call('permute', [b.call('reshape', [x], { shape: [4, 2, 3] })], { dims: [0, 2, 1] }),
          scalar(1),
        ]),
      ),
      1,
      { loopIndexInversionInFusion: false },
      2,
    ],
    [
      'maxFusionUniqueIoBuffers: a norm with weight and bias takes four',
      (b) => b.call('layerNorm', [input(b, [8, 16]), input(b, [16]), input(b, [16])], { normalizedShape: [16] }),
      1,
      { maxFusionUniqueIoBuffers: 3 },
      2,
    ],
    [
      'maxFusionSize: two nodes at a time',
      (b) => b.call('softmax', [input(b, [8, 16])], { dim: -1 }),
      1,
      { maxFusionSize: 2 },
      3,
    ],
    [
      'epilogueFusion: what follows a product',
      (b) => b.call('relu', [b.call('matmul', [input(b, [8, 8]), input(b, [8, 8])])]),
      1,
      { epilogueFusion: false },
      2,
    ],
    [
      'triton.tilingPreventsPointwiseFusion: a transposed and a plain reader',
      (b) => {
        const x = input(b, [60, 50]);
        return [b.call('neg', [x]), b.call('add', [b.call('permute', [x], { dims: [1, 0] }), scalar(1)])];
      },
      1,
      { 'triton.tilingPreventsPointwiseFusion': true },
      2,
    ],
    [
      'comboKernelForeachDynamicShapes: updates of symbolic sizes',
      (b) =>
        ['s0', 's1'].map((name) => {
          const x = b.placeholder(name, contiguousMeta([sizeSymbol(name, 2, 1000)], 'f32'));
          return b.call('mul', [x, scalar(0.5)]);
        }),
      1,
      { comboKernelForeachDynamicShapes: false },
      2,
    ],
    [
      'prologueFusion: a cast and a scale of an operand',
      (b) => b.call('matmul', [input(b, [8, 9]), b.call('mul', [input(b, [9, 7]), input(b, [7])])]),
      1,
      { prologueFusion: false },
      2,
    ],
    [
      'triton.tilingPreventsReductionFusion: maps that would walk down columns',
      (b) => {
        const x = input(b, [600, 64]);
        return b.call('sub', [x, b.call('mean', [x], { dim: [0], keepdim: true })]);
      },
      2,
      { 'triton.tilingPreventsReductionFusion': false },
      1,
    ],
  ] as readonly Cells[]
).map(([name, build, byDefault, patch, patched]): Row => ({ name, build, kernels: byDefault, patch, patched }));

test.each(rows)('$name', ({ build, kernels: byDefault, patch, patched }) => {
  expect([kernels(build), kernels(build, patch)]).toEqual([byDefault, patched]);
});

describe('limits', () => {
  test('a buffer with many readers: the pairs tried grow with the limit, not with their square', () => {
    const pairs = (limit: number): number =>
      scheduled(outputsOfOne(100), { maxFusionBufferGroupPairwiseAttempts: limit, 'cpp.maxHorizontalFusionSize': 1 })
        .statistics?.pairs ?? 0;
    expect(pairs(4)).toBeLessThanOrEqual(100 * 4);
    const open = scheduled(outputsOfOne(100), { maxFusionBufferGroupPairwiseAttempts: 4 });
    expect(open.statistics?.pairs).toBeLessThanOrEqual(2 * 100 * 4);
    expect(open.statistics?.pairs).toBeGreaterThan(0);
  });

  test('a refusal says which limit', () => {
    const norm: Build = (b) =>
      b.call('layerNorm', [input(b, [8, 16]), input(b, [16]), input(b, [16])], { normalizedShape: [16] });
    expect(printSchedule(scheduled(norm, { maxFusionUniqueIoBuffers: 3 }))).toMatch(/more than 3 buffers/);
  });
});

describe('values that have gathered much', () => {
  const gathered = (plan: Schedule): readonly string[] =>
    plan.decisions.flatMap((decision) =>
      decision.kind === 'rejected' && decision.reason.includes('gathered') ? [decision.reason] : [],
    );

  test('realizeAccReadsThreshold stores after so many buffers', () => {
    expect(gathered(scheduled(sumOf(12)))).toHaveLength(1);
    expect(gathered(scheduled(sumOf(12), { realizeAccReadsThreshold: 20 }))).toEqual([]);
    expect(sketches(scheduled(sumOf(12)))).toEqual(['64(add add)']);
  });

  test('realizeAccReadsSizeThreshold stores after so many bytes', () => {
    expect(gathered(scheduled(sumOf(4), { realizeAccReadsSizeThreshold: 600 }))).not.toEqual([]);
    expect(gathered(scheduled(sumOf(4)))).toEqual([]);
  });
});

test('kernelNameMaxOps bounds the operators in a name, and names stay apart', () => {
  const chain: Build = (b) => ['sin', 'cos', 'tanh', 'neg'].reduce((x, target) => unary(b, target, x), input(b, [8]));
  expect(at(scheduled(chain).groups, 0).name).toBe('fused_tanh_cos_sin_neg');
  expect(at(scheduled(chain, { kernelNameMaxOps: 2 }).groups, 0).name).toBe('fused_tanh_cos');
});

test('pickLoopOrders: the loops of a group follow the order of memory of most of its accesses', () => {
  const both: Build = (b) => {
    const x = input(b, [6, 4]);
    const turned = b.call('permute', [x], { dims: [1, 0] });
    return [unary(b, 'exp', x), unary(b, 'sin', x), unary(b, 'tanh', turned)];
  };
  expect(sketches(scheduled(both))).toEqual(['6 4(exp sin tanh)']);
  expect(sketches(scheduled(both, { pickLoopOrders: false }))).toEqual(['4 6(exp sin tanh)']);
});

test('dce: a loop that nobody reads makes no kernel', () => {
  const b = new GraphBuilder({ expand: true });
  b.output(unary(b, 'exp', input(b, [8])), unary(b, 'sin', input(b, [8])));
  const { outputs, buffers, ...rest } = lowerGraph(optimize(b.finish()));
  const unread: LoopProgram = {
    ...rest,
    outputs: outputs.slice(0, 1),
    buffers: buffers.map((buffer) => (buffer.id === outputs[1] ? { ...buffer, role: 'temporary' } : buffer)),
  };
  const count = (dce: boolean): number => schedule(unread, { config: configOf({ dce }) }).groups.length;
  expect([count(false), count(true)]).toEqual([2, 1]);
});

test('epilogueFusionFirst: what follows a product goes to it, and not to what else it reads', () => {
  const both: Build = (b) => {
    const product = b.call('matmul', [input(b, [16, 8]), input(b, [8, 24])]);
    const wide = b.call('exp', [input(b, [16, 24], 'f64')]);
    const total = b.call('sum', [wide], { dim: [1], keepdim: false });
    return [b.call('add', [product, b.call('cast', [wide], { dtype: { dtype: 'f32' } })]), wide, total];
  };
  expect(sketches(scheduled(both))).toEqual(['16 24 8r(bmm)', '16 24r(exp sum add)']);
  expect(sketches(scheduled(both, { epilogueFusionFirst: true }))).toEqual(['16 24r(exp sum)', '16 24(8r(bmm) add)']);
});

describe('custom passes', () => {
  const pair: Build = (b) => [unary(b, 'exp', input(b, [64])), unary(b, 'sin', input(b, [32]))];
  const hook = (run: (given: never) => unknown): Hook => ({ key: 'test', run });
  const refused = (patch: ConfigPatch): unknown => {
    try {
      return scheduled(pair, patch);
    } catch (error) {
      return error;
    }
  };

  test('preFusionCustomPass reorders what is fused, and edits it', () => {
    const seen: number[] = [];
    const turned = hook((nodes: readonly LoopNode[]) => {
      seen.push(nodes.length);
      return nodes.toReversed();
    });
    expect(sketches(scheduled(pair))).toEqual(['64(exp)', '32(sin)']);
    expect(sketches(scheduled(pair, { preFusionCustomPass: turned }))).toEqual(['32(sin)', '64(exp)']);
    expect(seen).toEqual([2]);
  });

  test('postFusionCustomPass sees groups, and says in which order they run', () => {
    const softmax: Build = (b) => [
      b.call('softmax', [input(b, [8, 16])], { dim: -1 }),
      unary(b, 'sin', input(b, [32])),
    ];
    const sizes: number[] = [];
    const turned = hook((groups: readonly Group[]) => {
      sizes.push(...groups.map(({ nodes }) => nodes.length));
      return groups.toReversed();
    });
    const plan = scheduled(softmax, { postFusionCustomPass: turned });
    expect(plan.groups.map(({ id, nodes }) => [id, nodes.length])).toEqual([
      [0, 1],
      [1, at(sizes, 0)],
    ]);
    expect(at(sizes, 0)).toBeGreaterThan(1);
  });

  test('inductorChoicesClass replaces some of the choices', () => {
    const shared: Build = (b) => {
      const x = input(b, [64]);
      return [unary(b, 'exp', x), unary(b, 'sin', x)];
    };
    const choices = hook((defaults: Choices): Partial<Choices> => ({
      ...defaults,
      refuseSiblings: () => 'never',
      refuseCombination: () => 'never',
    }));
    expect([kernels(shared), kernels(shared, { inductorChoicesClass: choices })]).toEqual([1, 2]);
  });

  test('an order that breaks dependences, and what is no list or no choices, is refused by name', () => {
    const chained: Build = (b) => {
      const x = unary(b, 'exp', input(b, [64]));
      return [x, b.call('sum', [x], { dim: [0], keepdim: false }), unary(b, 'sin', input(b, [32]))];
    };
    const backwards = hook((nodes: readonly LoopNode[]) => nodes.toReversed());
    expect(() => scheduled(chained, { preFusionCustomPass: backwards })).toThrow(
      expect.objectContaining({ code: 'CUSTOM_PASS' }),
    );
    expect(() => scheduled(chained, { maxFusionSize: 1, postFusionCustomPass: backwards })).toThrow(
      /_post_fusion_custom_pass: sum would run before/,
    );
    const bad = [
      { preFusionCustomPass: hook(() => undefined) },
      { preFusionCustomPass: hook((nodes: readonly LoopNode[]) => nodes.slice(1)) },
      { postFusionCustomPass: hook((groups: readonly Group[]) => groups.slice(1)) },
      { inductorChoicesClass: hook(() => 1) },
      { inductorChoicesClass: hook(() => ({ refuseAll: () => 'never' })) },
    ];
    expect(bad.map((patch) => (refused(patch) as { code?: string }).code)).toEqual([
      'CUSTOM_PASS',
      'CUSTOM_PASS',
      'CUSTOM_PASS',
      'CUSTOM_CHOICES',
      'CUSTOM_CHOICES',
    ]);
  });
});

test('other choices make other schedules, and never wrong ones', () => {
  const b = new GraphBuilder({ expand: true });
  const x = input(b, [64]);
  b.output(unary(b, 'exp', x), unary(b, 'sin', x));
  const program = lowerGraph(optimize(b.finish()));
  const config = configOf();
  const apart = {
    ...defaultChoices(config),
    name: 'apart',
    refuseSiblings: () => 'never',
    refuseCombination: () => 'never',
  };
  expect(schedule(program, { config }).groups).toHaveLength(1);
  expect(schedule(program, { config, choices: apart }).groups).toHaveLength(2);
});
