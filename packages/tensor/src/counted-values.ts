// Distinct whole numbers that lie in a small range, by counting how often each number of the range occurs: no sort, and work that grows
// with the elements and the range alone. In: a vector of whole numbers. Out: what `unique` gives of it, in ascending order; or nothing,
// where the range is too wide for that, or cannot be told exactly.
import { at, isFloat } from '@tsinductor/base';
import { extremesOf, firstOf, ofSize, op, readCount } from './compaction.ts';
import { dispatch } from './dispatch.ts';
import type { Tensor } from './tensor.ts';

/** Of fewer elements a sort takes no longer than to read the extremes. */
const leastElements = 2048;

/** A number of the range costs as much as so many elements. */
const elementsOfNumber = 4;

interface Wanted {
  readonly inverse: boolean;
  readonly counts: boolean;
}

/** Distinct elements, and where each element went and how often they occur, if asked for. */
export interface CountedValues {
  readonly values: Tensor;
  readonly inverse: Tensor | undefined;
  readonly counts: Tensor | undefined;
}

export function countedValues(x: Tensor, { inverse, counts }: Wanted): CountedValues | undefined {
  if (isFloat(x.dtype) || x.numel < leastElements) return undefined;
  const { least, largest } = extremesOf(x, 'unique');
  const range = largest - least + 1;
  const isExact = Number.isSafeInteger(least) && Number.isSafeInteger(largest);
  if (!isExact || range > x.numel / elementsOfNumber) return undefined;
  const slots = op('sub', x.dtype === 'i64' ? x : op('to', x, 'i64'), least);
  // Of the table only its size is used, which is no number in what is recorded.
  const [numbers, number, ...others] = dispatch('distinctCounts', [slots, ofSize(tableSize(range))], {
    inverse,
    counts,
  }) as [Tensor, Tensor, ...Tensor[]];
  slots.dispose();
  const count = readCount(number, 'unique');
  const values = op('add', firstOf(numbers, count, 'unique'), least);
  return {
    values: x.dtype === 'i64' ? values : op('to', values, x.dtype),
    inverse: inverse ? others[0] : undefined,
    counts: counts ? firstOf(at(others, others.length - 1), count, 'unique') : undefined,
  };
}

/** A table has a slot more than there are numbers, and one of few sizes: nothing is made anew for each range. */
const tableSize = (range: number): number => 2 ** Math.ceil(Math.log2(range + 1));
