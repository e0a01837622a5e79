// From text or an unchecked value to a setting's value, and the sentence that says what is allowed.
import { isDeepStrictEqual } from 'node:util';
import { nearest } from '@tsinductor/base';
import type { Hook, Setting, SettingTable, SettingValue } from './setting.ts';

/** Whether a value was acceptable. */
type Checked =
  { readonly kind: 'value'; readonly value: SettingValue } | { readonly kind: 'rejected'; readonly allowed: string };

type ListRow = Extract<Setting, { readonly type: 'stringList' }>;

/** Checks a value that a program gave. */
export function checkValue(setting: Setting, value: unknown): Checked {
  const accepted = value === null ? setting.nullable === true : accepts(setting, value);
  if (!accepted) return { kind: 'rejected', allowed: `${allowedValues(setting)}${unknownItem(setting, value)}` };
  return { kind: 'value', value: copyOf(setting, value as SettingValue) };
}

/** Frozen, and apart from what the program keeps. */
function copyOf(setting: Setting, value: SettingValue): SettingValue {
  if (value === null) return null;
  if (setting.type === 'stringList')
    return Object.freeze((value as readonly string[]).map((item) => inCase(item, setting)));
  if (setting.type === 'intList') return Object.freeze([...(value as readonly number[])]);
  if (setting.type === 'table') return frozen(JSON.parse(JSON.stringify(value)) as SettingTable);
  if (setting.type !== 'hook') return value;
  const { key, run } = value as Hook;
  return Object.freeze({ key, run });
}

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
};

/** An item as its value is spelled. */
const inCase = (item: string, { anyCase }: Pick<ListRow, 'anyCase'>): string =>
  anyCase === true ? item.toUpperCase() : item;

/** Reads and checks the text of an environment variable. Of booleans only 0 and 1 are values, as for PyTorch. */
export function parseText(setting: Setting, text: string): Checked {
  const trimmed = text.trim();
  const parsed = isNullText(setting, trimmed) ? null : parseAs(setting, trimmed);
  const checked: Checked = parsed === undefined ? { kind: 'rejected', allowed: '' } : checkValue(setting, parsed);
  if (checked.kind === 'value') return checked;
  return { kind: 'rejected', allowed: `${allowedText(setting)}${unknownItem(setting, parsed)}` };
}

const isNullText = ({ nullable, envText }: Setting, text: string): boolean =>
  nullable === true && (text === 'none' || (envText === 'oneIsNull' && text === '1'));

/** How some variables write 1 and 0. */
const flagWords: Readonly<Partial<Record<string, string>>> = { true: '1', false: '0' };

/** Words that variables of other systems have for 1 and 0, in any case; other text stays. */
export function flagText(text: string): string {
  if (/^(true|yes|ok|easy)$/i.test(text.trim())) return '1';
  return /^(false|no)$/i.test(text.trim()) ? '0' : text;
}

const flagOf = (text: string): boolean | undefined => (text === '1' ? true : text === '0' ? false : undefined);

function parseAs(setting: Setting, text: string): SettingValue | undefined {
  switch (setting.type) {
    case 'bool':
      if (setting.envText === 'anyIsTrue') return true;
      return flagOf(setting.envText === 'trueOrFalse' ? (flagWords[text] ?? text) : text);
    case 'int':
      return intOf(text);
    case 'float':
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
    case 'string':
      return text;
    case 'choice':
      return setting.envText === 'wordOrDefault' ? text.toUpperCase() : text;
    case 'stringList':
      return itemsIn(text);
    case 'intList': {
      const items = itemsIn(text).map(intOf);
      return items.every((item) => item !== undefined) ? items : undefined;
    }
    case 'table':
    case 'hook':
      return undefined;
  }
}

const intOf = (text: string): number | undefined => (/^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined);

const itemsIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

function accepts(setting: Setting, value: unknown): boolean {
  switch (setting.type) {
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return isWhole(setting, value);
    case 'float':
      return Number.isFinite(value) && inRange(setting, value as number);
    case 'string':
      return isText(value) && (setting.syntax === undefined || isRegularExpression(value));
    case 'intList':
      return Array.isArray(value) && value.every((item) => isWhole(setting, item));
    case 'stringList':
      return Array.isArray(value) && value.every((item) => isListItem(item, setting));
    case 'choice':
      return typeof value === 'string' && setting.values.includes(value);
    case 'table':
      return isTable(value);
    case 'hook':
      return isHook(value);
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isTable(value: unknown): boolean {
  if (!isObject(value) || !Object.values(value).every(isObject)) return false;
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && !value.includes('\0');

function isRegularExpression(text: string): boolean {
  try {
    return new RegExp(text).source !== '';
  } catch {
    return false;
  }
}

const isHook = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const { key, run } = value as { readonly key?: unknown; readonly run?: unknown };
  return typeof key === 'string' && key !== '' && typeof run === 'function';
};

const isListItem = (item: unknown, row: ListRow): boolean =>
  isText(item) &&
  (row.pattern === undefined || new RegExp(row.pattern).test(item)) &&
  (row.values === undefined || row.values.includes(unsigned(inCase(item, row), row)));

/** An item without its sign. */
const unsigned = (item: string, { isSigned }: Pick<ListRow, 'isSigned'>): string =>
  isSigned === true ? item.replace(/^[+-]/, '') : item;

/** The first item of a list that is none of those that there are, and which may have been meant. */
function unknownItem(setting: Setting, value: unknown): string {
  if (setting.type !== 'stringList' || !Array.isArray(value)) return '';
  const { values } = setting;
  const unknown = value.find((item): item is string => isText(item) && !isListItem(item, setting));
  if (unknown === undefined || values === undefined) return '';
  const meant = nearest(unsigned(inCase(unknown, setting), setting), values);
  return `; ${JSON.stringify(unknown.slice(0, 80))} is none of them${meant === undefined ? '' : `, did you mean ${JSON.stringify(meant)}?`}`;
}

interface Limits {
  readonly min?: number;
  readonly max?: number;
}

const isWhole = (row: Limits, value: unknown): boolean => Number.isSafeInteger(value) && inRange(row, value as number);

const inRange = ({ min, max }: Limits, value: number): boolean =>
  value >= (min ?? -Infinity) && value <= (max ?? Infinity);

function allowedValues(setting: Setting): string {
  const orNull = setting.nullable === true ? ' or null' : '';
  switch (setting.type) {
    case 'bool':
      return `true${setting.nullable === true ? ',' : ' or'} false${orNull}`;
    case 'int':
      return `an integer${range(setting)}${orNull}`;
    case 'float':
      return `a number${range(setting)}${orNull}`;
    case 'string':
      return `${setting.syntax === undefined ? 'a string that is not empty' : 'a regular expression'}${orNull}`;
    case 'stringList':
      return `an array of ${itemsOf(setting)}`;
    case 'intList':
      return `an array of integers${range(setting)}`;
    case 'choice':
      return `one of ${setting.values.join(', ')}${orNull}`;
    case 'table':
      return 'an object of objects, of what JSON has';
    case 'hook':
      return `{ key, run }, where run is the function and key stands for it in cache keys${orNull}`;
  }
}

function allowedText(setting: Setting): string {
  if (setting.type === 'bool' && setting.envText === 'trueOrFalse') return '0, 1, true or false';
  if (setting.type === 'bool') return setting.nullable === true ? '0, 1 or none' : '0 or 1';
  if (setting.type === 'stringList') return `${itemsOf(setting)}, separated by commas`;
  if (setting.type === 'intList') return `integers${range(setting)}, separated by commas`;
  return allowedValues(setting).replace(/ or null$/, ' or none');
}

const itemsOf = ({ pattern, values }: ListRow): string =>
  values === undefined
    ? `strings${pattern === undefined ? '' : ` that match ${pattern}`}`
    : `names out of ${values.join(', ')}`;

function range({ min, max }: Limits): string {
  if (min !== undefined && max !== undefined) return ` from ${String(min)} to ${String(max)}`;
  if (min !== undefined) return ` of at least ${String(min)}`;
  return max === undefined ? '' : ` of at most ${String(max)}`;
}
