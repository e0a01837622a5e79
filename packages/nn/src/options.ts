// Options of layers as they are given, checked: nothing is accepted and ignored.
import { badOption, unknownOption } from './errors.ts';

/** The options with defaults in the place of absent ones. Throws UserError NN_OPTION_UNKNOWN. */
export function readOptions<Options extends object>(
  layer: string,
  defaults: Required<Options>,
  given: Options,
): Required<Options> {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(defaults, name)) throw unknownOption(layer, name, Object.keys(defaults));
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...defaults, ...known };
}

/** Throws UserError NN_OPTION unless all are whole numbers of at least `least`. */
export function checkSizes(layer: string, sizes: Readonly<Record<string, unknown>>, least = 1): void {
  for (const [option, value] of Object.entries(sizes))
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least)
      throw badOption(layer, option, { is: value, needs: `a whole number of at least ${String(least)}` });
}

/** Throws UserError NN_OPTION unless it is in [0, 1]. */
export function checkProbability(layer: string, option: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1))
    throw badOption(layer, option, { is: value, needs: 'a number from 0 to 1' });
}

export function checkDivides(
  layer: string,
  [option, value]: readonly [string, number],
  [other, by]: readonly [string, number],
): void {
  if (value % by !== 0) throw badOption(layer, option, { is: value, needs: `a multiple of ${other} (${String(by)})` });
}

/** One number for each dim. Throws UserError NN_OPTION. */
export function eachDim(layer: string, option: string, { value, dims, least = 1 }: EachDim): readonly number[] {
  const all = typeof value === 'number' ? Array.from({ length: dims }, () => value) : value;
  if (all.length !== dims)
    throw badOption(layer, option, { is: `[${all.join(', ')}]`, needs: `one number for each of ${String(dims)} dims` });
  for (const one of all) checkSizes(layer, { [option]: one }, least);
  return all;
}

interface EachDim {
  readonly value: number | readonly number[];
  readonly dims: number;
  readonly least?: number;
}
