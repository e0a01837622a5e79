// The effects of the settings of padding, seen in what compiled functions return.
import { expect } from '@jest/globals';
import { nn, randn } from 'tsinductor';
import type { GraphReport, Tensor } from 'tsinductor';
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
  inplacePadding: () => {
    const chain = (x: Tensor, y: Tensor, z: Tensor): Tensor =>
      nn.functional.pad(x.matmul(y), [0, 4], 'constant', 0.5).matmul(z);
    const inputs: [Tensor, Tensor, Tensor] = [randn([40, 20]), randn([20, 60]), randn([64, 30])];
    const [on, off] = [{}, { inplacePadding: false }].map((options) => reportOf(chain, inputs, options)) as [
      GraphReport,
      GraphReport,
    ];
    // The kernel between the products writes 4 elements of each row, or copies 60 beside.
    const moved = ({ kernels }: GraphReport): readonly (number | undefined)[] =>
      kernels.slice(1, 2).map(({ bytes }) => bytes);
    expect([moved(on), moved(off)]).toEqual([[40 * 4 * 4], [40 * (60 + 64) * 4]]);
    expect([on.kernels.length, off.kernels.length]).toEqual([3, 3]);
    expect(compiledWith(chain, {})(...inputs).toArray()).toEqual(
      compiledWith(chain, { inplacePadding: false })(...inputs).toArray(),
    );
    const pad = (options: Options): Tensor =>
      compiledWith((x: Tensor, y: Tensor): Tensor => nn.functional.pad(x.matmul(y), [0, 4], 'constant', 0.5), options)(
        inputs[0],
        inputs[1],
      );
    expect(pad({ memoryPlanning: true, memoryPool: 'combined' }).toArray()).toEqual(pad({}).toArray());
  },
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
