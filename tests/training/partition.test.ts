// The partition of training steps: what a compiled step takes at its peak under a budget, and that its results stay the same bit for
// bit.
import { describe, expect, test } from '@jest/globals';
import { compile, manualSeed, randn, valueAndGrad } from 'tsinductor';
import type { GraphReport, Tensor } from 'tsinductor';

/** Nothing is taken from what another run compiled. */
const options = { forceDisableCaches: true };

/** A deep perceptron with an expensive activation between its layers. */
const deep = (weights: readonly Tensor[], x: Tensor): Tensor =>
  weights
    .reduce((h, w) => h.matmul(w).tanh(), x)
    .square()
    .mean();

const stepOf = (weights: readonly Tensor[], x: Tensor): [Tensor, readonly Tensor[]] => {
  const [loss, gradients] = valueAndGrad(deep)(weights, x);
  return [loss, gradients];
};

function reportOf(compiled: { graphs(): readonly GraphReport[] }): GraphReport {
  const [report] = compiled.graphs();
  if (report === undefined) throw new RangeError('nothing was compiled');
  return report;
}

const bits = ([loss, gradients]: [Tensor, readonly Tensor[]]): unknown => [
  loss.toArray(),
  gradients.map((gradient) => gradient.toArray()),
];

describe('a deep perceptron', () => {
  manualSeed(1);
  const weights = Array.from({ length: 12 }, () => randn([64, 64]).mul(0.1));
  const x = randn([512, 64]);

  test('takes less under a smaller budget, and gives the same', () => {
    const plain = compile(stepOf, { options });
    const expected = bits(plain(weights, x));
    const least = compile(stepOf, { memoryBudget: 0, options });
    expect(bits(least(weights, x))).toEqual(expected);
    expect(reportOf(least).workspaceBytes).toBeLessThan(0.7 * (reportOf(plain).workspaceBytes ?? 0));
  });
});
