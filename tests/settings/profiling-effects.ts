// The effects of the settings of profiling: tables on stderr, in files and in `explain`, and measures of the timeline.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PerformanceEntry } from 'node:perf_hooks';
import { expect } from '@jest/globals';
import { at } from '@tsinductor/base';
import { randn, reset } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, freshDirectory, stderrOf, warningsOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

/** Two kernels: a softmax of rows, and sums of columns of what is not inlined into them. */
const twoKernels = (x: Tensor): Tensor[] => {
  const shares = x.softmax(-1);
  return [shares, shares.exp().sum(0)];
};

/** What is said on stderr by the first call, and by the second. */
function saidByCalls(options: Options): readonly string[] {
  // What runs already has had its first call.
  reset();
  const compiled = compiledWith(twoKernels, options);
  const x = randn([64, 300]);
  return [1, 2].map(() => stderrOf(() => void compiled(x)));
}

/** The names in the first column of a table, without those of its head and its total. */
const kernelsOf = (table: string): readonly string[] =>
  [...table.matchAll(/^(\S+) +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +\d+ % (?:memory|arithmetic)$/gm)].map(
    ([, name = '']) => name,
  );

/** The measures of the performance timeline that are made by two calls. */
function measuresOf(options: Options): readonly PerformanceEntry[] {
  const compiled = compiledWith(twoKernels, options);
  performance.clearMeasures();
  const x = randn([64, 300]);
  for (let call = 0; call < 2; call += 1) compiled(x);
  const measures = performance.getEntriesByType('measure');
  performance.clearMeasures();
  return measures;
}

export const profilingEffects = {
  profileBandwidth: () => {
    expect(saidByCalls({})).toEqual(['', '']);
    const [table = '', later] = saidByCalls({ profileBandwidth: true });
    expect(later).toBe('');
    expect(table).toMatch(/^\[profile\] twoKernels\nkernel +calls +ms +GB +GB\/s +GFLOP\/s +of the limit\n/);
    expect(kernelsOf(table)).toHaveLength(2);
    expect(table).toMatch(/^total +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +\d+ %\n$/m);
    const compiled = compiledWith(twoKernels, { profileBandwidth: true });
    const x = randn([64, 300]);
    stderrOf(() => void compiled(x));
    const before = compiled.graphs()[0]?.timings?.() ?? [];
    compiled(x);
    const after = compiled.graphs()[0]?.timings?.() ?? [];
    expect(after.map(({ calls }) => calls)).toEqual(before.map(({ calls }) => calls + 1));
    for (const { milliseconds, bytes, limit } of after) {
      expect(milliseconds).toBeGreaterThan(0);
      expect(bytes).toBeGreaterThanOrEqual(64 * 300 * 4);
      expect(limit?.milliseconds).toBeGreaterThan(0);
    }
    expect(compiled(x).map((result) => result.toArray())).toEqual(
      compiledWith(twoKernels, {})(x).map((result) => result.toArray()),
    );
    expect(kernelsOf(compiled.explain().toString().replace(/^ +/gm, ''))).toHaveLength(2);
    expect(compiledWith(twoKernels, {}).explain(x).graphs[0]?.timings).toBeUndefined();
  },
  profileBandwidthRegex: () => {
    const wanted = (profileBandwidthRegex: string | null): readonly string[] =>
      kernelsOf(saidByCalls({ profileBandwidth: true, profileBandwidthRegex })[0] ?? '');
    const all = wanted(null);
    expect(wanted('softmax')).toEqual(all.filter((name) => name.includes('softmax')));
    expect(wanted('softmax')).toHaveLength(1);
    expect(saidByCalls({ profileBandwidth: true, profileBandwidthRegex: '^$' })).toEqual(['', '']);
  },
  profileBandwidthOutput: () => {
    const file = join(freshDirectory(), 'profile.txt');
    const [printed] = saidByCalls({ profileBandwidth: true, profileBandwidthOutput: file });
    expect(`[profile] ${readFileSync(file, 'utf8')}`).toBe(printed);
    const path = join(freshDirectory(), 'no', 'such', 'directory');
    const options = { profileBandwidth: true, profileBandwidthOutput: path };
    expect(warningsOf(() => void saidByCalls(options))).toEqual(['PROFILE_OUTPUT']);
  },
  profilerMarkWrapperCall: () => {
    expect(measuresOf({})).toEqual([]);
    const measures = measuresOf({ profilerMarkWrapperCall: true });
    expect(measures.map(({ name }) => name)).toEqual(['twoKernels', 'twoKernels']);
    const [first, second] = measures;
    expect(second?.startTime).toBeGreaterThanOrEqual((first?.startTime ?? NaN) + (first?.duration ?? NaN));
  },
  'cpp.enableKernelProfile': () => {
    const measures = measuresOf({ cpp: { enableKernelProfile: true }, profilerMarkWrapperCall: true });
    const calls = measures.filter(({ name }) => name === 'twoKernels');
    const kernels = measures.filter(({ name }) => name !== 'twoKernels');
    expect(kernels.map(({ name }) => name.startsWith('fused_'))).toEqual([true, true, true, true]);
    // A kernel runs within the call that it belongs to, as the timeline counts; calls may follow each other sooner than it errs.
    const isWithin = (inner: PerformanceEntry, outer: PerformanceEntry): boolean =>
      inner.startTime > outer.startTime - 0.1 &&
      inner.startTime + inner.duration < outer.startTime + outer.duration + 0.1;
    expect(calls).toHaveLength(2);
    expect(kernels.map((kernel, i) => isWithin(kernel, at(calls, Math.floor(i / 2))))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    // Of kernels for different sizes the one that ran is measured.
    const square = compiledWith((x: Tensor) => x.matmul(x), { dynamic: true, cpp: { enableKernelProfile: true } });
    performance.clearMeasures();
    for (const size of [40, 400, 50]) square(randn([size, size]));
    const [small, large, again, ...others] = performance.getEntriesByType('measure').map(({ name }) => name);
    performance.clearMeasures();
    expect(again).toBe(small);
    expect([large === small, others]).toEqual([false, []]);
  },
} satisfies Record<string, Effect>;
