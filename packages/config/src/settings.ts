// The table of all settings, put together from its areas, and the `Config` type that follows from it. A key with a dot
// names a member of a section (`cpp.threads` is `config.cpp.threads`). Adding a setting is adding a row to an area.
import type { Setting, ValueOf } from './setting.ts';
import { caching } from './settings/caching.ts';
import { cpp } from './settings/cpp.ts';
import { cuda } from './settings/cuda.ts';
import { diagnostics } from './settings/diagnostics.ts';
import { execution } from './settings/execution.ts';
import { graphPasses } from './settings/graph-passes.ts';
import { lowering } from './settings/lowering.ts';
import { memory } from './settings/memory.ts';
import { profiling } from './settings/profiling.ts';
import { remote } from './settings/remote.ts';
import { scheduling } from './settings/scheduling.ts';
import { training } from './settings/training.ts';
import { tuning } from './settings/tuning.ts';

type Settings = typeof caching &
  typeof remote &
  typeof graphPasses &
  typeof lowering &
  typeof scheduling &
  typeof memory &
  typeof cpp &
  typeof cuda &
  typeof execution &
  typeof profiling &
  typeof training &
  typeof tuning &
  typeof diagnostics;

/** A key of the table, such as `maxFusionSize` or `cpp.threads`. */
export type SettingName = keyof Settings;

export const settings: Settings & Readonly<Record<SettingName, Setting>> = {
  ...caching,
  ...remote,
  ...graphPasses,
  ...lowering,
  ...scheduling,
  ...memory,
  ...cpp,
  ...cuda,
  ...execution,
  ...profiling,
  ...training,
  ...tuning,
  ...diagnostics,
};

export const settingNames: readonly SettingName[] = Object.keys(settings) as SettingName[];

/** The row of `name`, seen as any row. */
export const settingOf = (name: SettingName): Setting => settings[name];

type SectionOf<Name> = Name extends `${infer Section}.${string}` ? Section : never;
type MemberOf<Name, Section extends string> = Name extends `${Section}.${infer Member}` ? Member : never;

type RootValues = {
  readonly [Name in SettingName as Name extends `${string}.${string}` ? never : Name]: ValueOf<Settings[Name]>;
};
type SectionValues = {
  readonly [Section in SectionOf<SettingName>]: {
    readonly [Name in SettingName as MemberOf<Name, Section>]: ValueOf<Settings[Name]>;
  };
};

/** One value for every setting. Made by `resolveConfig` and `withConfig`, deeply frozen. */
export type Config = RootValues & SectionValues;

/** Torch's dotted name of a setting. */
export function torchNameOf(name: SettingName): string {
  return settingOf(name).torchName ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Every environment variable that a setting reads, whatever its rank. */
export function variablesOf(setting: Setting): readonly string[] {
  return [
    ...(setting.forceEnv ?? []),
    ...(setting.env ?? []),
    ...(setting.aliasEnv ?? []),
    ...(setting.defaultEnv ?? []),
  ];
}
