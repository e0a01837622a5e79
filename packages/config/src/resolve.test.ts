import { describe, expect, test } from '@jest/globals';
import {
  explainConfig,
  fingerprint,
  isLogged,
  provenanceOf,
  resolveConfig,
  settingNames,
  settings,
  valueOf,
  withConfig,
} from './index.ts';
import type { ConfigPatch, ConfigWarning, LogTopic, Setting, SettingName, SettingValue } from './index.ts';
import { torchNameOf, variablesOf } from './settings.ts';

const empty = { env: {} };
const rows = settingNames.map((name) => [name, settings[name] as Setting] as const);

/** A legal value of a setting that is not `present`, and its text in an environment variable. */
function otherValue(setting: Setting, present: SettingValue): { value: SettingValue; text: string } {
  switch (setting.type) {
    case 'bool':
      return { value: present !== true, text: present === true ? '0' : '1' };
    case 'int':
    case 'float': {
      const next = typeof present === 'number' ? present + 1 : (setting.min ?? 0) + 1;
      const value = next <= (setting.max ?? Infinity) ? next : next - 2;
      return { value, text: String(value) };
    }
    case 'string':
      return { value: '/somewhere/else', text: '/somewhere/else' };
    case 'stringList':
      return listOf(setting.values?.slice(0, 2) ?? namesIn(setting.pattern) ?? ['one', 'two']);
    case 'intList':
      return { value: [64, 256], text: '64, 256' };
    case 'choice': {
      const value = setting.values.find((candidate) => candidate !== present) ?? '';
      return { value, text: value };
    }
    case 'table':
      return { value: { one: { two: [3] } }, text: '' };
    case 'hook':
      return { value: { key: 'identity', run: (argument: unknown) => argument }, text: '' };
  }
}

/** The first two names of which a pattern has a choice. */
const namesIn = (pattern = ''): readonly string[] | undefined =>
  /^\^\(([a-z_|]+)\)/.exec(pattern)?.[1]?.split('|').slice(0, 2);

const listOf = (items: readonly string[]): { value: readonly string[]; text: string } => ({
  value: items,
  text: items.join(','),
});

const illegal: Readonly<Record<Setting['type'], { value: unknown; text: string | undefined }>> = {
  bool: { value: 'yes', text: 'maybe' },
  int: { value: 1.5, text: '1.5' },
  float: { value: Number.NaN, text: 'one' },
  string: { value: 7, text: undefined },
  stringList: { value: [''], text: undefined },
  intList: { value: [64, 0.5], text: '64,many' },
  choice: { value: 'no such choice', text: 'no such choice' },
  table: { value: { one: { two: undefined } }, text: undefined },
  hook: { value: { key: '', run: 1 }, text: undefined },
};

const patchOf = (name: SettingName, value: unknown): ConfigPatch => ({ [name]: value });
const caught = (run: () => unknown): { code?: unknown; message?: unknown } => {
  try {
    run();
  } catch (error) {
    return error as { code?: unknown; message?: unknown };
  }
  return {};
};

describe.each(rows)('setting %s', (name, setting) => {
  const base = resolveConfig(empty);
  const other = otherValue(setting, valueOf(base, name));

  test('has its default, a sentence of documentation, and a place in the config', () => {
    expect(provenanceOf(base, name)).toEqual({ layer: 'default' });
    if (setting.computed === undefined) expect(valueOf(base, name)).toEqual(setting.default);
    expect(valueOf(base, name)).not.toBeUndefined();
    expect(setting.doc).toMatch(/^[A-Z].{20,}\.|^[A-Z].{20,}/);
  });

  test('is set by its key and by torch’s name', () => {
    expect(valueOf(withConfig(base, patchOf(name, other.value)), name)).toEqual(other.value);
    expect(valueOf(withConfig(base, { [torchNameOf(name)]: other.value }), name)).toEqual(other.value);
  });

  test('rejects a bad value by name', () => {
    const error = caught(() => withConfig(base, patchOf(name, illegal[setting.type].value)));
    expect(error).toMatchObject({ code: 'SETTING_VALUE' });
    expect(error.message).toContain(name);
  });

  test('is read from each of its variables', () => {
    for (const variable of variablesOf(setting)) {
      const config = resolveConfig({ env: { [variable]: other.text } });
      expect(valueOf(config, name)).toEqual(other.value);
      expect(provenanceOf(config, name)).toMatchObject({ variable });
      expect(valueOf(resolveConfig({ env: { [variable]: '' } }), name)).toEqual(valueOf(base, name));
      const { text } = illegal[setting.type];
      if (
        text === undefined ||
        setting.envText === 'anyIsTrue' ||
        setting.envText === 'trueOrFalse' ||
        setting.envText === 'wordOrDefault'
      )
        continue;
      const error = caught(() => resolveConfig({ env: { [variable]: text } }));
      expect(error).toMatchObject({ code: 'ENVIRONMENT_VALUE' });
      expect(error.message).toContain(variable);
    }
  });

  test('changes the fingerprint exactly if it affects code', () => {
    const changed = fingerprint(withConfig(base, patchOf(name, other.value))) !== fingerprint(base);
    expect(changed).toBe(setting.affects === 'code');
  });
});

describe('a list of names that there are', () => {
  const bad = (names: readonly string[]): unknown =>
    (caught(() => withConfig(resolveConfig(empty), { cpp: { withoutTrafficRules: names } })) as { hint?: unknown })
      .hint;

  test('refuses an unknown one, and tells the nearest', () => {
    expect(bad(['next row', 'tile'])).toMatch(
      /names out of next row, .*; "tile" is none of them, did you mean "tiles"\?$/,
    );
    expect(bad(['magic'])).toMatch(/"magic" is none of them$/);
    const env = { TSINDUCTOR_CPP_WITHOUT_TRAFFIC_RULES: 'tiles, nextrow' };
    expect(caught(() => resolveConfig({ env }))).toMatchObject({
      code: 'ENVIRONMENT_VALUE',
      hint: expect.stringMatching(/, separated by commas; "nextrow" is none of them, did you mean "next row"\?,/),
    });
  });

  test('takes words in any case where they are words', () => {
    const env = { TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS: 'aten, Cpp' };
    expect(resolveConfig({ env }).maxAutotuneGemmBackends).toEqual(['ATEN', 'CPP']);
    expect(withConfig(resolveConfig(empty), { maxAutotuneGemmBackends: ['cpp'] }).maxAutotuneGemmBackends).toEqual([
      'CPP',
    ]);
  });

  test('takes names with spaces between commas', () => {
    const env = { TSINDUCTOR_CPP_WITHOUT_TRAFFIC_RULES: 'tiles, next row' };
    expect(resolveConfig({ env }).cpp.withoutTrafficRules).toEqual(['tiles', 'next row']);
  });
});

describe('layers', () => {
  test('a later layer wins, and each value says where it came from', () => {
    const env = { TORCHINDUCTOR_SIZE_ASSERTS: '0', TORCHINDUCTOR_COMPILE_THREADS: '3' };
    const config = resolveConfig({
      env,
      program: { sizeAsserts: true, maxFusionSize: 10, debug: true },
      patch: { maxFusionSize: 11, debug: false },
      options: { max_fusion_size: 12 },
    });
    expect(config.sizeAsserts).toBe(true);
    expect(config.maxFusionSize).toBe(12);
    expect(provenanceOf(config, 'compileThreads')).toEqual({
      layer: 'environment',
      variable: 'TORCHINDUCTOR_COMPILE_THREADS',
    });
    expect(provenanceOf(config, 'sizeAsserts')).toEqual({ layer: 'program' });
    expect(provenanceOf(config, 'debug')).toEqual({ layer: 'patch' });
    expect(provenanceOf(config, 'maxFusionSize')).toEqual({ layer: 'options' });
  });

  test('a force variable beats the program, a default variable loses to it', () => {
    const forced = resolveConfig({ env: { TORCHINDUCTOR_FX_GRAPH_CACHE: '0' }, program: { fxGraphCache: true } });
    expect(forced.fxGraphCache).toBe(false);
    expect(withConfig(forced, { fxGraphCache: true }).fxGraphCache).toBe(false);
    const fallback = { TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT: '0' };
    expect(resolveConfig({ env: fallback }).fxGraphCache).toBe(false);
    expect(resolveConfig({ env: fallback, program: { fxGraphCache: true } }).fxGraphCache).toBe(true);
  });

  test('sections are given nested or dotted, in either spelling', () => {
    const base = resolveConfig(empty);
    const spellings: ConfigPatch[] = [
      { cpp: { minChunkSize: 7 } },
      { cpp: { min_chunk_size: 7 } },
      { 'cpp.minChunkSize': 7 },
      { 'cpp.min_chunk_size': 7 },
    ];
    for (const patch of spellings) expect(withConfig(base, patch).cpp.minChunkSize).toBe(7);
    expect(caught(() => withConfig(base, { maxFusionSize: 1, max_fusion_size: 2 }))).toMatchObject({
      code: 'SETTING_TWICE',
    });
  });

  test('undefined means not given', () => {
    expect(withConfig(resolveConfig(empty), { maxFusionSize: undefined }).maxFusionSize).toBe(64);
  });

  test('the result is deeply frozen and keeps its sources to itself', () => {
    const config = resolveConfig({ ...empty, program: { torchLogs: ['recompiles'] } });
    expect([config, config.cpp, config.trace, config.torchLogs].every((part) => Object.isFrozen(part))).toBe(true);
    expect(Object.keys(config)).toContain('cpp');
    expect(JSON.stringify(config)).not.toContain('layer');
    expect(fingerprint(structuredClone(config))).toBe(fingerprint(config));
  });

  test('a frozen copy is made of a list that the program keeps', () => {
    const given = ['recompiles'];
    const config = withConfig(resolveConfig(empty), { torchLogs: given });
    given.push('guards');
    expect(config.torchLogs).toEqual(['recompiles']);
  });
});

describe('one variable of two settings', () => {
  const profileOf = (text: string): readonly unknown[] => {
    const { profileBandwidth, profileBandwidthRegex } = resolveConfig({ env: { TORCHINDUCTOR_PROFILE: text } });
    return [profileBandwidth, profileBandwidthRegex];
  };

  test('says that something is done, and to what', () => {
    expect(['', '1', 'softmax', '0'].map(profileOf)).toEqual([
      [false, null],
      [true, null],
      [true, 'softmax'],
      [true, '0'],
    ]);
  });

  test('is an error where its text is no regular expression', () => {
    const error = caught(() => profileOf('('));
    expect(error).toMatchObject({ code: 'ENVIRONMENT_VALUE' });
    expect(error.message).toMatch(/TORCHINDUCTOR_PROFILE.*a regular expression or none/s);
    expect(caught(() => withConfig(resolveConfig(empty), { profileBandwidthRegex: '[' }))).toMatchObject({
      code: 'SETTING_VALUE',
    });
  });
});

test('a variable may say true and false', () => {
  const preallocate = (text: string): boolean =>
    resolveConfig({ env: { XLA_PYTHON_CLIENT_PREALLOCATE: text } }).cuda.preallocate;
  expect(['true', 'false', '1', '0'].map(preallocate)).toEqual([true, false, true, false]);
  expect(caught(() => preallocate('yes')).message).toContain('0, 1, true or false');
});

test('a variable that others read too may have a word that is none here: a warning, and the default', () => {
  const warnings: ConfigWarning[] = [];
  const level = (text: string): string =>
    resolveConfig({ env: { LOGLEVEL: text }, report: (warning) => warnings.push(warning) }).loglevel;
  expect(['debug', 'ERROR', 'verbose'].map(level)).toEqual(['DEBUG', 'ERROR', 'INFO']);
  expect(warnings).toMatchObject([{ code: 'ENVIRONMENT_WORD', subject: 'LOGLEVEL' }]);
  expect(resolveConfig({ env: { LOGLEVEL: 'DEBUG', LOGGING_LEVEL_ED: 'ERROR' } }).loglevel).toBe('DEBUG');
  expect(resolveConfig({ env: { LOGGING_LEVEL_ED: 'ERROR' } }).loglevel).toBe('ERROR');
});

test('logs have torch’s names and signs', () => {
  const { values } = settings.torchLogs;
  const topics = values.filter((name) => isLogged(name as LogTopic, ['all']));
  expect(values.filter((name) => !topics.some((topic) => isLogged(topic as LogTopic, [`+${name}`])))).toEqual([]);
  expect(topics.join(' ')).toBe(
    'graph graph_code graph_sizes guards recompiles graph_breaks dynamic fusion schedule output_code kernel_code perf_hints autotuning cudagraphs',
  );
  const logged = (text: string): readonly string[] => {
    const { torchLogs } = resolveConfig({ env: { TORCH_LOGS: text } });
    return (['graph_breaks', 'guards', 'fusion', 'cudagraphs'] as const).filter((topic) => isLogged(topic, torchLogs));
  };
  expect(logged('guards')).toEqual(['guards']);
  expect(logged('+guards, fusion')).toEqual(['guards', 'fusion']);
  expect(logged('all,-fusion')).toEqual(['graph_breaks', 'guards', 'cudagraphs']);
  expect(logged('-fusion,all')).toHaveLength(4);
  expect([logged('dynamo'), logged('+dynamo')]).toEqual([['graph_breaks'], ['graph_breaks', 'guards']]);
  expect(caught(() => logged('-guard'))).toMatchObject({
    code: 'ENVIRONMENT_VALUE',
    hint: expect.stringContaining('"-guard" is none of them, did you mean "guards"?'),
  });
});

test('a variable of another system may say yes where ours say 1', () => {
  const cached = (env: Readonly<Record<string, string>>): boolean => resolveConfig({ env }).fxGraphCache;
  expect(['TRUE', 'yes', '1', 'easy'].map((text) => cached({ EASYDEL_CACHE_COMPILES: text }))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['False', 'no', '0'].map((text) => cached({ EASYDEL_CACHE_COMPILES: text }))).toEqual([false, false, false]);
  expect(caught(() => cached({ TORCHINDUCTOR_FX_GRAPH_CACHE: 'true' }))).toMatchObject({ code: 'ENVIRONMENT_VALUE' });
});

describe('names that are wrong', () => {
  const base = resolveConfig(empty);
  const message = (patch: unknown): unknown => caught(() => withConfig(base, patch as ConfigPatch)).message;

  test('the nearest name is offered in the style that was used', () => {
    expect(message({ maxFusionSise: 1 })).toContain('did you mean maxFusionSize');
    expect(message({ max_fuson_size: 1 })).toContain('did you mean max_fusion_size');
    expect(message({ cpp: { thread: 1 } })).toContain('did you mean cpp.threads');
    expect(message({ 'triton.nothing.like.it': true })).toContain('`tsinductor config` lists all settings');
  });

  test('what is no patch is said to be none', () => {
    for (const patch of [null, 3, 'debug', [1]]) {
      expect(caught(() => withConfig(base, patch as unknown as ConfigPatch))).toMatchObject({ code: 'SETTING_PATCH' });
    }
    expect(caught(() => withConfig(base, { cpp: 3 } as unknown as ConfigPatch))).toMatchObject({
      code: 'SETTING_PATCH',
    });
  });

  test('names of prototypes are names like any other', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const patch = JSON.parse(`{"${name}": 1}`) as ConfigPatch;
      expect(caught(() => withConfig(base, patch))).toMatchObject({ code: 'SETTING_UNKNOWN' });
    }
  });

  test('an unknown variable is a warning that names the nearest known one', () => {
    const warnings: ConfigWarning[] = [];
    const env = { TORCHINDUCTOR_SIZE_ASSERT: '1', TORCHINDUCTOR_SIZE_ASSERTS: '1', HOME: '/home/a' };
    resolveConfig({ env, report: (warning) => warnings.push(warning) });
    expect(warnings.map(({ subject }) => subject)).toEqual(['TORCHINDUCTOR_SIZE_ASSERT']);
    expect(warnings[0]?.message).toContain('did you mean TORCHINDUCTOR_SIZE_ASSERTS?');
  });
});

describe('computed defaults', () => {
  test('on Windows the cache lives in the local application data', () => {
    const env = { HOME: '/home/a', LOCALAPPDATA: 'C:/Users/a/AppData/Local' };
    expect(resolveConfig({ env }).cacheDir).toBe('/home/a/.cache/tsinductor');
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' });
    try {
      expect(resolveConfig({ env }).cacheDir).toBe('C:/Users/a/AppData/Local/tsinductor');
    } finally {
      Object.defineProperty(process, 'platform', platform);
    }
  });

  test('the cache lives in the user’s cache directory', () => {
    expect(resolveConfig({ env: { HOME: '/home/a' } }).cacheDir).toBe('/home/a/.cache/tsinductor');
    expect(resolveConfig({ env: { HOME: '/home/a', XDG_CACHE_HOME: '/x' } }).cacheDir).toBe('/x/tsinductor');
    expect(resolveConfig({ env: { HOME: '/home/a', XDG_CACHE_HOME: 'relative' } }).cacheDir).toMatch(/^\/home\/a/);
  });
});

test('explainConfig lists every setting once, with value and source', () => {
  const config = resolveConfig({ env: { TORCH_LOGS: '+recompiles, guards' } });
  const explained = explainConfig(config);
  expect(explained.map(({ name }) => name)).toEqual([...settingNames].sort());
  expect(explained.find(({ name }) => name === 'torchLogs')).toMatchObject({
    torchName: 'torch_logs',
    value: ['+recompiles', 'guards'],
    source: { layer: 'environment', variable: 'TORCH_LOGS' },
  });
});

test('no two settings share a name or a variable, whatever the spelling', () => {
  const names = settingNames.flatMap((name) => [...new Set([name as string, torchNameOf(name)])]);
  expect(new Set(names).size).toBe(names.length);
  // A variable has two readers only where each reads a part of its text.
  const shares = (setting: Setting, variable: string): string => `${variable} ${setting.envText ?? 'value'}`;
  const variables = rows.flatMap(([, setting]) => variablesOf(setting).map((variable) => shares(setting, variable)));
  expect(new Set(variables).size).toBe(variables.length);
  const whole = rows.flatMap(([, setting]) => (setting.envText === undefined ? variablesOf(setting) : []));
  expect(
    rows.filter(([, { env = [], envText }]) => envText !== undefined && env.some((name) => whole.includes(name))),
  ).toEqual([]);
});
