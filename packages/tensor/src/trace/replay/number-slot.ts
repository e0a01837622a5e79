// A number of a call that is an input of its segment: a 0-d tensor, which is filled with the next number once the segment that took
// it has run, unless somebody else has its memory by then.
import type { DType } from '@tsinductor/base';
import type { ElementArray } from '../../element-array.ts';
import { placeOf } from '../../tensor.ts';
import type { Tensor } from '../../tensor.ts';
import { elementOfNumber } from '../number-operand.ts';
import { numberTensor } from '../segment-inputs.ts';

interface Spare {
  readonly tensor: Tensor;
  readonly elements: ElementArray;
}

export class NumberSlot {
  readonly dtype: DType;
  #spare: Spare | undefined;
  /** The last one that was handed out. */
  #taken: Spare | undefined;

  constructor(dtype: DType) {
    this.dtype = dtype;
  }

  take(value: number): Tensor {
    const spare = this.#spare ?? spareOf(numberTensor(value, this.dtype));
    spare.elements[0] = elementOfNumber(value, this.dtype);
    this.#spare = undefined;
    this.#taken = spare;
    return spare.tensor;
  }

  /** The segment needs it no more. */
  giveBack(tensor: Tensor): void {
    const isFree = this.#taken?.tensor === tensor && placeOf(tensor, 'a segment').storage.hasOneOwner;
    if (isFree) this.#spare = this.#taken;
    else tensor.dispose();
    this.#taken = undefined;
  }
}

function spareOf(tensor: Tensor): Spare {
  const { storage } = placeOf(tensor, 'a segment');
  return { tensor, elements: storage.elements(tensor.dtype) };
}
