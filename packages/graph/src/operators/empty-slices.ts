// Slices without elements, taken by index. In: a tensor and indices of one of its dims, where another one has size 0. Out: a call
// that gives the slices, and for which the indices are looked at.
import { at } from '@tsinductor/base';
import type { ValueRef } from '../graph.ts';
import type { Builder, CanonicalCall } from '../operator.ts';
import { sizeAttr, sizesAttr } from '../shape.ts';

export const slicesAreEmpty = (builder: Builder, input: ValueRef, dim: number): boolean =>
  builder.meta(input).shape.some((size, axis) => axis !== dim && builder.sizes.isZero(size));

/** No element would look at the indices: they are checked by taking coordinates. */
export function emptySlices(
  builder: Builder,
  input: ValueRef,
  { places, dim }: { readonly places: ValueRef; readonly dim: number },
): CanonicalCall {
  const { shape, dtype } = builder.meta(input);
  const length = sizeAttr(at(shape, dim));
  const coordinates = builder.call('iota', [], { length, start: 0, step: 1, dtype: { dtype: 'i64' } });
  const taken = builder.call('indexSelect', [coordinates, places], { dim: 0 });
  const sizes = sizesAttr(shape.with(dim, at(builder.meta(taken).shape, 0)));
  const column = builder.call('reshape', [builder.call('cast', [taken], { dtype: { dtype } })], {
    shape: sizes.map((size, axis) => (axis === dim ? size : 1)),
  });
  return { target: 'expand', args: [column], attrs: { shape: sizes } };
}
