// Numbers with a category. A JavaScript number does not say whether 2 was meant as an integer or as 2.0, which decides
// the dtype of results: whole numbers count as integers, `float(2)` says otherwise.
import { scalar } from '@tsinductor/graph';
import type { ScalarRef } from '@tsinductor/graph';

/** A number as an operand. Whole numbers and bigints are integers, others floats, booleans bool. */
export type Scalar = number | bigint | boolean | ScalarRef;

/** A float even where it is whole: `tensor([1, 2]).mul(float(2))` is f32. */
export const float = (value: number): ScalarRef => Object.freeze(scalar(value, 'float'));

/** Plain data, which the operator checks: a size or several, a padding, a name. */
export type Plain = null | number | string | boolean | readonly Plain[];

/** One number, or a list of them: a dim or several, a size, a padding for every axis or for each. */
export type Numbers = number | readonly number[];
