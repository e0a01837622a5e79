// What code that assumes 32-bit indices asks before it runs (`assume32BitIndexing`): that no index of it would be larger, for the
// sizes of this call. In: the limits of a plan, and sizes. Throws UserError INDEX_BEYOND_32_BITS.
import { evaluateIndex, largestIndex, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { indexBeyond32Bits } from '../errors.ts';

export function checkIndexLimits(limits: readonly Index[], sizes: ReadonlyMap<string, number>): void {
  for (const limit of limits) {
    const value = evaluateIndex(limit, { sizes });
    if (value > largestIndex) throw indexBeyond32Bits(printIndex(limit), { value, sizes });
  }
}
