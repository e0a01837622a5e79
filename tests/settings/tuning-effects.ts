// The effects of the settings of tuning: how often `autotune()` measures, and where it keeps what it measured.
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { reset, setConfig, zeros } from 'tsinductor';
import { constexpr, f32, kernel, ptr } from 'tsinductor/dsl';
import { freshDirectory, warningsOf } from './effect.ts';
import type { Effect, Options } from './effect.ts';

const bench = { warmup: 1, rep: 1 };

/** How many configurations a tuner measures that starts under these settings. */
export function measuredUnder(options: Options): number {
  setConfig({ ...defaults, ...options });
  const one = kernel('one', { x: ptr(f32), BLOCK: constexpr }, ({ x, BLOCK }, tl) => {
    const offs = tl.arange(0, BLOCK);
    tl.store(x + offs, tl.load(x + offs) * 2);
  });
  const tuned = one.autotune({ configs: [{ BLOCK: 8 }, { BLOCK: 16 }], key: [], bench });
  return tuned.best([1], { x: zeros([16]) }).measured;
}

/** What no effect leaves behind. */
const defaults = {
  autotuneLocalCache: true,
  autotuneCacheDir: null,
  globalCacheDir: null,
  flushAutotuneCache: false,
  unsafeIgnoreUnsupportedTritonAutotuneArgs: false,
} as const;

export function restored(effect: Effect, more: Options = {}): Effect {
  return async () => {
    try {
      await effect();
    } finally {
      setConfig({ ...defaults, ...more });
      reset();
    }
  };
}

export const tuningEffects = {
  autotuneLocalCache: restored(() => {
    const autotuneCacheDir = freshDirectory();
    const measured = (autotuneLocalCache: boolean): number => measuredUnder({ autotuneCacheDir, autotuneLocalCache });
    expect([measured(false), measured(false), measured(true), measured(true), measured(false)]).toEqual([
      2, 2, 2, 0, 2,
    ]);
  }),
  autotuneCacheDir: restored(() => {
    const autotuneCacheDir = join(freshDirectory(), 'made', 'on', 'demand');
    expect(measuredUnder({ autotuneCacheDir })).toBe(2);
    expect(existsSync(join(autotuneCacheDir, 'autotune'))).toBe(true);
    expect(measuredUnder({ autotuneCacheDir: freshDirectory() })).toBe(2);
    expect(measuredUnder({ autotuneCacheDir })).toBe(0);
  }),
  globalCacheDir: restored(() => {
    const globalCacheDir = freshDirectory();
    expect(measuredUnder({ autotuneCacheDir: globalCacheDir })).toBe(2);
    chmodSync(globalCacheDir, 0o500);
    const files = (): readonly string[] => readdirSync(globalCacheDir, { recursive: true, encoding: 'utf8' }).sort();
    const before = files();
    const own = freshDirectory();
    expect(measuredUnder({ autotuneCacheDir: own, globalCacheDir })).toBe(0);
    expect([files(), existsSync(join(own, 'autotune'))]).toEqual([before, true]);
    // What is damaged there counts as absent, and stays.
    for (const name of before) if (name.endsWith('.json')) writeFileSync(join(globalCacheDir, name), 'no measurement');
    expect(measuredUnder({ autotuneCacheDir: freshDirectory(), globalCacheDir })).toBe(2);
    expect(files()).toEqual(before);
  }),
  flushAutotuneCache: restored(() => {
    const autotuneCacheDir = freshDirectory();
    expect([measuredUnder({ autotuneCacheDir }), measuredUnder({ autotuneCacheDir })]).toEqual([2, 0]);
    expect(measuredUnder({ autotuneCacheDir, flushAutotuneCache: true })).toBe(2);
    expect(measuredUnder({ autotuneCacheDir })).toBe(0);
  }),
  unsafeIgnoreUnsupportedTritonAutotuneArgs: restored(() => {
    const tune = (): unknown => {
      const one = kernel('one', { x: ptr(f32), BLOCK: constexpr }, ({ x, BLOCK }, tl) => {
        const offs = tl.arange(0, BLOCK);
        tl.store(x + offs, tl.load(x + offs) * 2);
      });
      return one.autotune({ configs: [{ BLOCK: 8 }], key: [], useCudaGraph: true } as never);
    };
    expect(tune).toThrow(/autotune has no option useCudaGraph/);
    setConfig({ unsafeIgnoreUnsupportedTritonAutotuneArgs: true });
    expect(warningsOf(() => void tune())).toEqual(['KERNEL_AUTOTUNE']);
  }),
} satisfies Record<string, Effect>;
