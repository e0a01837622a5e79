// What the setting sizeAsserts checks around a native call, which itself trusts every address and size that it is given: that
// inputs have the dtype, shape and strides that the code was made for, and that outputs lie within their memory. Guards
// have decided the same for whoever calls a compiled function; this is for whoever calls a compiled graph itself, and
// against mistakes of ours. A few comparisons per axis.
import { at } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { inputLayout, outputLayout } from './errors.ts';
import { sizeFunction } from './plan.ts';
import type { PlannedTensor } from './plan.ts';

type Sizes = ReadonlyMap<string, number>;
export type LayoutCheck = (tensors: readonly Tensor[], sizes: Sizes) => void;

interface Layout {
  readonly dtype: string;
  readonly shape: readonly SizeFunction[];
  readonly strides: readonly SizeFunction[];
}
type SizeFunction = (sizes: Sizes) => number;

/** Throws UserError INPUT_LAYOUT, naming the input, what it is and what was expected. */
export function checkInputs(planned: readonly PlannedTensor[]): LayoutCheck {
  const layouts = planned.map(({ dtype, shape, strides }): Layout => ({
    dtype,
    shape: shape.map(sizeFunction),
    strides: strides.map(sizeFunction),
  }));
  return (tensors, sizes) => {
    if (tensors.length !== layouts.length) {
      throw inputLayout('the list of inputs', `${String(tensors.length)} tensors`, `${String(layouts.length)} tensors`);
    }
    layouts.forEach((layout, position) => {
      const tensor = at(tensors, position);
      if (matches(tensor, layout, sizes)) return;
      const [shape, strides] = [valuesOf(layout.shape, sizes), valuesOf(layout.strides, sizes)];
      throw inputLayout(`input ${String(position)}`, describe(tensor), describe({ ...layout, shape, strides }));
    });
  };
}

const valuesOf = (list: readonly SizeFunction[], sizes: Sizes): readonly number[] => list.map((size) => size(sizes));

/** Strides along which there is only one element, or none at all, reach nothing and may be any. */
function matches(tensor: Tensor, { dtype, shape, strides }: Layout, sizes: Sizes): boolean {
  if (tensor.dtype !== dtype || tensor.shape.length !== shape.length) return false;
  for (let axis = 0; axis < shape.length; axis += 1) {
    if (tensor.shape[axis] !== at(shape, axis)(sizes)) return false;
  }
  if (tensor.shape.includes(0)) return true;
  for (let axis = 0; axis < shape.length; axis += 1) {
    if (tensor.shape[axis] !== 1 && tensor.strides[axis] !== at(strides, axis)(sizes)) return false;
  }
  return true;
}

/** That no element of an output lies beyond the `elements` that are allocated for it: InternalError OUTPUT_LAYOUT. */
export function checkOutput(output: Pick<Tensor, 'dtype' | 'shape' | 'strides'>, elements: number): void {
  const { shape, strides } = output;
  const reach = shape.reduce((sum, extent, axis) => sum + (extent - 1) * at(strides, axis), 1);
  if (!shape.includes(0) && reach > elements) throw outputLayout(describe(output), elements);
}

const describe = (it: { dtype: string; shape: readonly number[]; strides: readonly number[] }): string =>
  `${it.dtype}[${it.shape.join(', ')}] with strides [${it.strides.join(', ')}]`;
