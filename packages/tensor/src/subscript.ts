// Subscripts: x[1, 2:8, null, index] is x.index([1, slice(2, 8), null, index]), or x.at(...) with the items one by one.
// Integers, slices, null and ellipsis make views; index tensors gather; a mask selects the places where it is true, which
// needs its values.
import type { DType } from '@tsinductor/base';
import type { Open } from './element-types.ts';
import { placesOf } from './compaction.ts';
import { dispatchOne } from './dispatch.ts';
import { badArgument, maskShape } from './errors.ts';
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
export interface SubscriptMethods<D extends DType = Open> {
  /** The part of the tensor that the items name: `x.at(0)`, `x.at(slice(1, 3), null)`. */
  at(...items: SubscriptItem[]): Tensor<D>;
  /** As `at`, with the items in a list. */
  index(items: readonly SubscriptItem[]): Tensor<D>;
  /** Writes into the part of the tensor that the items name: `x.set([0, slice(1, 3)], value)`. */
  set(items: readonly SubscriptItem[] | SubscriptItem, value: Tensor | number | bigint | boolean): this;
  /** Overwrites the elements with those of a tensor, broadcast and cast. */
  copy_(source: Tensor): this;
  /** Used by compiled code: overwrites the elements with those of a tensor of equal shape and dtype. */
  writeBack(source: Tensor): void;
}

type Methods = {
  [Name in keyof SubscriptMethods]: (
    this: Tensor,
    ...given: Parameters<SubscriptMethods[Name]>
  ) => ReturnType<SubscriptMethods[Name]>;
};

function readItems(tensor: Tensor, items: readonly SubscriptItem[]): Tensor {
  const known = withoutMasks(tensor, items);
  return dispatchOne('getItem', [known.target, known.items]);
}

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
  const known = withoutMasks(target, items);
  if (known.target !== target) {
    setItems(known.target, known.items, value);
    return;
  }
  if (!known.items.some(isIndexed)) {
    copyInto(readItems(target, known.items), wanted, { operation: 'set', isUniform: wanted.ndim === 0 });
    return;
  }
  // Which elements the items name: the subscript of the positions themselves.
  const places = dispatchOne('reshape', [dispatchOne('arange', [target.numel]), target.shape]);
  const chosen = readItems(places, known.items);
  const source = dispatchOne('to', [dispatchOne('expand', [wanted, chosen.shape]), target.dtype]);
  const flat = (tensor: Tensor): Tensor => dispatchOne('reshape', [tensor, [-1]]);
  const updated = dispatchOne('scatter', [dispatchOne('reshape', [target, [-1]]), 0, flat(chosen), flat(source)]);
  copyInto(target, dispatchOne('reshape', [updated, target.shape]), { operation: 'set' });
}

/** PyTorch's older masks are u8. */
const isMask = (item: SubscriptItem | undefined): item is Tensor =>
  isTensor(item) && (item.dtype === 'bool' || item.dtype === 'u8');

/** One value wherever a mask of the leading dims is true: which places these are does not matter. */
function fillMasked(target: Tensor, mask: Tensor, value: Tensor): void {
  requireMaskOf(target, mask, 0);
  const chosen = dispatchOne('reshape', [
    mask.dtype === 'bool' ? mask : dispatchOne('ne', [mask, 0]),
    [...mask.shape, ...target.shape.slice(mask.ndim).map(() => 1)],
  ]);
  const fitting = dispatchOne('to', [dispatchOne('reshape', [value, []]), target.dtype]);
  copyInto(target, dispatchOne('where', [chosen, fitting, target]), { operation: 'set' });
}

/** A mask has the sizes of the dims that it stands for, from `first` on. */
function requireMaskOf({ shape }: Tensor, mask: Tensor, first: number): void {
  if (mask.shape.some((size, axis) => size !== shape[first + axis])) throw maskShape(mask.shape, shape, first);
}

/** How many dims of the tensor an item stands for, the ellipsis apart. */
const widthOf = (item: SubscriptItem): number => (item === null ? 0 : isMask(item) ? item.ndim : 1);

const isEllipsis = (item: SubscriptItem): boolean => typeof item === 'object' && item !== null && 'ellipsis' in item;

interface Subscripted {
  readonly target: Tensor;
  readonly items: readonly SubscriptItem[];
}

/**
 * Masks become the index tensors of the places where they are true. One without dims is that of a new dim of one element, which
 * the target gets.
 */
function withoutMasks(tensor: Tensor, items: readonly SubscriptItem[]): Subscripted {
  if (!items.some(isMask)) return { target: tensor, items };
  const named = items.filter((item) => !isEllipsis(item)).reduce((sum: number, item) => sum + widthOf(item), 0);
  let [target, dim] = [tensor, 0];
  const known = items.flatMap((item): readonly SubscriptItem[] => {
    const isNew = isMask(item) && item.ndim === 0;
    if (isNew) target = dispatchOne('unsqueeze', [target, dim]);
    const first = dim;
    dim += isNew ? 1 : isEllipsis(item) ? Math.max(tensor.ndim - named, 0) : widthOf(item);
    if (!isMask(item)) return [item];
    const mask = isNew ? dispatchOne('reshape', [item, [1]]) : item;
    requireMaskOf(target, mask, first);
    return placesOf(mask, 'indexing with a mask');
  });
  return { target, items: known };
}
