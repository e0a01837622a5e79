// The effects of the settings of tuning: how often `autotune()` measures, and where it keeps what it measured.
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { randn, reset, setConfig, zeros } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { constexpr, f32, kernel, ptr } from 'tsinductor/dsl';
import { freshDirectory, reportOf, stderrOf, warningsOf } from './effect.ts';
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

const product = (a: Tensor, b: Tensor): Tensor => a.matmul(b);
const operands = (): Tensor[] => [randn([96, 70]), randn([70, 90])];
const deep = [randn([200, 2100]), randn([2100, 200])];

/** What is told while a product is compiled, or another function, and what was decided of it. */
export function tunedUnder(
  options: Options,
  inputs = operands(),
  fn: (...inputs: Tensor[]) => unknown = product,
): { readonly told: readonly string[]; readonly decisions: readonly string[] } {
  let decisions: readonly string[] = [];
  setConfig({ autotuneLocalCache: false });
  const all = { forceDisableCaches: true, ...options };
  const text = stderrOf(() => {
    decisions = reportOf(fn, inputs, all).decisions.flatMap((one) => (one.kind === 'tuned' ? [one.reason] : []));
  });
  return { told: text.split('\n').filter((line) => line !== ''), decisions };
}

/** The rows of a report that tell of a candidate. */
export const candidatesIn = (told: readonly string[]): readonly string[] =>
  told.filter((line) => /^ {2}[0-9.]+ ms|^ {2}failed/.test(line));

const rowsOf = (options: Options, inputs = operands()): number =>
  candidatesIn(tunedUnder({ maxAutotuneGemm: true, ...options }, inputs).told).length;

/** Each process takes longer than it may, so that all candidates are told of, and none is run. */
export const none = { autotuneNumChoicesDisplayed: null, maxAutotuneSubprocResultTimeoutSeconds: 0.01 };

const quiet = { maxAutotuneReportChoicesStats: false };

export const tuningEffects = {
  maxAutotune: restored(() => {
    expect(tunedUnder(quiet).decisions).toEqual([]);
    expect(tunedUnder({ ...quiet, maxAutotune: true }).decisions).toHaveLength(1);
    const large = (x: Tensor): Tensor => x.sigmoid();
    expect(tunedUnder({ ...quiet, maxAutotune: true }, [randn([300, 400])], large).decisions).toHaveLength(1);
    const softmax = (x: Tensor): Tensor => x.softmax(0);
    const decided = (maxAutotune: boolean): string =>
      JSON.stringify(reportOf(softmax, [randn([300, 200])], { ...quiet, maxAutotune }).decisions);
    expect([decided(false), decided(true)].map((text) => text.includes('measured'))).toEqual([false, true]);
  }),
  maxAutotuneGemm: restored(() => {
    expect(tunedUnder({ ...quiet, maxAutotuneGemm: true }).decisions).toEqual([expect.stringMatching(/measured now/)]);
  }),
  maxAutotuneGemmSearchSpace: restored(() => {
    expect(rowsOf({ ...none, maxAutotuneGemmSearchSpace: 'EXHAUSTIVE' })).toBeGreaterThan(rowsOf(none));
  }),
  maxAutotuneFlexSearchSpace: restored(() => {
    const attend = [randn([2, 4, 600, 16]), randn([2, 4, 600, 16]), randn([2, 4, 600, 16])];
    const rows = (options: Options): number => {
      const all = {
        forceDisableCaches: true,
        maxAutotuneGemm: true,
        benchmarkEpilogueFusion: false,
        ...none,
        ...options,
      };
      const attention = (q: Tensor, k: Tensor, v: Tensor): Tensor =>
        q.matmul(k.transpose(-2, -1)).softmax(-1).matmul(v);
      const text = stderrOf(() => void reportOf(attention, attend, { 'cpp.attentionFusionBytes': 0, ...all }));
      return text.split('\n').filter((line) => /^ {2}[0-9.]+ ms|^ {2}failed/.test(line)).length;
    };
    setConfig({ autotuneLocalCache: false });
    expect(rows({ maxAutotuneFlexSearchSpace: 'EXHAUSTIVE' })).toBeGreaterThan(rows({}));
    expect(rows({ maxAutotuneGemmSearchSpace: 'EXHAUSTIVE' })).toBe(rows({}));
  }),
  benchmarkEpilogueFusion: restored(() => {
    const layer = (a: Tensor, b: Tensor): Tensor => a.matmul(b).tanh();
    const said = (options: Options): boolean => {
      const { decisions } = reportOf(layer, operands(), { forceDisableCaches: true, ...quiet, ...options });
      return /measured [^"]* as one kernel/.test(JSON.stringify(decisions));
    };
    setConfig({ autotuneLocalCache: false });
    const tuned = { maxAutotuneGemm: true };
    expect([said(tuned), said({ ...tuned, benchmarkEpilogueFusion: false }), said({})]).toEqual([true, false, false]);
    // No clock runs where no product is to be timed.
    const silent: readonly Options[] = [
      { ciFlag: 'CIRCLECI' },
      { disableProfilerCodegen: true },
      { autotunePolicy: 'heuristics' },
    ];
    expect(silent.map((options) => said({ ...tuned, ...options }))).toEqual([false, false, false]);
  }),
  disableProfilerCodegen: restored(() => {
    const { told, decisions } = tunedUnder({ maxAutotuneGemm: true, disableProfilerCodegen: true, ciFlag: 'CIRCLECI' });
    expect(told).toEqual([]);
    expect(decisions).toEqual(['disableProfilerCodegen builds and times no candidates']);
  }),
  ciFlag: restored(() => {
    const { told, decisions } = tunedUnder({ maxAutotuneGemm: true, ciFlag: 'CIRCLECI' });
    expect(told).toEqual([]);
    expect(decisions).toEqual(['nothing is timed under ciFlag; 2 candidates were built']);
  }),
  forceProfile: restored(() => {
    const all = { maxAutotuneGemm: true, disableProfilerCodegen: true, ciFlag: 'CIRCLECI', forceProfile: true };
    expect(tunedUnder(all).decisions).toEqual([expect.stringMatching(/measured now/)]);
  }),
  autotunePolicy: restored(() => {
    const { told, decisions } = tunedUnder({ maxAutotuneGemm: true, autotunePolicy: 'heuristics' });
    expect(told).toEqual([]);
    expect(decisions).toEqual([expect.stringMatching(/it was not measured on this machine/)]);
  }),
  opsRecord: restored(
    () => {
      const autotuneCacheDir = freshDirectory();
      const recorded = (opsRecord: boolean): readonly string[] => {
        setConfig({ autotuneCacheDir, opsRecord });
        reportOf(product, operands(), {});
        return readdirSync(autotuneCacheDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
          name.endsWith('.json'),
        );
      };
      expect([recorded(false).length, recorded(true).length, recorded(true).length]).toEqual([0, 1, 1]);
      setConfig({ opsRecord: true, autotuneLocalCache: false });
      expect(warningsOf(() => void reportOf(product, [randn([40, 30]), randn([30, 20])], {}))).toEqual(['OPS_RECORD']);
    },
    { opsRecord: false },
  ),
  coordinateDescentTuning: restored(() => {
    // Two values away is what the spaces of candidates do not have.
    const far = { ...none, coordinateDescentSearchRadius: 2 };
    expect(rowsOf({ ...far, coordinateDescentTuning: true }, deep)).toBeGreaterThan(rowsOf(far, deep));
  }),
  coordinateDescentCheckAllDirections: restored(() => {
    const descent = { ...none, coordinateDescentTuning: true };
    expect(rowsOf({ ...descent, coordinateDescentCheckAllDirections: true })).toBeGreaterThan(rowsOf(descent));
  }),
  coordinateDescentSearchRadius: restored(() => {
    const descent = { ...none, coordinateDescentTuning: true };
    expect(rowsOf({ ...descent, coordinateDescentSearchRadius: 2 }, deep)).toBeGreaterThan(rowsOf(descent, deep));
  }),
  maxAutotuneReportChoicesStats: restored(() => {
    expect(tunedUnder({ ...quiet, maxAutotuneGemm: true }).told).toEqual([]);
    expect(rowsOf({})).toBeGreaterThan(3);
  }),
  autotuneNumChoicesDisplayed: restored(() => {
    expect(rowsOf({ autotuneNumChoicesDisplayed: 3 })).toBe(3);
    expect(rowsOf({ autotuneNumChoicesDisplayed: null })).toBeGreaterThan(3);
  }),
  maxAutotuneSubprocResultTimeoutSeconds: restored(() => {
    const { told } = tunedUnder({ maxAutotuneGemm: true, maxAutotuneSubprocResultTimeoutSeconds: 0.01 });
    expect(told.some((line) => line.includes('failed: it took more than 0.01 s'))).toBe(true);
    expect(told.some((line) => line.includes('taken: the usual choices'))).toBe(true);
  }),
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
