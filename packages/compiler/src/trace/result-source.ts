// Where the tensors of a result come from. In: what a trace found of one. Out: a function that gives it in a call.
import { at } from '@tsinductor/base';
import { placedTensor, placeOf } from '@tsinductor/tensor/internal';
import type { OutputAlias } from '@tsinductor/tensor/internal';
import type { Tensor } from '@tsinductor/tensor';
import { keptSizeFunction } from '../run/call-sizes.ts';
import type { Sizes } from '../run/call-sizes.ts';
import { layoutMaker } from '../run/layout-maker.ts';

/** A tensor of a result is an output, or the memory of an input or of an output, itself or a view of it. */
export type ResultSource =
  | { readonly kind: 'computed'; readonly output: number }
  | { readonly kind: 'input'; readonly placeholder: number; readonly alias: OutputAlias }
  | { readonly kind: 'view'; readonly output: number; readonly alias: OutputAlias };

/** What a call has when its graph has run. */
export interface RanCall {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly sizes: Sizes;
}

/** `names` are those of the sizes. */
export function resultMaker(source: ResultSource, names: readonly string[]): (call: RanCall) => Tensor {
  if (source.kind === 'computed') return ({ outputs }) => at(outputs, source.output);
  const { alias } = source;
  const wholeOf = ({ inputs, outputs }: RanCall): Tensor =>
    source.kind === 'input' ? at(inputs, source.placeholder) : at(outputs, source.output);
  if (alias.kind === 'input' && alias.isItself) return wholeOf;
  const [listsFor, offsetFor] = [layoutMaker(alias.layout, names), keptSizeFunction(alias.layout.offset, names)];
  return (call) => {
    const whole = wholeOf(call);
    const { storage, layout } = placeOf(whole, 'a view');
    const { shape, strides } = listsFor(call.sizes);
    return placedTensor(whole.dtype, storage, { shape, strides, offset: layout.offset + offsetFor(call.sizes) });
  };
}
