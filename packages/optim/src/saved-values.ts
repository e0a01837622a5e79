// Saved states of schedules, whose values are checked before anything is changed: a checkpoint may be any file.
import { scheduleDiffers } from './errors.ts';

/** What a state has under a name. Throws UserError OPTIM_STATE where it is not as it has to be. */
export function savedValue<Value>(state: object, name: string, is: (value: unknown) => value is Value): Value {
  const saved: unknown = state;
  const value: unknown = typeof saved === 'object' && saved !== null ? Reflect.get(saved, name) : undefined;
  if (!is(value)) throw scheduleDiffers(name);
  return value;
}

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export const isNumber = (value: unknown): value is number => typeof value === 'number';

/** Whether there is a rate for each of so many groups. */
export const areRates =
  (count: number) =>
  (value: unknown): value is readonly number[] =>
    Array.isArray(value) && value.length === count && value.every((rate) => isNumber(rate) && rate >= 0);
