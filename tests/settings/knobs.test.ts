// Every name of the systems that we follow has one answer: a row of the settings, another name of a row, a warning, a reason
// why there is no setting, the part of the product that it waits for; or it is nobody's business and never read. The list is
// `knobs.json`, a row for each name of each system, with what was decided about it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  absentNames,
  explainNames,
  isForeign,
  resolveConfig,
  settingNames,
  settings,
  torchNameOf,
  variablesOf,
  withConfig,
} from '@tsinductor/config';
import type { ConfigWarning, Setting } from '@tsinductor/config';

interface Knob {
  readonly name: string;
  readonly env: readonly string[];
  readonly system: string;
  readonly verdict: 'implement' | 'alias' | 'accept-and-warn' | 'out-of-scope';
  readonly area: string;
}

const knobs = JSON.parse(readFileSync(join(import.meta.dirname, 'knobs.json'), 'utf8')) as readonly Knob[];

type Answer = 'row' | 'alias' | 'ignored' | 'one way' | 'otherwise' | 'waiting' | 'foreign';

/** A name that is a flag inside a variable's text is answered as the variable is. */
const variableOf = (name: string): string => name.replace(/:.*/, '');

const rowNames = new Set(
  settingNames.flatMap((name) => {
    const row: Setting = settings[name];
    const own = variablesOf(row).filter((variable) => row.aliasEnv?.includes(variable) !== true);
    return [torchNameOf(name), ...own, ...(row.foundFrom ?? [])];
  }),
);

/** Every answer that the tables have for a name; there should be one. */
function answersFor(name: string): readonly Answer[] {
  return [
    ...(rowNames.has(name) ? ['row' as const] : []),
    ...explainNames().flatMap((known) => (known.name === name ? [known.kind] : [])),
    ...(isForeign(variableOf(name)) ? ['foreign' as const] : []),
  ];
}

/**
 * What each verdict may come to. A name that stands for one without a setting is answered as that is; one that stands for a call
 * of a program is a row.
 */
const allowed: Readonly<Record<Knob['verdict'], readonly Answer[]>> = {
  implement: ['row', 'one way', 'otherwise', 'waiting'],
  alias: ['alias', 'row', 'one way', 'otherwise', 'waiting'],
  'accept-and-warn': ['ignored'],
  'out-of-scope': ['foreign'],
};

test('the list has every name of every system', () => {
  expect(knobs).toHaveLength(525);
  const count = (verdict: Knob['verdict']): number => knobs.filter((knob) => knob.verdict === verdict).length;
  expect([count('implement'), count('alias'), count('accept-and-warn'), count('out-of-scope')]).toEqual([
    347, 12, 56, 110,
  ]);
});

describe.each([...new Set(knobs.map(({ area }) => area))])('area %s', (area) => {
  test.each(knobs.filter((knob) => knob.area === area))('$system: $name has one answer', (knob) => {
    const answers = answersFor(knob.name);
    expect(answers).toHaveLength(1);
    expect(allowed[knob.verdict]).toContain(answers[0]);
  });
});

const read = new Set(
  settingNames.flatMap((name) => {
    const row: Setting = settings[name];
    return [...variablesOf(row), ...(row.foundFrom ?? [])];
  }),
);

test.each(knobs.filter(({ env }) => env.length > 0))('$system: the variables of $name are answered', (knob) => {
  const answered = (variable: string): number =>
    Number(read.has(variable)) +
    absentNames.filter(({ env }) => env?.includes(variable) === true).length +
    Number(isForeign(variable));
  expect(knob.env.map(answered)).toEqual(knob.env.map(() => 1));
});

test('every name that is answered is one of the list', () => {
  const listed = new Set(knobs.map(({ name }) => name));
  expect(absentNames.filter(({ name }) => !listed.has(name))).toEqual([]);
  expect(explainNames().filter(({ kind, name }) => kind === 'alias' && !listed.has(name))).toEqual([]);
});

describe('a name that is set', () => {
  const base = resolveConfig({ env: {} });

  /** What comes of setting it by a program: a warning's code or an error's. */
  function answerOf(name: string): unknown {
    const warnings: ConfigWarning[] = [];
    try {
      const config = resolveConfig({ env: {}, program: { [name]: 1 }, report: (warning) => warnings.push(warning) });
      expect(config).toEqual(base);
    } catch (error) {
      return [(error as { code?: unknown }).code];
    }
    return warnings.map(({ code }) => code);
  }

  test.each(absentNames)('$name is answered once by the program’s settings', ({ name, kind }) => {
    const code = { ignored: 'SETTING_IGNORED', waiting: 'SETTING_NOT_BUILT' }[kind as string] ?? 'SETTING_ABSENT';
    expect(answerOf(name)).toEqual([code]);
  });

  const variables = absentNames.flatMap((absent) => (absent.env ?? []).map((variable) => ({ variable, absent })));
  test.each(variables.filter(({ absent }) => !('unless' in absent)))('$variable warns once', ({ variable }) => {
    const warnings: ConfigWarning[] = [];
    const config = resolveConfig({ env: { [variable]: '1' }, report: (warning) => warnings.push(warning) });
    expect(config).toEqual(base);
    expect(warnings).toMatchObject([{ code: 'ENVIRONMENT_ABSENT', subject: variable }]);
    expect(warnings[0]?.message).not.toContain('did you mean');
  });

  test.each(knobs.filter(({ verdict }) => verdict === 'out-of-scope'))('$name is not read', ({ env }) => {
    const variables = Object.fromEntries(env.map((variable) => [variable, '1']));
    const report = (warning: ConfigWarning): void => {
      throw new RangeError(warning.message);
    };
    expect(resolveConfig({ env: variables, report })).toEqual(base);
  });

  test('says what it is, where torch’s spelling and ours, nested and dotted, are the same', () => {
    const messageOf = (patch: Readonly<Record<string, unknown>>): unknown => {
      try {
        return withConfig(base, patch);
      } catch (error) {
        return (error as { message?: unknown }).message;
      }
    };
    for (const patch of [{ 'triton.cudagraphs': true }, { triton: { cudagraphs: true } }])
      expect(messageOf(patch)).toContain('triton.cudagraphs waits for CUDA graphs, which is not built yet');
    for (const name of ['static_weight_shapes', 'staticWeightShapes'])
      expect(messageOf({ [name]: true })).toContain(`${name} waits for lazy tensors`);
    expect(messageOf({ staticWeightShapse: true })).toContain('did you mean staticWeightShapes?');
    expect(messageOf({ cppWrapper: true })).toContain('there is no setting cppWrapper here: There is no other wrapper');
  });

  test('is never answered with the name of something else', () => {
    const warnings: ConfigWarning[] = [];
    resolveConfig({ env: { TORCHINDUCTOR_MULTI_KERNEL: '1' }, report: (warning) => warnings.push(warning) });
    expect(warnings.map(({ message }) => message)).toEqual([
      'environment variable TORCHINDUCTOR_MULTI_KERNEL has no effect: it waits for tuning on CUDA devices, which is not built yet',
    ]);
  });
});
