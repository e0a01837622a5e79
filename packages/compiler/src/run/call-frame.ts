// What a call of compiled code begins and ends with, on every target. In: a plan. At first: the symbolic sizes of the call, when
// inputs were found to be what the code was made for. At last: inputs that the graph changes hold their new values.
import { at } from '@tsinductor/base';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import { checkIndexLimits } from './check-index-limits.ts';
import { checkInputs } from './layout-check.ts';
import type { LayoutCheck } from './layout-check.ts';
import { sizesOfCall } from './plan.ts';
import type { Plan } from './plan.ts';

export type Sizes = ReadonlyMap<string, number>;

const noSizes: ReadonlyMap<string, number> = new Map();

/** What of the code decides how it is called. */
export interface CalledCode {
  /** The setting of that name: look at inputs and outputs before the code trusts them. */
  readonly sizeAsserts: boolean;
  /** The setting of that name: look whether sizes are such as the code assumes. */
  readonly scalarAsserts: boolean;
}

export class CallFrame {
  readonly #plan: Plan;
  readonly #checkInputs: LayoutCheck | undefined;
  readonly #checksSizes: boolean;

  constructor(plan: Plan, { sizeAsserts, scalarAsserts }: CalledCode) {
    this.#plan = plan;
    this.#checksSizes = scalarAsserts;
    this.#checkInputs = sizeAsserts ? checkInputs(plan.inputs) : undefined;
  }

  /** Throws UserError INDEX_BEYOND_32_BITS, INPUT_LAYOUT. */
  open(inputs: readonly Tensor[]): Sizes {
    const { sizes: declared, indexLimits } = this.#plan;
    const sizes = declared.length === 0 ? noSizes : sizesOfCall(declared, inputs);
    if (this.#checksSizes) checkIndexLimits(indexLimits, sizes);
    this.#checkInputs?.(inputs, sizes);
    return sizes;
  }

  close(inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
    writeBack(this.#plan, inputs, outputs);
  }
}

/** Inputs that the graph changes become what their outputs are. */
export function writeBack(
  { mutations }: Pick<Graph, 'mutations'>,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  for (const { placeholder, output } of mutations) at(inputs, placeholder).writeBack(at(outputs, output));
}
