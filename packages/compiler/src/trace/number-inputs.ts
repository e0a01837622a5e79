// Numbers of a call that are inputs of its graph. In: formulas over the plain numbers and sizes of a call. Out: tensors of one
// element each, which the graph takes as it takes captured tensors, and which are given their values before it runs.
import { dtypeInfo } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { elementOfNumber, numberFits, outsideScopes, placeOf, unrecorded } from '@tsinductor/tensor/internal';
import type { Formula, Point } from './explain-number.ts';

export interface NumberInput {
  readonly tensor: Tensor;
  readonly dtype: DType;
  readonly formula: Formula;
}

export function numberInput(dtype: DType, formula: Formula, point: Point): NumberInput {
  const value = formula(point) ?? 0;
  const given = dtypeInfo[dtype].category === 'float' ? value : BigInt(value);
  return { dtype, formula, tensor: unrecorded(() => outsideScopes(() => tensor(given, { dtype, device: 'cpu' }))) };
}

/** Gives every input its value in this call; whether all of them can hold theirs. */
export function setNumbers(inputs: readonly NumberInput[], point: Point): boolean {
  for (const { tensor: input, dtype, formula } of inputs) {
    const value = formula(point);
    if (value === undefined || !numberFits(value, dtype)) return false;
    const { storage, layout } = placeOf(input, 'a number of a call');
    const elements = storage.elements(dtype) as Record<number, number | bigint>;
    elements[layout.offset] = elementOfNumber(value, dtype);
  }
  return true;
}
