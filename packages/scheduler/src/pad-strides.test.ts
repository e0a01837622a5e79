// Padded rows: which buffers get them, by which settings, and which stay dense with a reason. That padded schedules compute
// the same is tested on random graphs.
import { describe, expect, test } from '@jest/globals';
import { at } from '@tsinductor/base';
import type { ConfigPatch } from '@tsinductor/config';
import { contiguousMeta } from '@tsinductor/graph';
import type { GraphBuilder, ValueRef } from '@tsinductor/graph';
import { int, printDecision, printIndex } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { input, known, scheduled } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

const on: ConfigPatch = { disablePaddingCpu: false, maxFusionSize: 1 };

/** What is expensive and read twice is stored. */
const readTwice = (b: GraphBuilder, made: ValueRef): readonly ValueRef[] => [
  b.call('sin', [made]),
  b.call('sum', [made], { dim: [0], keepdim: false }),
];

/** Three kernels with an intermediate of this shape between them: one goes along its rows, one down its columns. */
const passing =
  (...shape: readonly number[]): Build =>
  (b) =>
    readTwice(b, b.call('exp', [input(b, shape)]));

/** The strides of the buffer that an operator made. */
function stridesOf({ program }: Schedule, operator: string): string {
  const decl = program.buffers.find(({ name }) => name.startsWith(`${operator}_`));
  return (decl?.strides ?? []).map((stride) => printIndex(stride)).join(' ');
}

const strides = (build: Build, patch: ConfigPatch): string => stridesOf(scheduled(build, { ...on, ...patch }), 'exp');
const told = (plan: Schedule): readonly string[] =>
  plan.decisions.filter(({ kind }) => kind === 'padded').map(printDecision);

describe('which rows are padded', () => {
  test.each([
    ['disablePaddingCpu: true', [16, 2049], { disablePaddingCpu: true }, '2049 1'],
    ['128 bytes', [16, 2049], {}, '2080 1'],
    ['paddingAlignmentBytes', [16, 2049], { paddingAlignmentBytes: 64 }, '2064 1'],
    ['comprehensivePadding: false', [16, 2049], { comprehensivePadding: false }, '2049 1'],
    ['rows that are aligned', [16, 2048], {}, '2048 1'],
    ['short rows', [16, 513], {}, '513 1'],
    ['paddingStrideThreshold', [16, 513], { paddingStrideThreshold: 320 }, '544 1'],
    ['strides of outer axes follow', [4, 3, 1030], {}, '3168 1056 1'],
    ['an outer stride alone', [4, 33, 33], {}, '1120 33 1'],
  ] as const)('%s', (...[, shape, patch, wanted]) => {
    expect(strides(passing(...shape), patch)).toBe(wanted);
  });

  test('the decision says what became of them, and the peak counts the padding', () => {
    const plan = scheduled(passing(16, 2049), on);
    expect(told(plan)).toEqual(['padded exp_1 to strides [2080, 1]: rows begin at multiples of 128 bytes']);
    expect(known(plan.statistics?.memory.peakAfter ?? int(0))).toBe(16 * 2080 * 4);
    expect(told(scheduled(passing(16, 2049), { maxFusionSize: 1 }))).toEqual([]);
  });

  test('what stays within one kernel is not padded', () => {
    expect(
      told(scheduled((b) => b.call('softmax', [input(b, [16, 2049])], { dim: -1 }), { disablePaddingCpu: false })),
    ).toEqual([]);
  });
});

test('padDynamicShapes: rows of symbolic length are rounded up', () => {
  const symbolic: Build = (b) => {
    const x = b.placeholder('x', contiguousMeta([int(16), b.sizes.declare('s0', 40)], 'f32'));
    return readTwice(b, b.call('exp', [x]));
  };
  expect(strides(symbolic, {})).toBe('s0 1');
  expect(strides(symbolic, { padDynamicShapes: true })).toBe('(s0 + 31) / 32 * 32 1');
});

test('padOutputs: results have padded strides only where they may', () => {
  const result: Build = (b) => b.call('exp', [input(b, [16, 2049])]);
  expect([strides(result, {}), strides(result, { padOutputs: true })]).toEqual(['2049 1', '2080 1']);
});

describe('accesses to padded rows', () => {
  test('loops over several rows are split, others are as before', () => {
    const loops = (patch: ConfigPatch): readonly string[] =>
      scheduled(passing(16, 2049), patch)
        .groups.slice(0, 2)
        .map(({ nest }) => nest.loops.map(({ axis }) => printIndex(axis.extent)).join(' '));
    expect(loops({ ...on, disablePaddingCpu: true })).toEqual(['32784', '32784']);
    expect(loops(on)).toEqual(['16 2049', '16 2049']);
  });

  test('an operand of a product is padded', () => {
    const product: Build = (b) => b.call('matmul', [b.call('exp', [input(b, [16, 2049])]), input(b, [2049, 8])]);
    const plan = scheduled(product, on);
    expect(stridesOf(plan, 'exp')).toBe('2080 1');
    expect(
      plan.groups.flatMap(({ nodes }) =>
        nodes.flatMap((node) => (node.kind === 'contract' ? [printIndex(node.a.at)] : [])),
      ),
    ).toEqual([expect.stringContaining('i * 2080')]);
  });

  test('what is read across the ends of rows stays dense, and says so', () => {
    const shifted: Build = (b) => {
      const made = b.call('exp', [input(b, [16, 2049])]);
      const flat = b.call('reshape', [made], { shape: [16 * 2049] });
      const next = b.call('slice', [flat], { dim: 0, start: 1, end: 16 * 2049, step: 1 });
      return [...readTwice(b, made), b.call('cos', [next])];
    };
    const plan = scheduled(shifted, on);
    expect(stridesOf(plan, 'exp')).toBe('2049 1');
    expect(at(told(plan), 0)).toBe('not padded exp_1 to strides [2080, 1]: it is read across the ends of its rows');
  });

  test('what a scatter starts from stays dense', () => {
    const scattered: Build = (b) => {
      const start = b.call('exp', [input(b, [16, 2049])]);
      const index = input(b, [4], 'i64');
      return b.call('indexAdd', [start, index, input(b, [4, 2049])], { dim: 0 });
    };
    expect(told(scheduled(scattered, on)).map((text) => text.split(': ')[1])).toEqual([
      'a scatter works on all of its elements',
    ]);
  });
});
