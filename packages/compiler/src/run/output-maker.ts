// The outputs of a call: tensors over fresh memory, which the code then fills. In: what a plan says of an output, and where its
// memory comes from. Out: a function that makes one for the sizes of a call; what no size changes is found out once.
import { dtypeInfo } from '@tsinductor/base';
import { placedTensor } from '@tsinductor/tensor/internal';
import type { Storage } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import type { CalledCode, Sizes } from './call-frame.ts';
import { checkOutput } from './layout-check.ts';
import { sizeFunction } from './plan.ts';
import type { PlannedTensor } from './plan.ts';

export type OutputMaker = (sizes: Sizes) => Tensor;

interface Place {
  readonly layout: { readonly shape: readonly number[]; readonly strides: readonly number[]; readonly offset: 0 };
  /** Of the memory, which may be longer than what the elements reach. */
  readonly bytes: number;
}

/** For which code outputs are made, and of which memory. */
interface Making extends CalledCode {
  readonly allocate: (bytes: number) => Storage;
}

/** With `sizeAsserts`, throws InternalError OUTPUT_LAYOUT where elements would lie beyond the memory. */
export function outputMaker(planned: PlannedTensor, { sizeAsserts, allocate }: Making): OutputMaker {
  const { dtype, size, shape, strides } = planned;
  const [elements, sizesOf, stridesOf] = [sizeFunction(size), shape.map(sizeFunction), strides.map(sizeFunction)];
  const placeFor = (sizes: Sizes): Place => {
    const layout = {
      shape: sizesOf.map((of) => of(sizes)),
      strides: stridesOf.map((of) => of(sizes)),
      offset: 0,
    } as const;
    if (sizeAsserts) checkOutput({ dtype, ...layout }, elements(sizes));
    return { layout, bytes: elements(sizes) * dtypeInfo[dtype].bytes };
  };
  const make = ({ layout, bytes }: Place): Tensor => placedTensor(dtype, allocate(bytes), layout);
  if (![size, ...shape, ...strides].every(({ kind }) => kind === 'int')) return (sizes) => make(placeFor(sizes));
  let fixed: Place | undefined;
  return () => make((fixed ??= frozen(placeFor(new Map()))));
}

/** For all calls, so nobody may write to it. */
function frozen(place: Place): Place {
  Object.freeze(place.layout.shape);
  Object.freeze(place.layout.strides);
  return place;
}
