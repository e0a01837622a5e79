// Every error and warning the config package makes, by name.
import { UserError } from '@tsinductor/base';
import type { Absent } from './known.ts';

/** Something worth telling once: the caller decides where. `code` and `subject` identify it. */
export interface ConfigWarning {
  readonly code: 'ENVIRONMENT_UNKNOWN' | 'ENVIRONMENT_ABSENT' | 'ENVIRONMENT_WORD' | 'SETTING_IGNORED';
  readonly subject: string;
  readonly message: string;
}

export const unknownSetting = (name: string, nearest: string | undefined): UserError =>
  new UserError('SETTING_UNKNOWN', `there is no setting ${JSON.stringify(name.slice(0, 80))}`, {
    hint:
      nearest === undefined
        ? '`tsinductor config` lists all settings'
        : `did you mean ${nearest}? \`tsinductor config\` lists all settings`,
  });

/** A name of another system for which there is no setting here. */
export const absentSetting = (name: string, says: string): UserError =>
  new UserError('SETTING_ABSENT', `there is no setting ${name} here: ${says}`, {
    hint: 'leave it out; docs/settings.md has every name that is known',
  });

/** A name of another system that waits for a part of the product. */
export const settingNotBuilt = (name: string, part: string): UserError =>
  new UserError('SETTING_NOT_BUILT', `setting ${name} waits for ${part}, which is not built yet`, {
    hint: 'leave it out; `tsinductor config` lists what there is, and what waits',
  });

export const badSettingValue = (name: string, value: unknown, allowed: string): UserError =>
  new UserError('SETTING_VALUE', `setting ${name} was given ${describe(value)}`, { hint: `give ${allowed}` });

export const badEnvironmentValue = (variable: string, text: string, allowed: string): UserError =>
  new UserError('ENVIRONMENT_VALUE', `environment variable ${variable} is ${describe(text)}`, {
    hint: `set it to ${allowed}, or unset it`,
  });

export const settingGivenTwice = (name: string, first: string, second: string): UserError =>
  new UserError('SETTING_TWICE', `setting ${name} is given twice, as ${first} and as ${second}`, {
    hint: 'keep one of the two',
  });

/** What should be a patch over the settings is something else. */
export const notAPatch = (path: string, value: unknown): UserError =>
  new UserError('SETTING_PATCH', `${path} is ${describe(value)}`, {
    hint: 'give a plain object from setting names to values',
  });

export const unknownVariable = (variable: string, nearest: string | undefined): ConfigWarning => ({
  code: 'ENVIRONMENT_UNKNOWN',
  subject: variable,
  message:
    `environment variable ${variable} is not one that tsinductor reads, so it has no effect` +
    (nearest === undefined ? '' : `; did you mean ${nearest}?`),
});

/** A word that is no value of a variable which is not for this program alone. */
export const unknownWord = (variable: string, text: string, taken: string): ConfigWarning => ({
  code: 'ENVIRONMENT_WORD',
  subject: variable,
  message: `environment variable ${variable} is ${describe(text)}, which is no value of it here: ${taken} is taken`,
});

/** A variable of another system that has no effect here, and why. */
export const absentVariable = (variable: string, absent: Absent): ConfigWarning => ({
  code: 'ENVIRONMENT_ABSENT',
  subject: variable,
  message: `environment variable ${variable} has no effect: ${reasonOf(absent)}`,
});

/** A setting that is accepted for the sake of programs that set it elsewhere. */
export const ignoredSetting = (name: string, says: string): ConfigWarning => ({
  code: 'SETTING_IGNORED',
  subject: name,
  message: `setting ${name} has no effect: ${says}`,
});

/** Why a name changes nothing, as the end of a sentence. */
export const reasonOf = (absent: Absent): string =>
  absent.kind === 'waiting' ? `it waits for ${absent.part}, which is not built yet` : endOf(absent.says);

/** Sentences of a table as the end of another one. */
const endOf = (says: string): string => says.replace(/\.$/, '');

/** A short, safe description of any value for messages. */
function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (Array.isArray(value)) return `an array of ${String(value.length)} items`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value === 'function') return 'a function';
  return String(value);
}
