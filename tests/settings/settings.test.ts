// Every setting does something, and is part of the cache key exactly if it changes the code. An effect is tested in one of
// the tables here, or beside the source that reads the setting: a row with neither fails, and so does an effect without
// a row.
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { resolveConfig, settingNames, settings, valueOf } from '@tsinductor/config';
import type { Setting, SettingName, SettingValue } from '@tsinductor/config';
import { randn, reset } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { cachingEffects } from './caching-effects.ts';
import { candidateEffects } from './candidate-effects.ts';
import { cppEffects } from './cpp-effects.ts';
import { cudaEffects } from './cuda-effects.ts';
import { diagnosticsEffects } from './diagnostics-effects.ts';
import { copyingCompiler, freshDirectory, reportOf, temporaryTop } from './effect.ts';
import type { Effect } from './effect.ts';
import { executionEffects } from './execution-effects.ts';
import { graphPassEffects } from './graph-pass-effects.ts';
import { layoutEffects } from './layout-effects.ts';
import { loweringEffects } from './lowering-effects.ts';
import { memoryEffects } from './memory-effects.ts';
import { profilingEffects } from './profiling-effects.ts';
import { remoteEffects } from './remote-effects.ts';
import { trainingEffects } from './training-effects.ts';
import { tuningEffects } from './tuning-effects.ts';

const effects: Readonly<Partial<Record<SettingName, Effect>>> = {
  ...cachingEffects,
  ...candidateEffects,
  ...cppEffects,
  ...cudaEffects,
  ...diagnosticsEffects,
  ...executionEffects,
  ...graphPassEffects,
  ...layoutEffects,
  ...loweringEffects,
  ...memoryEffects,
  ...profilingEffects,
  ...remoteEffects,
  ...trainingEffects,
  ...tuningEffects,
};

afterAll(() => {
  reset();
  rmSync(temporaryTop, { recursive: true, force: true });
});

const packages = join(import.meta.dirname, '../../packages');

/** The texts of tests beside the sources, but for those of the table of settings itself. */
const testTexts: readonly string[] = readdirSync(packages, { recursive: true, encoding: 'utf8' })
  .filter((path) => /^(?!config)[a-z-]+\/src\/.*\.test\.ts$/.test(path))
  .map((path) => readFileSync(join(packages, path), 'utf8'));

/** Whether a test beside the sources sets it: `{ maxFusionSize: 2 }`, `{ cpp: { threads: 1 } }`. */
function isSetByTests(name: SettingName): boolean {
  const [section = '', member] = name.split('.');
  const nested = member === undefined ? '' : `:\\s*\\{[^}]*\\b${member}`;
  const use = new RegExp(`\\b${section}${nested}:|'${name.replaceAll('.', '\\.')}':`);
  return testTexts.some((text) => use.test(text));
}

describe('effects', () => {
  test('are tested for every setting, here or beside the source', () => {
    expect(settingNames.filter((name) => effects[name] === undefined && !isSetByTests(name))).toEqual([]);
    expect(Object.keys(effects).filter((name) => !(settingNames as readonly string[]).includes(name))).toEqual([]);
  });

  test.each(Object.entries(effects))('%s', async (_name, effect) => {
    await effect();
  });
});

describe('the cache key', () => {
  const base = resolveConfig({ env: {} });
  const fn = (x: Tensor): Tensor => x.add(1).sum(-1);
  const x = randn([4, 4]);
  const cacheDir = freshDirectory();
  const cxx = [copyingCompiler()];
  const keyWith = (options: Readonly<Record<string, unknown>>): string | undefined =>
    reportOf(fn, [x], { cacheDir, 'cpp.cxx': cxx, ...options }).cacheKey;

  /** Values that still compile natively here, where any other value would not. */
  const others: Partial<Record<SettingName, SettingValue>> = {
    autotuneCacheDir: freshDirectory(),
    autoheuristicCollect: ['mm'],
    autoheuristicLogPath: freshDirectory(),
    autoheuristicRule: { key: 'same', run: () => null },
    autoheuristicUse: ['mm'],
    autotuneLookupTable: { none: {} },
    cacheDir: freshDirectory(),
    'cpp.cxx': ['/usr/bin/c++'],
    'cuda.cudaCxx': '/opt/nvcc',
    'cuda.cutlassOpAllowlistRegex': '128',
    'cuda.cutlassOpDenylistRegex': '128',
    'cuda.debugLevel': '1',
    'cuda.hostCompiler': '/opt/c++',
    'cuda.version': '12.4',
    'cuda.driver': 'libcuda.so',
    'cuda.home': '/opt/cuda',
    'cuda.installed': '/opt',
    'cuda.path': '/opt/cuda',
    'cpp.optimizationFlag': '-O1',
    'cpp.searchPath': '/bin:/usr/bin',
    'cpp.vecIsaOk': false,
    'cpp.simdlen': 1,
    ciFlag: 'CIRCLECI',
    'cpp.threads': 1,
    'cpp.withoutTrafficRules': ['next row'],
    'cuda.visibleDevices': '0',
    compiledFunctionsDir: freshDirectory(),
    globalCacheDir: freshDirectory(),
    maxAutotuneConvBackends: ['CPP'],
    maxAutotuneGemmBackends: ['CPP'],
    dynamic: false,
    activationMemoryLimit: 1_000_000,
    customPartitionerFn: { key: 'same', run: () => [] },
    jointCustomPrePass: { key: 'same', run: (graph: unknown) => graph },
    jointCustomPostPass: { key: 'same', run: (graph: unknown) => graph },
    jitPostCompileHook: { key: 'same', run: () => undefined },
    inductorChoicesClass: { key: 'same', run: (choices: unknown) => choices },
    postFusionCustomPass: { key: 'same', run: (groups: unknown) => groups },
    preGradCustomPass: { key: 'same', run: (graph: unknown) => graph },
    preGradFusionOptions: ['batch_tanh'],
    addPreGradPasses: ['batch_tanh'],
    removePreGradPasses: ['batch_tanh'],
    postGradFusionOptions: ['batch_aten_tanh'],
    postGradCustomPrePass: { key: 'same', run: (graph: unknown) => graph },
    postGradCustomPostPass: { key: 'same', run: (graph: unknown) => graph },
    preFusionCustomPass: { key: 'same', run: (nodes: unknown) => nodes },
    multiKernelHints: [64, 256],
    profileBandwidthOutput: '/dev/null',
    profileBandwidthRegex: 'softmax',
    redisHost: '127.0.0.1',
    redisUrl: 'redis://127.0.0.1:1',
    remoteCacheKey: join(freshDirectory(), 'key'),
    remoteCacheTrust: [join(freshDirectory(), 'key')],
    'trace.debugDir': freshDirectory(),
    torchTrace: freshDirectory(),
    torchLogs: ['guards'],
    torchLogsOut: join(freshDirectory(), 'log'),
    workerLogPath: join(freshDirectory(), 'worker-'),
  };

  test.each(settingNames)('contains %s exactly if it affects code', (name) => {
    const row: Setting = settings[name];
    const value = others[name] ?? otherValue(row, valueOf(base, name));
    // Symbolic sizes make another graph, which has another key by itself.
    const fixed = name === 'dynamic' ? {} : { dynamic: false };
    // First, so that code which would be built in the background is there.
    const plain = keyWith({ dynamic: false });
    const changed = keyWith({ ...fixed, [name]: value }) !== plain;
    expect(changed).toBe(row.affects === 'code');
  });

  function otherValue(row: Setting, present: SettingValue): SettingValue {
    if (row.type === 'bool') return present !== true;
    if (row.type === 'choice') return row.values.find((value) => value !== present) ?? '';
    if (row.type === 'int' || row.type === 'float') {
      const next = Number(present ?? row.min ?? 0) + 1;
      return next <= (row.max ?? Infinity) ? next : next - 2;
    }
    throw new RangeError('give the table above a value of this setting that compiles');
  }
});
