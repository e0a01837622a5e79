// Which results of a trace share memory, as they do in eager mode: with an input, or with each other. In: what each result
// is a view of. Out: for each the memory that it is a view of, or nothing where it is memory of its own.
//
// A view of what the function made is given as one where somebody could tell, by writing to it or by its strides: where
// several results show the memory, or where one shows all of it. A part that alone is left of it is computed by itself,
// as then the rest need not be computed.
import type { ViewLayout, ValueRef } from '@tsinductor/graph';
import type { Tensor } from '../tensor.ts';
import type { Memory, TracedView } from './traced-memory.ts';
import { showsAll } from './undo-view.ts';

/** A result that is, in eager mode, the memory of an input, or of what the function made; itself, or a view of it. */
export type OutputAlias = { readonly layout: ViewLayout } & (
  | {
      readonly kind: 'input';
      readonly placeholder: number;
      /** It is the input, and no other tensor over its memory. */ readonly isItself: boolean;
    }
  /** `value` has all elements of the memory, row by row. */
  | { readonly kind: 'made'; readonly value: ValueRef; readonly isWhole: boolean }
);

/** `views` are those that `outputs` stand for. */
export function aliasesOf(
  outputs: readonly Tensor[],
  views: readonly TracedView[],
): readonly (OutputAlias | undefined)[] {
  const counts = new Map<Memory, number>();
  for (const { memory } of views) counts.set(memory, (counts.get(memory) ?? 0) + 1);
  return views.map((view, position): OutputAlias | undefined => {
    const { memory, layout, steps } = view;
    const isWhole = steps.length === 0;
    const output = outputs[position];
    const isItself = output === memory.itself || output?.backing.kind === 'placed';
    if (memory.placeholder !== undefined) return { kind: 'input', placeholder: memory.placeholder, layout, isItself };
    const isShared = (counts.get(memory) ?? 0) > 1;
    if (!isShared && (isWhole || !showsAll(view))) return undefined;
    return { kind: 'made', value: memory.current, layout, isWhole };
  });
}
