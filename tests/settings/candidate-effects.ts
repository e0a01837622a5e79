// The effects of the settings of what a clock chooses among: whose candidates of products, candidates of loops, and what is taken without one.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { compile, nn, randn } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { compiledWith, freshDirectory, reportOf, stderrOf, warningsOf, wrappedCompiler } from './effect.ts';
import type { Effect, Options } from './effect.ts';
import { candidatesIn, none, restored, tunedUnder } from './tuning-effects.ts';

const gemm = { maxAutotuneGemm: true, forceDisableCaches: true };
const product = (a: Tensor, b: Tensor): Tensor => a.matmul(b);
const operands = (): Tensor[] => [randn([96, 70]), randn([70, 90])];
const convolve = (image: Tensor, weight: Tensor): Tensor => nn.functional.conv2d(image, weight);
const convolved = (window: number): Tensor[] => [randn([1, 8, 34, 34]), randn([32, 8, window, window])];

/** The candidates that are told of, none of which is run. */
const candidatesUnder = (
  options: Options,
  inputs: Tensor[],
  fn: (...inputs: Tensor[]) => unknown = product,
): readonly string[] => candidatesIn(tunedUnder({ ...none, ...options }, inputs, fn).told);

const refused = expect.objectContaining({ code: 'AUTOTUNE_BACKENDS' });

const onlyOne = ['the settings leave no other candidate'];

export const candidateEffects = {
  maxAutotuneGemmBackends: restored(() => {
    const hasLoops = (options: Options): boolean =>
      candidatesUnder({ ...gemm, ...options }, operands()).some((row) => row.includes('plainVolume'));
    expect([hasLoops({}), hasLoops({ maxAutotuneGemmBackends: ['cpp'] })]).toEqual([true, false]);
    const loops = { ...gemm, maxAutotuneGemmBackends: ['ATEN', 'TRITON'] };
    expect(tunedUnder(loops)).toEqual({ told: [], decisions: onlyOne });
    const [a, b] = operands() as [Tensor, Tensor];
    const [found, wanted] = [compiledWith(product, loops)(a, b), product(a, b)];
    expect(found.sub(wanted).abs().max().item()).toBeLessThan(1e-4);
    const warned = (words: readonly string[]): readonly string[] =>
      warningsOf(() => void reportOf(product, operands(), { ...gemm, ...none, maxAutotuneGemmBackends: words }));
    expect(warned(['CPP', 'CK'])).toEqual(['AUTOTUNE_BACKENDS']);
    for (const words of [['CUTLASS', 'CKTILE'], []]) expect(() => warned(words)).toThrow(refused);
  }),
  maxAutotuneConvBackends: restored(() => {
    const decided = (options: Options, window: number): readonly string[] =>
      tunedUnder({ ...gemm, ...options }, convolved(window), convolve).decisions;
    expect(decided({ maxAutotuneConvBackends: ['ATEN'] }, 3)).toEqual(onlyOne);
    expect(decided({ maxAutotuneConvBackends: ['ATEN'], maxAutotuneGemmBackends: ['CPP'] }, 1)).not.toEqual(onlyOne);
    expect(decided({ maxAutotuneGemmBackends: ['ATEN'] }, 1)).toEqual(onlyOne);
    expect(() => decided({ maxAutotuneConvBackends: ['TRITON'] }, 3)).toThrow(refused);
  }),
  maxAutotunePointwise: restored(() => {
    const large = [randn([300, 400])];
    const maps = (x: Tensor): Tensor => x.tanh().mul(2);
    const sums = (x: Tensor): Tensor => x.exp().sum(0);
    const told = (fn: (x: Tensor) => Tensor): number =>
      candidatesUnder({ maxAutotunePointwise: true, forceDisableCaches: true }, large, fn as never).length;
    expect(told(maps)).toBeGreaterThan(2);
    expect(told(sums)).toBeGreaterThan(2);
    expect(tunedUnder({}, large, maps as never).decisions).toEqual([]);
    expect(tunedUnder({ maxAutotunePointwise: true }).decisions).toEqual([]);
    const options = { maxAutotunePointwise: true, maxAutotuneReportChoicesStats: false, forceDisableCaches: true };
    expect(tunedUnder(options, large, maps as never).decisions).toEqual([expect.stringMatching(/measured now/)]);
  }),
  'triton.autotunePointwise': restored(() => {
    const transposes = (x: Tensor, y: Tensor): Tensor => x.transpose(0, 1).add(y);
    const inputs = [randn([300, 400]), randn([400, 300])];
    const tiles = (autotunePointwise: boolean): boolean =>
      candidatesUnder({ maxAutotunePointwise: true, triton: { autotunePointwise } }, inputs, transposes).some((row) =>
        row.includes('cachedTiles'),
      );
    expect([tiles(true), tiles(false)]).toEqual([true, false]);
  }),
  comboKernelsAutotune: restored(() => {
    const alike = (x: Tensor, y: Tensor): Tensor[] => [x.mul(3), y.mul(3)];
    const mixed = (x: Tensor, y: Tensor): Tensor[] => [x.exp(), y.tanh()];
    const inputs = [randn([300, 400]), randn([250, 300])];
    const isTuned = (fn: typeof alike, comboKernelsAutotune: number): boolean => {
      const packed = { comboKernels: true, comboKernelAllowMixedSizes: 2, maxAutotunePointwise: true };
      return candidatesUnder({ ...packed, comboKernelsAutotune }, inputs, fn as never).length > 0;
    };
    const asked = [0, 1, 2];
    expect(asked.map((each) => isTuned(alike, each))).toEqual([false, false, true]);
    expect(asked.map((each) => isTuned(mixed, each))).toEqual([false, true, true]);
  }),
  multiKernelHints: restored(() => {
    /** The kernels that compute each of these calls. */
    const calledFor = (fn: (x: Tensor) => Tensor, sizes: readonly number[]): readonly string[] => {
      const options = { multiKernelHints: [4096, 64, 700], profileBandwidth: true, forceDisableCaches: true };
      const compiled = compile(fn, { dynamic: true, options });
      const counts = (): ReadonlyMap<string, number> =>
        new Map((compiled.graphs()[0]?.timings?.() ?? []).map(({ kernel, calls }) => [kernel, calls]));
      const usual = compiledWith(fn, { dynamic: true });
      return sizes.map((size) => {
        const x = randn([size, size]);
        const before = counts();
        stderrOf(() => {
          expect(compiled(x).sub(usual(x)).abs().max().item()).toBeLessThan(1e-2);
        });
        return [...counts()].flatMap(([name, calls]) => (calls > (before.get(name) ?? 0) ? [name] : [])).join();
      });
    };
    // One kernel of three for each size; the hints have borders at 212 and 1694.
    const [small, below, from, large] = calledFor((x) => x.matmul(x), [60, 211, 212, 1700]);
    expect(below).toBe(small);
    expect(new Set([small, from, large]).size).toBe(3);
    expect([small, from, large].join()).toMatch(/^(matmul_[0-9a-f]+,?){3}$/);
    expect(new Set(calledFor((x) => x.sum(0), [60, 300, 1700])).size).toBe(3);
    const kernelsUnder = (options: Options): number | undefined => {
      const compiled = compile((x: Tensor) => x.matmul(x), { dynamic: true, options });
      compiled(randn([60, 60]));
      return compiled.graphs()[0]?.kernels.length;
    };
    expect([{}, { multiKernelHints: [700] }, { multiKernelHints: [64, 700] }].map(kernelsUnder)).toEqual([1, 1, 2]);
  }),
  autotuneLookupTable: restored(() => {
    const [, key = ''] = /([0-9a-f]{16}): \d+ kernels of/.exec(tunedUnder({ ...gemm, ...none }).told.join('\n')) ?? [];
    const listed = { ...gemm, autotuneLookupTable: { [key]: { panels: 1 } } };
    expect(tunedUnder(listed)).toEqual({ told: [], decisions: ['autotuneLookupTable says so'] });
    const unasked = { ...listed, maxAutotuneGemm: false };
    expect(tunedUnder(unasked)).toEqual({ told: [], decisions: ['autotuneLookupTable says so'] });
    const unknown = { ...gemm, ...none, autotuneLookupTable: { [key]: { panels: 77 } } };
    expect(warningsOf(() => void reportOf(product, operands(), unknown))).toEqual(['AUTOTUNE_TABLE']);
  }),
  autoheuristicCollect: restored(() => {
    const autoheuristicLogPath = freshDirectory();
    const collected = (autoheuristicCollect: readonly string[]): readonly string[] => {
      tunedUnder({ ...gemm, maxAutotuneReportChoicesStats: false, autoheuristicCollect, autoheuristicLogPath });
      const [file] = readdirSync(autoheuristicLogPath);
      return file === undefined ? [] : readFileSync(join(autoheuristicLogPath, file), 'utf8').trim().split('\n');
    };
    expect(collected(['conv', 'pointwise'])).toEqual([]);
    const [device = '', columns = '', ...rows] = collected(['mm']);
    expect(JSON.parse(device)).toMatchObject({ name: 'mm', device: { cpu: expect.any(String) } });
    expect(columns).toBe('nodes,reads,writes,batch,m,n,k,points,choice,milliseconds');
    expect(rows.length).toBeGreaterThan(3);
    expect(rows[0]).toMatch(/^1,2,1,1,96,90,70,8640,"{}",[0-9.]+$/);
    expect(collected(['mm'])).toHaveLength(2 + 2 * rows.length);
  }),
  autoheuristicLogPath: restored(() => {
    const cacheDir = freshDirectory();
    const autoheuristicLogPath = join(freshDirectory(), 'made', 'on demand');
    const options = { ...gemm, maxAutotuneReportChoicesStats: false, cacheDir, autoheuristicCollect: ['mm'] };
    tunedUnder({ ...options, autoheuristicLogPath });
    expect([existsSync(join(cacheDir, 'autoheuristic')), existsSync(autoheuristicLogPath)]).toEqual([false, true]);
    tunedUnder(options);
    expect(readdirSync(join(cacheDir, 'autoheuristic'))).toHaveLength(1);
    const file = { ...options, autoheuristicLogPath: import.meta.filename };
    expect(warningsOf(() => void tunedUnder(file))).toEqual(['AUTOHEURISTIC_LOG']);
  }),
  autoheuristicUse: restored(() => {
    const autoheuristicRule = { key: 'the second', run: () => 1 };
    const decided = (autoheuristicUse: readonly string[]): unknown =>
      tunedUnder({ ...gemm, maxAutotuneReportChoicesStats: false, autoheuristicUse, autoheuristicRule }).decisions;
    expect(decided(['mm'])).toEqual(['autoheuristicRule says so']);
    expect(decided(['conv'])).toEqual([expect.stringMatching(/measured now/)]);
  }),
  autoheuristicRule: restored(() => {
    const given: unknown[] = [];
    const decided = (place: unknown): readonly string[] => {
      const run = (problem: unknown): unknown => (given.push(problem), place);
      const all = { ...gemm, maxAutotuneReportChoicesStats: false, autoheuristicUse: ['mm'] };
      return tunedUnder({ ...all, autoheuristicRule: { key: String(place), run } }).decisions;
    };
    expect(decided(1)).toEqual(['autoheuristicRule says so']);
    expect(given).toEqual([
      { name: 'mm', features: expect.objectContaining({ m: 96, n: 90, k: 70 }), choices: expect.arrayContaining([{}]) },
    ]);
    expect(decided(null)).toEqual([expect.stringMatching(/measured now/)]);
    for (const place of [1.5, 1000, 'first'])
      expect(() => decided(place)).toThrow(expect.objectContaining({ code: 'AUTOHEURISTIC_RULE' }));
  }),
  precompilationTimeoutSeconds: restored(() => {
    // Candidates are several entries of a library, and never built; a graph has one.
    const hanging = wrappedCompiler('if [ "$(grep -c "int run_" $text)" -gt 1 ]; then sleep 600; fi');
    const options = { ...gemm, precompilationTimeoutSeconds: 1, 'cpp.cxx': [hanging] };
    let decisions: readonly string[] = [];
    expect(warningsOf(() => (decisions = tunedUnder(options).decisions))).toEqual(['COMPILE_TIMEOUT']);
    expect(decisions).toEqual([expect.stringMatching(/it could not be measured: building .* took longer than 1 s/)]);
  }),
} satisfies Record<string, Effect>;
