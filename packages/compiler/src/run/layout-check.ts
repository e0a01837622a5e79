// What the setting sizeAsserts checks around a native call, which itself trusts every address and size that it is given: that
// inputs have the dtype, shape and strides that the code was made for, and that outputs lie within their memory. Guards
// have decided the same for whoever calls a compiled function; this is for whoever calls a compiled graph itself, and
// against mistakes of ours. A few comparisons per axis.
import { at } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { inputLayout, outputLayout } from '../errors.ts';
import type { Sizes } from './call-sizes.ts';
import { layoutMaker } from './layout-maker.ts';
import type { PlannedTensor } from './plan.ts';

export type LayoutCheck = (tensors: readonly Tensor[], sizes: Sizes) => void;

type Layout = Pick<Tensor, 'dtype' | 'shape' | 'strides'>;

/** Throws UserError INPUT_LAYOUT, naming the input, what it is and what was expected. `names` are those of the sizes. */
export function checkInputs(planned: readonly PlannedTensor[], names: readonly string[]): LayoutCheck {
  const inputs = planned.map((input) => new PlannedInput(input, names));
  return (tensors, sizes) => {
    if (tensors.length !== inputs.length) {
      throw inputLayout('the list of inputs', `${String(tensors.length)} tensors`, `${String(inputs.length)} tensors`);
    }
    let position = 0;
    for (const tensor of tensors) {
      const input = inputs[position];
      if (input?.isMetBy(tensor, sizes) === false)
        throw inputLayout(`input ${String(position)}`, describe(tensor), describe(input.layoutFor(sizes)));
      position += 1;
    }
  };
}

class PlannedInput {
  readonly #dtype: Tensor['dtype'];
  readonly #listsFor: ReturnType<typeof layoutMaker>;
  // The sizes and lists that met it last: a tensor whose lists these are needs no look into them.
  #sizes: Sizes | undefined;
  #shape: readonly number[] | undefined;
  #strides: readonly number[] | undefined;

  constructor(planned: PlannedTensor, names: readonly string[]) {
    this.#dtype = planned.dtype;
    this.#listsFor = layoutMaker(planned, names);
  }

  /** What is planned, for the sizes of a call. */
  layoutFor(sizes: Sizes): Layout {
    const { shape, strides } = this.#listsFor(sizes);
    return { dtype: this.#dtype, shape, strides };
  }

  isMetBy(tensor: Tensor, sizes: Sizes): boolean {
    const { dtype, shape, strides } = tensor;
    if (sizes === this.#sizes && shape === this.#shape && strides === this.#strides) return dtype === this.#dtype;
    if (!matches(tensor, this.layoutFor(sizes))) return false;
    this.#sizes = sizes;
    this.#shape = shape;
    this.#strides = strides;
    return true;
  }
}

/** Strides along which there is only one element, or none at all, reach nothing and may be any. */
function matches(tensor: Tensor, { dtype, shape, strides }: Layout): boolean {
  if (tensor.dtype !== dtype || tensor.shape.length !== shape.length) return false;
  let [isEmpty, areStrides] = [false, true];
  for (let axis = 0; axis < shape.length; axis += 1) {
    const size = tensor.shape[axis];
    if (size !== shape[axis]) return false;
    isEmpty ||= size === 0;
    areStrides &&= size === 1 || tensor.strides[axis] === strides[axis];
  }
  return isEmpty || areStrides;
}

/** That no element of an output lies beyond the `elements` that are allocated for it: InternalError OUTPUT_LAYOUT. */
export function checkOutput(output: Layout, elements: number): void {
  const { shape, strides } = output;
  const reach = shape.reduce((sum, extent, axis) => sum + (extent - 1) * at(strides, axis), 1);
  if (!shape.includes(0) && reach > elements) throw outputLayout(describe(output), elements);
}

const describe = (it: Layout): string => `${it.dtype}[${it.shape.join(', ')}] with strides [${it.strides.join(', ')}]`;
