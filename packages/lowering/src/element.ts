// Elements of values within a body. Memory holds any dtype, arithmetic is done in compute dtypes: f16 and bf16 are widened
// to f32 where they are read, and rounded where they are stored.
import { dtypeInfo, isFloat } from '@tsinductor/base';
import type { DType } from '@tsinductor/base';
import { scalar } from '@tsinductor/graph';
import type { ScalarRef } from '@tsinductor/graph';
import type { BodyBuilder, Index, ScalarId } from '@tsinductor/ir';
import { roundToDType } from '@tsinductor/ops';
import type { View } from './view.ts';

/** A scalar of a body, with its dtype. */
export interface Element {
  readonly id: ScalarId;
  readonly dtype: DType;
}

/** The element at `index`, in its compute dtype; where `mask` is false, nothing is read. */
export function load(body: BodyBuilder, view: View, place: { readonly at: Index; readonly mask?: ScalarId }): Element {
  const { at, ...masked } = place;
  const id = body.load(view.buffer, view.dtype, at, masked);
  return convert(body, { id, dtype: view.dtype }, dtypeInfo[view.dtype].compute);
}

/** In another dtype; to f16 and bf16 always by way of f32, as PyTorch's conversions do. */
export function convert(body: BodyBuilder, element: Element, dtype: DType): Element {
  if (element.dtype === dtype) return element;
  const { compute } = dtypeInfo[dtype];
  if (compute === dtype || compute === element.dtype) return { id: body.cast(element.id, dtype), dtype };
  return convert(body, convert(body, element, compute), dtype);
}

/** As the result of a body whose out has this dtype. */
export const stored = (body: BodyBuilder, element: Element, dtype: DType): ScalarId => convert(body, element, dtype).id;

const LITERAL_DTYPES: Readonly<Record<ScalarRef['category'], DType>> = { bool: 'bool', int: 'i64', float: 'f64' };

/** A plain number, in a compute dtype. Floats take it as it is; integers and bool as a cast would. */
export function literal(body: BodyBuilder, { value, category }: ScalarRef, dtype: DType): Element {
  const own = isFloat(dtype) ? dtype : LITERAL_DTYPES[category];
  return convert(body, { id: body.constant(value, own), dtype: own }, dtype);
}

/** The number that a float dtype has in its place; integer dtypes leave it as it is. */
export const roundedScalar = (given: ScalarRef, dtype: DType): ScalarRef =>
  isFloat(dtype) && typeof given.value === 'number' ? scalar(roundToDType(given.value, dtype), 'float') : given;
