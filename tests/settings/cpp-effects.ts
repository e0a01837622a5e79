// The effects of the settings of generated C++.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { cpuCount } from '@tsinductor/runtime';
import { tensor } from 'tsinductor';
import type { GraphReport, Tensor } from 'tsinductor';
import { compiledWith, forGraphs, freshDirectory, reportOf, sourceOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const zeros = (elements: number): Tensor => tensor(new Float32Array(elements));
const addOne = (x: Tensor): Tensor => x.add(1);
/** Whether the loop of an elementwise kernel is distributed over threads. */
const isParallel = (elements: number, cpp: Options): boolean =>
  /\bparallel\(runtime,/.test(sourceOf(addOne, [zeros(elements)], { cpp: { threads: 2, ...cpp } }));
/** The command that compiles it. */
function flagsOf(cpp: Options): string {
  const log = join(freshDirectory(), 'log');
  const cxx = [wrappedCompiler(forGraphs(`echo "$@" >> ${log}`))];
  reportOf(addOne, [zeros(3)], { cacheDir: freshDirectory(), cpp: { cxx, ...cpp } });
  return readFileSync(log, 'utf8');
}
const runsOn = (cpp: Options): string => reportOf(addOne, [zeros(3)], { cpp }).runsOn;

export const cppEffects = {
  'cpp.threads': () => {
    expect(isParallel(200_000, { threads: 1 })).toBe(false);
    expect(isParallel(200_000, { threads: 2 })).toBe(true);
    expect(runsOn({ threads: 1 })).toContain('1 threads');
  },
  'cpp.simdlen': () => {
    expect(runsOn({ simdlen: 1 })).toContain('scalar');
    expect(sourceOf(addOne, [zeros(64)], { cpp: { simdlen: 1 } })).not.toContain('vector_size');
  },
  'cpp.cxx': () => {
    const log = join(freshDirectory(), 'log');
    const cxx = ['/nowhere/g++', wrappedCompiler(forGraphs(`echo used >> ${log}`))];
    reportOf(addOne, [zeros(3)], { cacheDir: freshDirectory(), cpp: { cxx } });
    expect(readFileSync(log, 'utf8')).toBe('used\n');
  },
  'cpp.searchPath': () => {
    expect(runsOn({ searchPath: '/nowhere' })).toContain('generated JavaScript: no C++ compiler');
    expect(runsOn({ searchPath: '/nowhere:/usr/bin:/bin' })).toContain('native code');
  },
  'cpp.minChunkSize': () => {
    expect([600, 100_000].map((elements) => isParallel(elements, {}))).toEqual([false, true]);
    expect(isParallel(100_000, { minChunkSize: 1_000_000 })).toBe(false);
    expect(isParallel(600, { minChunkSize: 1 })).toBe(true);
  },
  'cpp.vecIsaOk': () => {
    expect(runsOn({ vecIsaOk: false })).toContain('scalar');
    expect(sourceOf(addOne, [zeros(64)], { cpp: { vecIsaOk: false } })).not.toContain('vector_size');
    // What the CPU says is believed: no program is built to try it.
    const log = join(freshDirectory(), 'log');
    const probed = (vecIsaOk: boolean | null): boolean => {
      const cxx = [wrappedCompiler(`if grep -q 'result == 42' $text; then echo probed >> ${log}; fi`)];
      reportOf(addOne, [zeros(3)], { cacheDir: freshDirectory(), cpp: { cxx, vecIsaOk } });
      return existsSync(log);
    };
    expect([probed(true), probed(null)]).toEqual([false, true]);
    expect(runsOn({ vecIsaOk: true })).toBe(runsOn({}));
  },
  'cpp.optimizationFlag': () => {
    expect(flagsOf({})).not.toContain('-O1');
    expect(flagsOf({ optimizationFlag: '-O1' })).toMatch(/^-O2 .* -O1\b/);
  },
  'cpp.enableUnsafeMathOptFlag': () => {
    expect(flagsOf({})).not.toContain('-funsafe-math-optimizations');
    expect(flagsOf({ enableUnsafeMathOptFlag: true })).toContain('-funsafe-math-optimizations');
  },
  'cpp.enableFloatingPointContractFlag': () => {
    const rounded = (a: Tensor, b: Tensor, c: Tensor): Tensor => a.mul(b).sub(c);
    // (1 + e)(1 - e) is 1 - e e, which f32 rounds to 1.
    const e = 2 ** -13;
    const inputs = [1 + e, 1 - e, 1].map((value) => tensor(new Float32Array(64).fill(value)));
    const difference = (cpp: Options): unknown =>
      compiledWith(rounded, { cpp })(...(inputs as [Tensor, Tensor, Tensor])).toArray();
    const filled = (value: number): number[] => Array.from({ length: 64 }, () => value);
    expect(difference({})).toEqual(filled(0));
    // Where the machine has no instruction for both, there are two steps all the same.
    const hasOne = /avx|neon/.test(runsOn({}));
    expect(difference({ enableFloatingPointContractFlag: true })).toEqual(filled(hasOne ? -e * e : 0));
    expect(flagsOf({ enableFloatingPointContractFlag: true })).toMatch(/ -ffp-contract=off .* -ffp-contract=fast\b/);
  },
  'cpp.noRedundantLoops': () => {
    const loops = (cpp: Options): number => sourceOf(addOne, [zeros(4096)], { cpp }).match(/^ +for \(/gm)?.length ?? 0;
    expect(loops({ noRedundantLoops: false })).toBeGreaterThan(loops({}));
    const x = tensor(Float32Array.from({ length: 4096 }, (_, i) => i));
    const result = compiledWith(addOne, { cpp: { noRedundantLoops: false } })(x);
    expect(result.toArray()).toEqual(addOne(x).toArray());
  },
  'cpp.withoutTrafficRules': () => {
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const rows = zeros(1 << 19).reshape([1024, 512]);
    const compiledFor = (withoutTrafficRules: readonly string[]): GraphReport =>
      reportOf(softmax, [rows], { cpp: { withoutTrafficRules } });
    const rulesOf = ({ decisions }: GraphReport): readonly string[] =>
      decisions.flatMap((it) => (it.kind === 'traffic' ? [it.rule] : []));
    const prefetches = ({ source }: GraphReport): number => source?.().match(/__builtin_prefetch/g)?.length ?? 0;
    const [all, without] = [compiledFor([]), compiledFor(['next row', 'prefetched results'])];
    expect(rulesOf(all)).toContain('next row');
    expect(rulesOf(without)).not.toContain('next row');
    expect([prefetches(all) > 0, prefetches(without)]).toEqual([true, 0]);
    expect(() => compiledFor(['next rows'])).toThrow(expect.objectContaining({ code: 'SETTING_VALUE' }));
  },
  'cpp.dynamicThreads': () => {
    const x = tensor(Float32Array.from({ length: 200_000 }, (_, i) => i));
    const compiledFor = (threads: number, dynamicThreads: boolean): GraphReport =>
      reportOf(addOne, [x], { cpp: { threads, dynamicThreads } });
    const keys = (dynamicThreads: boolean): Set<unknown> =>
      new Set([1, 2].map((threads) => compiledFor(threads, dynamicThreads).cacheKey));
    expect([keys(false).size, keys(true).size]).toEqual([2, 1]);
    expect([1, 2].map((threads) => compiledFor(threads, true).runsOn)).toEqual([
      expect.stringContaining('1 threads'),
      expect.stringContaining('2 threads'),
    ]);
    // The code asks how many there are when it runs, and has chunks for fewer than it is made for.
    expect(compiledFor(1, true).source?.()).toContain('if (total <= grain || runtime->threads <= 1)');
    const few = tensor(Float32Array.from({ length: 50_000 }, (_, i) => i));
    const grainOf = (dynamicThreads: boolean): number => {
      const text = sourceOf(addOne, [few], { cpp: { threads: cpuCount(), dynamicThreads } });
      return Number(/, \d+, (\d+)\);/.exec(text)?.[1]);
    };
    if (cpuCount() > 1) expect(grainOf(true)).toBeLessThan(grainOf(false));
  },
  'cpp.descriptiveNames': () => {
    const softmax = (x: Tensor): Tensor => x.softmax(-1);
    const named = (cpp: Options): string | undefined =>
      /void ((?:fused_)?[a-z_]+?)_[0-9a-f]{8}\(/.exec(sourceOf(softmax, [zeros(160).reshape([4, 40])], { cpp }))?.[1];
    expect([named({}), named({ descriptiveNames: 'torch' })]).toEqual(['fused_softmax', 'fused_softmax']);
    expect(named({ descriptiveNames: 'inductor_node' })).toMatch(/^fused_amax_.*exp.*_mul$/);
  },
} satisfies Record<string, Effect>;
