// Subscripts: x[1, 2:8, null, index] is x.index([1, slice(2, 8), null, index]), or x.at(...) with the items one by one.
// Integers, slices, null and ellipsis make views; index tensors gather; a mask selects the places where it is true, which
// needs its values.
import { placesOf } from './compaction.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument } from './errors.ts';
import { located } from './location.ts';
import { isTensor } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { copyInto, write } from './write.ts';

/** `start:stop:step`; null where a bound is left out. */
export interface Slice {
  readonly slice: readonly [start: number | null, stop: number | null, step: number | null];
}
/** As many axes as the other items leave. */
export interface Ellipsis {
  readonly ellipsis: true;
}
export type SubscriptItem = number | Slice | Ellipsis | null | readonly number[] | Tensor;

/** The items of an axis from start to before stop, in steps. */
export const slice = (start: number | null = null, stop: number | null = null, step: number | null = null): Slice => ({
  slice: [start, stop, step],
});

export const ellipsis: Ellipsis = { ellipsis: true };

/** Methods for subscripts and for writing, as Tensor has them. */
export interface SubscriptMethods {
  /** The part of the tensor that the items name: `x.at(0)`, `x.at(slice(1, 3), null)`. */
  at(...items: SubscriptItem[]): Tensor;
  /** As `at`, with the items in a list. */
  index(items: readonly SubscriptItem[]): Tensor;
  /** Writes into the part of the tensor that the items name: `x.set([0, slice(1, 3)], value)`. */
  set(items: readonly SubscriptItem[] | SubscriptItem, value: Tensor | number | bigint | boolean): Tensor;
  /** Overwrites the elements with those of a tensor, broadcast and cast. */
  copy_(source: Tensor): Tensor;
  /** Used by compiled code: overwrites the elements with those of a tensor of equal shape and dtype. */
  writeBack(source: Tensor): void;
}

type Methods = {
  [Name in keyof SubscriptMethods]: (
    this: Tensor,
    ...given: Parameters<SubscriptMethods[Name]>
  ) => ReturnType<SubscriptMethods[Name]>;
};

const readItems = (tensor: Tensor, items: readonly SubscriptItem[]): Tensor =>
  dispatchOne('getItem', [tensor, withoutMasks(items)]);

export const subscriptMethods: Methods = {
  at(...items) {
    return readItems(this, items);
  },
  index(items) {
    if (!Array.isArray(items))
      throw badArgument('index', 'the items are not in an array', 'use x.index([...]) or x.at(...)');
    return readItems(this, items);
  },
  set(items, value) {
    try {
      setItems(this, Array.isArray(items) ? (items as SubscriptItem[]) : [items as SubscriptItem], value);
    } catch (error) {
      throw located(error);
    }
    return this;
  },
  copy_(source) {
    try {
      return copyInto(this, source, { operation: 'copy_' });
    } catch (error) {
      throw located(error);
    }
  },
  writeBack(source) {
    // What reaches elements that share memory is uniform: other writes were refused when they were recorded.
    write(this, source, { operation: 'a compiled function', isUniform: true });
  },
};

const isIndexed = (item: SubscriptItem): boolean => isTensor(item) || Array.isArray(item);

function setItems(target: Tensor, items: readonly SubscriptItem[], value: unknown): void {
  const wanted = isTensor(value) ? value : dispatchOne('full', [[], value], { dtype: target.dtype });
  const [mask] = items;
  if (isMask(mask) && items.length === 1 && wanted.numel === 1) {
    fillMasked(target, mask, wanted);
    return;
  }
  const known = withoutMasks(items);
  if (!known.some(isIndexed)) {
    copyInto(readItems(target, known), wanted, { operation: 'set', isUniform: wanted.ndim === 0 });
    return;
  }
  // Which elements the items name: the subscript of the positions themselves.
  const places = dispatchOne('reshape', [dispatchOne('arange', [target.numel]), target.shape]);
  const chosen = readItems(places, known);
  const source = dispatchOne('to', [dispatchOne('expand', [wanted, chosen.shape]), target.dtype]);
  const flat = (tensor: Tensor): Tensor => dispatchOne('reshape', [tensor, [-1]]);
  const updated = dispatchOne('scatter', [dispatchOne('reshape', [target, [-1]]), 0, flat(chosen), flat(source)]);
  copyInto(target, dispatchOne('reshape', [updated, target.shape]), { operation: 'set' });
}

const isMask = (item: SubscriptItem | undefined): item is Tensor => isTensor(item) && item.dtype === 'bool';

/** One value wherever a mask of the leading dims is true: which places these are does not matter. */
function fillMasked(target: Tensor, mask: Tensor, value: Tensor): void {
  const isLeading = mask.shape.every((size, axis) => size === target.shape[axis]);
  if (!isLeading || mask.ndim > target.ndim)
    throw badArgument('set', `a mask [${mask.shape.join(', ')}] of a tensor [${target.shape.join(', ')}]`, 'give a mask of its leading dims'); // prettier-ignore
  const chosen = dispatchOne('reshape', [mask, [...mask.shape, ...target.shape.slice(mask.ndim).map(() => 1)]]);
  const fitting = dispatchOne('to', [dispatchOne('reshape', [value, []]), target.dtype]);
  copyInto(target, dispatchOne('where', [chosen, fitting, target]), { operation: 'set' });
}

/** Masks become the index tensors of the places where they are true. */
export function withoutMasks(items: readonly SubscriptItem[]): readonly SubscriptItem[] {
  if (!items.some(isMask)) return items;
  return items.flatMap((item): readonly SubscriptItem[] =>
    isMask(item) ? placesOf(item, 'indexing with a mask') : [item],
  );
}
