// From a name that a user wrote to the setting that is meant: the key itself (`cpp.minChunkSize`), torch's dotted
// spelling (`cpp.min_chunk_size`), or an alias. For a name that is none of them, the nearest known one is found for the message.
import { nearest } from '@tsinductor/base';
import { absentNames, camelCase } from './known.ts';
import { settingNames, settingOf, torchNameOf } from './settings.ts';
import type { SettingName } from './settings.ts';

/** The setting called `name`, or undefined. */
export function findSetting(name: string): SettingName | undefined {
  return settingNames.find(
    (key) => key === name || torchNameOf(key) === name || settingOf(key).aliases?.includes(name) === true,
  );
}

/** Whether `name` is the first half of some dotted name. */
export const isSection = (name: string): boolean =>
  settingNames.some((key) => key.startsWith(`${name}.`)) ||
  absentNames.some((absent) => absent.name.startsWith(`${name}.`));

/** The spelling of a setting, or of a name that is answered, closest to `name`, in the style that `name` was written in. */
export function nearestSetting(name: string): string | undefined {
  const isTorch = name.includes('_');
  const spellings = settingNames.map((key) => (isTorch ? torchNameOf(key) : key));
  const answered = absentNames.map((absent) => (isTorch ? absent.name : camelCase(absent.name)));
  return nearest(name, spellings) ?? nearest(name, answered);
}
