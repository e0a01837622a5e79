// The effects of the settings of lowering and scheduling, seen in the loops and decisions of a graph.
import { expect } from '@jest/globals';
import { cat, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, reportOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const vectors = (count: number): Tensor[] => Array.from({ length: count }, () => randn([8]));

/** Whether the sum of two inputs is computed again in both of its readers. */
function inlinesShared(options: Options): boolean {
  const fn = (x: Tensor, y: Tensor): Tensor => {
    const shared = x.add(y);
    return shared.neg().mul(shared.sum());
  };
  return reportOf(fn, vectors(2), options).decisions.some(
    (it) => it.kind === 'inlined' && it.producer.startsWith('add'),
  );
}

export const loweringEffects = {
  realizeReadsThreshold: () => {
    expect([{}, { realizeReadsThreshold: 1 }].map(inlinesShared)).toEqual([true, false]);
  },
  realizeOpcountThreshold: () => {
    expect([{}, { realizeOpcountThreshold: 0 }].map(inlinesShared)).toEqual([true, false]);
  },
  realizeAccReadsThreshold: () => {
    // Partial sums of twelve inputs are stored where one would read more buffers than the limit.
    const sum = (...xs: Tensor[]): Tensor => xs.reduce((left, right) => left.add(right));
    const stored = (options: Options): number =>
      11 - reportOf(sum, vectors(12), options).decisions.filter((it) => it.kind === 'inlined').length;
    expect(stored({ realizeAccReadsThreshold: 100 })).toBe(1);
    expect(stored({})).toBeGreaterThan(1);
    expect(stored({ realizeAccReadsThreshold: 3 })).toBeGreaterThan(stored({}));
  },
  maxPointwiseCatInputs: () => {
    const joined = (...xs: Tensor[]): Tensor => cat(xs);
    const nodes = (count: number, options: Options): number => reportOf(joined, vectors(count), options).loopNodes;
    expect([nodes(8, {}), nodes(9, {})]).toEqual([1, 6]);
    expect(nodes(9, { maxPointwiseCatInputs: 9 })).toBe(1);
  },
  emulatePrecisionCasts: () => {
    const chain = (x: Tensor): Tensor => x.add(0.1).mul(3).sub(0.3);
    const x = randn([512], { dtype: 'f16' });
    const bits = (value: Tensor): string => Buffer.from(value.toTypedArray().buffer).toString('hex');
    const compiled = (options: Options): string => bits(compiledWith(chain, options)(x));
    expect(compiled({ emulatePrecisionCasts: true })).toBe(bits(chain(x)));
    expect(compiled({})).not.toBe(bits(chain(x)));
  },
  epilogueFusion: () => {
    const layer = (x: Tensor, w: Tensor): Tensor => x.matmul(w).relu();
    const kernels = (options: Options): number =>
      reportOf(layer, [randn([8, 16]), randn([16, 8])], options).kernels.length;
    expect([kernels({}), kernels({ epilogueFusion: false })]).toEqual([1, 2]);
  },
  maxFusionSize: () => {
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const kernels = (options: Options): number => reportOf(softmax, [randn([8, 16])], options).kernels.length;
    expect(kernels({})).toBe(1);
    expect(kernels({ maxFusionSize: 1 })).toBeGreaterThan(1);
  },
} satisfies Record<string, Effect>;
