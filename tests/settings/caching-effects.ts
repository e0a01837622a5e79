// The effects of the settings of caching and building.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { full, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { freshDirectory, reportOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const addOne = (x: Tensor): Tensor => x.add(1);
const origin = (options: Options): string | undefined => reportOf(addOne, [full([3], 1)], options).origin;
const entries = (root: string): readonly string[] =>
  existsSync(join(root, 'fx')) ? readdirSync(join(root, 'fx')).filter((name) => !name.startsWith('.')) : [];

/** Nothing is kept in the cache directory where `options` switch it off, and what was there before is not used. */
const leavesAlone = (options: Options): void => {
  const cacheDir = freshDirectory();
  origin({ cacheDir, ...options });
  expect(entries(cacheDir)).toEqual([]);
  expect(origin({ cacheDir })).toBe('built');
  expect(entries(cacheDir)).toHaveLength(1);
};

export const cachingEffects = {
  cacheDir: () => {
    const [first, second] = [freshDirectory(), freshDirectory()];
    expect(origin({ cacheDir: first })).toBe('built');
    expect(origin({ cacheDir: second })).toBe('built');
    expect([entries(first), entries(second)].map((list) => list.length)).toEqual([1, 1]);
  },
  fxGraphCache: () => {
    leavesAlone({ fxGraphCache: false });
  },
  forceDisableCaches: () => {
    leavesAlone({ forceDisableCaches: true });
    expect([1, 2].map(() => origin({ forceDisableCaches: true, cacheDir: freshDirectory() }))).toEqual([
      'built',
      'built',
    ]);
  },
  compileThreads: () => {
    // Two sums over different axes are two kernels, so two units where two compilers may run.
    const sums = (x: Tensor, y: Tensor): Tensor[] => [x.sum(0), y.exp().sum(1)];
    const most = (compileThreads: number): number => {
      const log = join(freshDirectory(), 'log');
      const cxx = [wrappedCompiler(`echo + >> ${log}; sleep 0.3; echo - >> ${log}`)];
      reportOf(sums, [randn([60, 70]), randn([80, 90])], { compileThreads, cacheDir: freshDirectory(), cpp: { cxx } });
      let running = 0;
      return Math.max(
        ...readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((sign) => (running += sign === '+' ? 1 : -1)),
      );
    };
    expect([most(1), most(2)]).toEqual([1, 2]);
  },
} satisfies Record<string, Effect>;
