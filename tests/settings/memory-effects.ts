// The effects of the settings of padding, seen in what compiled functions return.
import { expect } from '@jest/globals';
import { randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, reportOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

/** An expensive value that three kernels pass on, along its rows and down its columns. */
const passing = (x: Tensor): Tensor[] => {
  const wide = x.exp();
  return [wide.sin(), wide.sum(0), wide.matmul(wide.t())];
};
const isPadded = (x: Tensor, options: Options): boolean =>
  reportOf(passing, [x], options).decisions.some((it) => it.kind === 'padded' && it.isDone);

export const memoryEffects = {
  disablePaddingCpu: () => {
    const x = randn([5, 1030]);
    expect([{}, { disablePaddingCpu: false }].map((options) => isPadded(x, options))).toEqual([false, true]);
    const padded = compiledWith(passing, { disablePaddingCpu: false })(x);
    const dense = compiledWith(passing, {})(x);
    expect(padded.map(({ strides }) => strides)).toEqual(passing(x).map(({ strides }) => strides));
    expect(padded.map((result) => result.toArray())).toEqual(dense.map((result) => result.toArray()));
  },
  padOutputs: () => {
    const x = randn([5, 1030]);
    const doubled = (given: Tensor): Tensor => given.mul(2);
    const result = compiledWith(doubled, { disablePaddingCpu: false, padOutputs: true })(x);
    expect(result.strides).toEqual([1056, 1]);
    expect(result.toArray()).toEqual(doubled(x).toArray());
    expect(compiledWith(doubled, { disablePaddingCpu: false })(x).strides).toEqual([1030, 1]);
  },
} satisfies Record<string, Effect>;
