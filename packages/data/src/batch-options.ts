// How batches are cut, as it is given and checked.
import { checkOptions, isWhole, wholeNumber, yesOrNo } from './checked-options.ts';
import type { Check } from './checked-options.ts';
import { badOption, notADataset } from './errors.ts';

export interface BatchOptions {
  /** How many items a batch has. */
  readonly size: number;
  /** Whether every epoch has an order of its own. Default: the order of the data. */
  readonly shuffle?: boolean;
  /** What the orders are drawn from; the same seed gives the same ones. Default: 0. */
  readonly seed?: number;
  /** Whether the last items are left out where they are fewer than `size`. Default: they are a smaller batch. */
  readonly dropLast?: boolean;
}

const checks: Readonly<Record<keyof BatchOptions | 'workers', Check>> = {
  size: { ...wholeNumber(1), isRequired: true },
  shuffle: yesOrNo,
  seed: wholeNumber(0),
  dropLast: yesOrNo,
  workers: { is: (value) => typeof value === 'object' && value !== null, needs: 'a record of options' },
};

/** How batches are cut, complete, and of how many items. */
export interface Cut extends Required<BatchOptions> {
  readonly length: number;
}

/**
 * The options with defaults in the place of absent ones.
 *
 * @throws UserError DATA_OPTION, DATA_OPTION_UNKNOWN, DATA_DATASET
 */
export function readCut(length: unknown, given: BatchOptions): Cut {
  checkOptions({ where: 'batches' }, given, checks);
  const { size, shuffle = false, seed = 0, dropLast = false } = given;
  if (!isWhole(length, 1) || Number(length) >= 2 ** 32)
    throw notADataset(`it has a length of ${String(length)}, and at least one item is needed, and fewer than 2^32`);
  const cut = { length: Number(length), size, shuffle, seed, dropLast };
  if (batchesIn(cut) === 0)
    throw badOption('size', { is: size, needs: `at most ${String(length)}, the number of items, with dropLast` });
  return cut;
}

/** How many batches an epoch has. */
export const batchesIn = ({ length, size, dropLast }: Cut): number =>
  dropLast ? Math.floor(length / size) : Math.ceil(length / size);
