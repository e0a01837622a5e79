// What a call of compiled code begins and ends with, on every target. In: a plan. At first: the symbolic sizes of the call, when
// inputs were found to be what the code was made for. At last: inputs that the graph changes hold their new values.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { placeOf } from '@tsinductor/tensor/internal';
import { indexLimitCheck } from './check-index-limits.ts';
import { checkInputs } from './layout-check.ts';
import type { LayoutCheck } from './layout-check.ts';
import { CallSizes, namesOfSizes } from './call-sizes.ts';
import type { Sizes } from './call-sizes.ts';
import type { Plan } from './plan.ts';
import { isSamePlace } from './same-place.ts';

/** What of the code decides how it is called. */
export interface CalledCode {
  /** The setting of that name: look at inputs and outputs before the code trusts them. */
  readonly sizeAsserts: boolean;
  /** The setting of that name: look whether sizes are such as the code assumes. */
  readonly scalarAsserts: boolean;
}

export class CallFrame {
  readonly #plan: Plan;
  readonly #sizes: CallSizes;
  readonly #checkLimits: (sizes: Sizes) => void;
  readonly #checkInputs: LayoutCheck | undefined;
  /** The sizes that were found to be within the limits last. */
  #admitted: Sizes | undefined;

  constructor(plan: Plan, { sizeAsserts, scalarAsserts }: CalledCode) {
    this.#plan = plan;
    const names = namesOfSizes(plan.sizes);
    this.#sizes = CallSizes.of(plan.sizes);
    this.#checkLimits = indexLimitCheck(scalarAsserts ? plan.indexLimits : [], names);
    this.#checkInputs = sizeAsserts ? checkInputs(plan.inputs, names) : undefined;
  }

  /** Throws UserError INDEX_BEYOND_32_BITS, INPUT_LAYOUT. */
  open(inputs: readonly Tensor[]): Sizes {
    const sizes = this.#sizes.in(inputs);
    if (sizes !== this.#admitted) this.#checkLimits(sizes);
    this.#admitted = sizes;
    this.#checkInputs?.(inputs, sizes);
    return sizes;
  }

  close(inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
    writeBack(this.#plan, inputs, outputs);
  }
}

/** Inputs that the graph changes become what their outputs are, unless these lie in the inputs' own memory. */
export function writeBack(
  { mutations }: Pick<Graph, 'mutations'>,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  for (const { placeholder, output } of mutations) {
    const [input, result] = [at(inputs, placeholder), at(outputs, output)];
    if (isSamePlace(input, result)) placeOf(input, 'a compiled call').storage.noteWrite();
    else input.writeBack(result);
  }
}
