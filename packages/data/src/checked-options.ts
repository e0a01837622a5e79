// Options as they are given, checked by a table: nothing is accepted and ignored.
import { describe } from '@tsinductor/tensor/file-access';
import { badOption, noOptions, unknownOption } from './errors.ts';

/** What the value of an option has to be. */
export interface Check {
  readonly is: (value: unknown) => boolean;
  readonly needs: string;
  /** Whether there is no default. */
  readonly isRequired?: boolean;
}

/** Whether a value is a whole number of at least `least`. */
export const isWhole = (value: unknown, least: number): boolean =>
  Number.isSafeInteger(value) && Number(value) >= least;

export const wholeNumber = (least: number): Check => ({
  is: (value) => isWhole(value, least),
  needs: `a whole number from ${String(least)} to 2^53 - 1`,
});

export const yesOrNo: Check = { is: (value) => typeof value === 'boolean', needs: 'true or false' };

/** What is in a Map or a list would be no option, and say nothing. */
const isRecordOfOptions = (given: unknown): given is object =>
  typeof given === 'object' && given !== null && !(Symbol.iterator in given);

const spelt = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value));

/**
 * Compares options with what they have to be.
 *
 * @param where whose options they are, as an error names it
 * @param prefix what stands before their names in errors
 * @throws UserError DATA_OPTION, DATA_OPTION_UNKNOWN
 */
export function checkOptions(
  { where, prefix = '' }: { where: string; prefix?: string },
  given: unknown,
  checks: Readonly<Record<string, Check>>,
): void {
  const known = Object.keys(checks);
  if (!isRecordOfOptions(given)) throw noOptions(prefix === '' ? where : prefix.slice(0, -1), describe(given));
  for (const name of Object.keys(given)) if (!known.includes(name)) throw unknownOption(where, name, known);
  for (const [name, { is, needs, isRequired = false }] of Object.entries(checks)) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (value === undefined && !isRequired) continue;
    if (!is(value)) throw badOption(prefix + name, { is: spelt(value), needs });
  }
}
