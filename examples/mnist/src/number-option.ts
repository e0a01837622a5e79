// A number that an option of the command gives, checked before anything is read or trained.
import { badNumber } from './errors.ts';

export function numberOf(option: string, text: string, least: number): number {
  const value = Number(text);
  if (value >= least && value < Infinity) return value;
  throw badNumber(option, text, least);
}
