// The effects of the settings of training steps, seen in what a step takes, in decisions and in gradients.
import { expect } from '@jest/globals';
import { ones, randn, valueAndGrad } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { reportOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

/** Four layers with an expensive activation, and the gradients of their weights. */
const deep = (x: Tensor, ...weights: readonly Tensor[]): readonly Tensor[] => {
  const lossOf = (layers: readonly Tensor[]): Tensor =>
    layers
      .reduce((h, w) => h.matmul(w).gelu(), x)
      .square()
      .mean();
  const [loss, gradients] = valueAndGrad(lossOf)([...weights]);
  return [loss, ...gradients];
};
const inputs: readonly Tensor[] = [randn([256, 32]), ...Array.from({ length: 4 }, () => randn([32, 32]))];
const workspace = (options: Options): number => reportOf(deep, inputs, options).workspaceBytes ?? 0;

/** Four values that are large, made of little, and needed by the backward pass. */
const large =
  (make: (h: Tensor, b: Tensor) => Tensor) =>
  (a: Tensor, b: Tensor): readonly Tensor[] =>
    valueAndGrad((w: Tensor) => [1, 2, 3, 4].reduce((h) => make(h, b).sin().mean(1, true), w).sum())(a);
const vectors = [randn([128, 1]), randn([1, 128])] as const;

/** The plan that is taken under the least budget, and what it computes again. */
function againBy(make: (h: Tensor, b: Tensor) => Tensor, options: Options): { plan: string; again: string } {
  const { decisions } = reportOf(large(make), vectors, { activationMemoryBudget: 0, ...options });
  const plan = decisions.find((decision) => decision.kind === 'partition' && decision.isChosen);
  const again = decisions.flatMap((decision) => (decision.kind === 'recomputed' ? [decision.value] : []));
  return { plan: plan?.kind === 'partition' ? plan.plan : '', again: again.join() };
}

export const trainingEffects = {
  activationMemoryBudget: () => {
    expect(workspace({ activationMemoryBudget: 0 })).toBeLessThan(0.7 * workspace({}));
  },
  activationMemoryLimit: () => {
    const bytes = inputs.reduce((sum, { numel }) => sum + 4 * numel, 0);
    const least = bytes + workspace({ activationMemoryBudget: 0 });
    expect(workspace({ activationMemoryLimit: 2 * least })).toBeLessThanOrEqual(2 * least);
    expect(() => workspace({ activationMemoryLimit: bytes })).toThrow(/a call takes at least \d+ bytes/);
  },
  aggressiveRecomputation: () => {
    const product = (h: Tensor, b: Tensor): Tensor => h.matmul(b);
    expect(againBy(product, {}).plan).toMatch(/segments|knapsack/);
    const aggressive = againBy(product, { aggressiveRecomputation: true });
    expect(aggressive.plan).toMatch(/operations a byte/);
    expect(aggressive.again).toContain('bmm f32[1, 128, 128]');
  },
  customPartitionerFn: () => {
    const keptBy = (keeps: (value: { readonly isUsed: boolean }) => boolean): number => {
      const run = ({ values }: { values: readonly { node: number; isUsed: boolean }[] }): readonly number[] =>
        values.filter(keeps).map(({ node }) => node);
      const { decisions } = reportOf(deep, inputs, { customPartitionerFn: { key: String(keeps), run } });
      return decisions.reduce((sum, decision) => (decision.kind === 'kept' ? sum + decision.count : sum), 0);
    };
    expect(keptBy(() => false)).toBe(0);
    expect(keptBy(({ isUsed }) => isUsed)).toBeGreaterThan(4);
  },
  jointCustomPrePass: () => {
    expectCalled('jointCustomPrePass', (targets) => {
      expect(targets).toContain('neg');
    });
  },
  jointCustomPostPass: () => {
    // Folded and cancelled by then.
    expectCalled('jointCustomPostPass', (targets) => {
      expect(targets).not.toContain('neg');
    });
  },
} satisfies Record<string, Effect>;

interface Calls {
  readonly nodes: readonly {
    readonly kind: string;
    readonly target?: string;
    readonly origin: { readonly pass?: string };
  }[];
}

/** Runs a step whose gradient has a negation of a constant, and one without a backward pass. */
function expectCalled(setting: string, look: (targets: readonly string[]) => void): void {
  const seen: Calls[] = [];
  const hook = {
    key: setting,
    run: (graph: Calls): Calls => {
      seen.push(graph);
      return graph;
    },
  };
  const step = (x: Tensor): readonly Tensor[] => valueAndGrad((w: Tensor) => ones([4]).neg().mul(w).exp().sum())(x);
  const x = randn([4]);
  const report = reportOf((a: Tensor): Tensor => a.neg(), [x], { [setting]: hook });
  expect(report.kernels).toHaveLength(1);
  expect(seen).toHaveLength(0);
  reportOf(step, [x], { [setting]: hook });
  expect(seen).toHaveLength(1);
  const [graph] = seen;
  expect(graph?.nodes.some(({ origin }) => origin.pass === 'backward')).toBe(true);
  look(graph?.nodes.flatMap(({ target }) => (target === undefined ? [] : [target])) ?? []);
  const broken = { key: `${setting} broken`, run: () => ({ nodes: [], outputs: [] }) };
  expect(() => reportOf(step, [x], { [setting]: broken })).toThrow(setting);
}
