// From a name that a user wrote to the setting that is meant: the key itself (`cpp.minChunkSize`) or torch's dotted
// spelling (`cpp.min_chunk_size`). For a name that is neither, the nearest known one is found for the message.
import { nearest } from '@tsinductor/base';
import { settingNames, torchNameOf } from './settings.ts';
import type { SettingName } from './settings.ts';

/** The setting called `name`, or undefined. */
export function findSetting(name: string): SettingName | undefined {
  return settingNames.find((key) => key === name || torchNameOf(key) === name);
}

/** Whether `name` is the first half of some dotted setting name. */
export const isSection = (name: string): boolean => settingNames.some((key) => key.startsWith(`${name}.`));

/** The spelling of a setting that is closest to `name`, in the style that `name` was written in. */
export function nearestSetting(name: string): string | undefined {
  const spellings = settingNames.map((key) => (name.includes('_') ? torchNameOf(key) : key));
  return nearest(name, spellings);
}
