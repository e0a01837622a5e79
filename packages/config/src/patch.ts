// From what a program gives (nested, dotted, camelCase or torch's snake_case) to checked values by setting.
import {
  absentSetting,
  badSettingValue,
  ignoredSetting,
  notAPatch,
  reasonOf,
  settingGivenTwice,
  settingNotBuilt,
  unknownSetting,
} from './errors.ts';
import type { ConfigWarning } from './errors.ts';
import { findAbsent } from './known.ts';
import { findSetting, isSection, nearestSetting } from './names.ts';
import type { SettingValue } from './setting.ts';
import { settingOf } from './settings.ts';
import type { Config, SettingName } from './settings.ts';
import { checkValue } from './value.ts';

type Partly<T> = { readonly [K in keyof T]?: T[K] | undefined };

/**
 * Some settings: typed by their camelCase names (`{ cpp: { threads: 2 } }`), and by any other accepted spelling
 * (`{ 'cpp.threads': 2 }`, `{ 'cpp.min_chunk_size': 512 }`), which is checked when it is read.
 */
export type ConfigPatch = {
  readonly [K in keyof Config]?:
    | (Config[K] extends readonly unknown[]
        ? Config[K]
        : Config[K] extends object
          ? Partly<Config[K]> & Readonly<Record<string, unknown>>
          : Config[K])
    | undefined;
} & Readonly<Record<string, unknown>>;

/** Is given each warning; the caller decides how often it is told. */
export type Report = (warning: ConfigWarning) => void;

/**
 * Checks every name and value of `patch`. `undefined` means not given. Names that change nothing are reported, where somebody
 * wants to know.
 */
export function readPatch(patch: ConfigPatch, report?: Report): ReadonlyMap<SettingName, SettingValue> {
  if (!isPlain(patch)) throw notAPatch('the configuration', patch);
  const values = new Map<SettingName, SettingValue>();
  const spelled = new Map<SettingName, string>();
  for (const [path, given] of entriesOf(patch)) {
    const name = findSetting(path);
    if (name === undefined) {
      const warning = ignoredName(path);
      report?.(warning);
      continue;
    }
    const checked = checkValue(settingOf(name), given);
    if (checked.kind === 'rejected') throw badSettingValue(path, given, checked.allowed);
    const before = spelled.get(name);
    if (before !== undefined) throw settingGivenTwice(name, before, path);
    spelled.set(name, path);
    values.set(name, checked.value);
  }
  return values;
}

/** The warning for a name that is no setting, where it is one to be warned of; any other is an error that says what it is. */
function ignoredName(path: string): ConfigWarning {
  const absent = findAbsent(path);
  if (absent === undefined) throw unknownSetting(path, nearestSetting(path));
  if (absent.kind === 'waiting') throw settingNotBuilt(path, absent.part);
  if (absent.kind !== 'ignored') throw absentSetting(path, reasonOf(absent));
  return ignoredSetting(path, absent.says);
}

/** The members of a patch under their dotted names, sections opened. */
function entriesOf(patch: object): readonly (readonly [string, unknown])[] {
  return Object.entries(patch).flatMap(([key, value]: [string, unknown]): (readonly [string, unknown])[] => {
    if (value === undefined) return [];
    if (!isSection(key) || findSetting(key) !== undefined) return [[key, value]];
    if (!isPlain(value)) throw notAPatch(`section ${key}`, value);
    return Object.entries(value)
      .filter(([, member]: [string, unknown]) => member !== undefined)
      .map(([member, given]: [string, unknown]): readonly [string, unknown] => [`${key}.${member}`, given]);
  });
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
