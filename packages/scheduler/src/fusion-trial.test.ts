// Fusion that a clock decides (`benchmarkFusion`, `benchmarkComboKernel`, `benchmarkEpilogueFusion`), with a clock that says what it is told.
import { describe, expect, test } from '@jest/globals';
import type { ConfigPatch } from '@tsinductor/config';
import { contiguousMeta, GraphBuilder, optimize, scalar } from '@tsinductor/graph';
import { int, verifySchedule } from '@tsinductor/ir';
import type { Schedule } from '@tsinductor/ir';
import { lowerGraph } from '@tsinductor/lowering';
import { schedule } from './index.ts';
import type { Measure } from './index.ts';
import { configOf, input } from './test-support/scheduled.ts';
import type { Build } from './test-support/scheduled.ts';

/** The same update of two parameters. */
const updates: Build = (b) =>
  [1000, 1500].map((size) => b.call('sub', [input(b, [size]), b.call('mul', [input(b, [size]), scalar(0.1)])]));

describe('measured fusion', () => {
  /** A schedule of a build, where what is one kernel takes `one`, or crashes, and several take 1 each; and how often it was asked. */
  const measured = (build: Build, patch: ConfigPatch, one?: number): { plan: Schedule; trials: number } => {
    let trials = 0;
    const b = new GraphBuilder({ expand: true });
    const results = build(b);
    b.output(...('kind' in results ? [results] : results));
    const measure: Measure = (plans) => {
      trials += 1;
      if (one === undefined) return { failure: 'it ended by SIGSEGV' };
      plans.forEach(verifySchedule);
      return { times: plans.map(({ groups }) => (groups.length === 1 ? one : groups.length)) };
    };
    const plan = schedule(lowerGraph(optimize(b.finish())), { config: configOf(patch), measure });
    verifySchedule(plan);
    return { plan, trials };
  };
  const said = ({ decisions }: Schedule, kind: 'fused' | 'rejected'): readonly string[] =>
    decisions.flatMap((it) => (it.kind === kind && it.reason.includes('measured') ? [it.reason] : []));
  const softmax: Build = (b) => b.call('softmax', [input(b, [8, 16])], { dim: -1 });

  test('benchmarkFusion keeps what is no slower as one kernel, and says both times', () => {
    const fast = measured(softmax, { benchmarkFusion: true }, 1).plan;
    expect(fast.groups).toHaveLength(1);
    expect(said(fast, 'fused')[0]).toMatch(/; measured 1\.00 ms as one kernel, 2\.00 ms apart$/);
    const slow = measured(softmax, { benchmarkFusion: true }, 3).plan;
    expect(slow.groups.length).toBeGreaterThan(1);
    expect(said(slow, 'rejected')[0]).toMatch(/measured 3\.00 ms as one kernel, 2\.00 ms apart$/);
  });

  test('benchmarkComboKernel does so for what is combined', () => {
    const patch = { benchmarkComboKernel: true };
    const fast = measured(updates, patch, 1).plan;
    expect([fast.groups.length, said(fast, 'fused').length]).toEqual([1, 1]);
    const slow = measured(updates, patch, 3).plan;
    expect([slow.groups.length, said(slow, 'rejected').length]).toEqual([2, 1]);
  });

  test('benchmarkEpilogueFusion does so for products under maxAutotuneGemm, unless two kernels are hardly faster', () => {
    const tail: Build = (b) => b.call('tanh', [b.call('matmul', [input(b, [8, 4]), input(b, [4, 6])])]);
    const groups = (one: number, patch = {}): number =>
      measured(tail, { maxAutotuneGemm: true, ...patch }, one).plan.groups.length;
    expect([groups(2.05), groups(3), groups(3, { benchmarkEpilogueFusion: false })]).toEqual([1, 2, 1]);
    expect([tail, softmax].map((build, not) => measured(build, { maxAutotuneGemm: not === 1 }, 3).trials)).toEqual([
      0, 0,
    ]);
  });

  test('what cannot be timed is one kernel, as without a clock, and it is said why', () => {
    const { plan } = measured(softmax, { benchmarkFusion: true });
    expect(plan.groups).toHaveLength(1);
    expect(said(plan, 'fused')[0]).toMatch(/; not measured: it ended by SIGSEGV$/);
  });

  test('nothing is measured unless a setting asks, nor where sizes are known at calls only', () => {
    const plain = measured(softmax, {}, 3);
    expect([plain.trials, plain.plan.groups.length]).toEqual([0, 1]);
    const symbolic: Build = (b) => {
      const x = b.placeholder('x', contiguousMeta([b.sizes.declare('s0', 8), int(16)], 'f32'));
      return b.call('softmax', [x], { dim: -1 });
    };
    const open = measured(symbolic, { benchmarkFusion: true }, 3);
    expect([open.trials, open.plan.groups.length]).toEqual([0, 1]);
  });
});
