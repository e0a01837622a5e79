// Whether an index can be negative: where it cannot, the machine's division is floor division.
import { rangeOf } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';

export function isNonNegative(index: Index): boolean {
  const { min } = rangeOf(index);
  return min !== null && min >= 0;
}
