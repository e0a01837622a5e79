// The outputs of a call: tensors over fresh memory, which the code then fills. In: what a plan says of an output, and where its
// memory comes from. Out: a function that makes one for the sizes of a call.
import { dtypeInfo } from '@tsinductor/base';
import { placedTensor } from '@tsinductor/tensor/internal';
import type { Storage } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { CalledCode } from './call-frame.ts';
import { keptSizeFunction } from './call-sizes.ts';
import type { Sizes } from './call-sizes.ts';
import { checkOutput } from './layout-check.ts';
import { layoutMaker } from './layout-maker.ts';
import type { PlannedTensor } from './plan.ts';

export type OutputMaker = (sizes: Sizes) => Tensor;

/** For which code outputs are made, and of which memory. */
interface Making extends CalledCode {
  /** Of the sizes of a call. */
  readonly names: readonly string[];
  readonly allocate: (bytes: number) => Storage;
}

/** With `sizeAsserts`, throws InternalError OUTPUT_LAYOUT where elements would lie beyond the memory. */
export function outputMaker(planned: PlannedTensor, { sizeAsserts, names, allocate }: Making): OutputMaker {
  const { dtype } = planned;
  const { bytes: width } = dtypeInfo[dtype];
  // Of the memory, which may be longer than what the elements reach.
  const elements = keptSizeFunction(planned.size, names);
  const layoutFor = sizeAsserts
    ? layoutMaker(planned, names, (layout, sizes) => {
        checkOutput({ dtype, ...layout }, elements(sizes));
      })
    : layoutMaker(planned, names);
  return (sizes) => {
    const layout = layoutFor(sizes);
    return placedTensor(dtype, allocate(elements(sizes) * width), layout);
  };
}
