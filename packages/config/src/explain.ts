// A configuration as rows for people: every setting, its value, and where that came from.
import { reasonOf } from './errors.ts';
import { absentNames } from './known.ts';
import type { Absent } from './known.ts';
import { provenanceOf, valueOf } from './resolve.ts';
import type { Provenance } from './resolve.ts';
import type { Affects, SettingValue } from './setting.ts';
import { settingNames, settingOf, torchNameOf, variablesOf } from './settings.ts';
import type { Config, SettingName } from './settings.ts';

export interface ExplainedSetting {
  readonly name: SettingName;
  readonly torchName: string;
  readonly value: SettingValue;
  readonly source: Provenance;
  readonly affects: Affects;
  readonly env: readonly string[];
  readonly doc: string;
}

/** Every setting of `config`, sorted by name. */
export function explainConfig(config: Config): readonly ExplainedSetting[] {
  return [...settingNames]
    .sort((a, b) => (a < b ? -1 : 1))
    .map((name) => ({
      name,
      torchName: torchNameOf(name),
      value: valueOf(config, name),
      source: provenanceOf(config, name),
      affects: settingOf(name).affects,
      env: variablesOf(settingOf(name)),
      doc: settingOf(name).doc,
    }));
}

/** A name that is known and has no row of its own. */
export interface ExplainedName {
  readonly name: string;
  readonly kind: 'alias' | Absent['kind'];
  readonly env: readonly string[];
  /** What setting it does, or why it does nothing. */
  readonly says: string;
}

/** Every name beside those of settings: what stands for a setting, and what is answered when it is set. */
export function explainNames(): readonly ExplainedName[] {
  const aliases = settingNames.flatMap((setting) => {
    const { aliases: names = [], aliasEnv = [] } = settingOf(setting);
    const says = `sets ${setting}`;
    return [
      ...names.map((name) => ({ name, kind: 'alias' as const, env: [], says })),
      ...aliasEnv.map((name) => ({ name, kind: 'alias' as const, env: [name], says })),
    ];
  });
  const absent = absentNames.map((row) => ({
    name: row.name,
    kind: row.kind,
    env: row.env ?? [],
    says: reasonOf(row),
  }));
  return [...aliases, ...absent];
}

/** A source in words: `default`, `TORCHINDUCTOR_X`, `set by the program`. */
export function describeSource({ layer, variable }: Provenance): string {
  switch (layer) {
    case 'default':
      return 'default';
    case 'environment':
      return variable ?? 'environment';
    case 'forced':
      return `${variable ?? 'environment'} (forced)`;
    case 'program':
      return 'set by the program';
    case 'patch':
      return 'set for this scope';
    case 'options':
      return 'option of this compile call';
  }
}
