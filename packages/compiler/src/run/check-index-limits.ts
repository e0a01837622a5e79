// What code that assumes 32-bit indices asks before it runs (`assume32BitIndexing`): that no index of it would be larger, for the
// sizes of this call. In: the limits of a plan, and sizes. Out: a check, which throws UserError INDEX_BEYOND_32_BITS.
import { largestIndex, printIndex } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { indexBeyond32Bits } from '../errors.ts';
import type { Tensor } from '@tsinductor/tensor';
import { CallSizes, namesOfSizes, sizeFunction } from './call-sizes.ts';
import type { Sizes } from './call-sizes.ts';
import type { Plan } from './plan.ts';

/** `names` are those of the sizes. */
export function indexLimitCheck(limits: readonly Index[], names: readonly string[]): (sizes: Sizes) => void {
  const checked = limits.map((limit) => ({ limit, of: sizeFunction(limit, names) }));
  return (sizes) => {
    for (const { limit, of } of checked) {
      const value = of(sizes);
      if (value <= largestIndex) continue;
      const named = new Map(names.map((name, index) => [name, sizes[index] ?? 0]));
      throw indexBeyond32Bits(printIndex(limit), { value, sizes: named });
    }
  };
}

/** The same once, for the inputs of a call. */
export function checkIndexLimits(
  { indexLimits, sizes }: Pick<Plan, 'indexLimits' | 'sizes'>,
  inputs: readonly Tensor[],
): void {
  indexLimitCheck(indexLimits, namesOfSizes(sizes))(CallSizes.of(sizes).in(inputs));
}
