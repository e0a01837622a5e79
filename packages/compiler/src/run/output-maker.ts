// The outputs of a call of native code: tensors over fresh memory of the pool, which the code then fills. In: what a plan says
// of an output. Out: a function that makes one for the sizes of a call; what no size changes is found out once.
import { dtypeInfo } from '@tsinductor/base';
import { allocateResult, placedTensor } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { checkOutput } from './layout-check.ts';
import { sizeFunction } from './plan.ts';
import type { PlannedTensor } from './plan.ts';

type Sizes = ReadonlyMap<string, number>;
export type OutputMaker = (sizes: Sizes) => Tensor;

interface Place {
  readonly layout: { readonly shape: readonly number[]; readonly strides: readonly number[]; readonly offset: 0 };
  /** Of the memory, which may be longer than what the elements reach. */
  readonly bytes: number;
}

/** With `isChecked`, throws InternalError OUTPUT_LAYOUT where elements would lie beyond the memory. */
export function outputMaker({ dtype, size, shape, strides }: PlannedTensor, isChecked: boolean): OutputMaker {
  const [elements, sizesOf, stridesOf] = [sizeFunction(size), shape.map(sizeFunction), strides.map(sizeFunction)];
  const placeFor = (sizes: Sizes): Place => {
    const layout = {
      shape: sizesOf.map((of) => of(sizes)),
      strides: stridesOf.map((of) => of(sizes)),
      offset: 0,
    } as const;
    if (isChecked) checkOutput({ dtype, ...layout }, elements(sizes));
    return { layout, bytes: elements(sizes) * dtypeInfo[dtype].bytes };
  };
  const make = ({ layout, bytes }: Place): Tensor => placedTensor(dtype, allocateResult(bytes), layout);
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
