// Subscripts: x[1, 2:8, null, index] is x.index([1, slice(2, 8), null, index]), or x.at(...) with the items one by one.
// Integers, slices, null and ellipsis make views; index tensors gather; a mask selects the places where it is true, which
// needs its values.
import { dispatchOne } from './dispatch.ts';
import { badArgument, notATensor } from './errors.ts';
import { located } from './location.ts';
import { isTensor, rawElements } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { tensorOfElements } from './create.ts';
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
      return copyInto(this, source, 'copy_');
    } catch (error) {
      throw located(error);
    }
  },
  writeBack(source) {
    write(this, source, 'a compiled function');
  },
};

const isIndexed = (item: SubscriptItem): boolean => isTensor(item) || Array.isArray(item);

function setItems(target: Tensor, items: readonly SubscriptItem[], value: unknown): void {
  const known = withoutMasks(items);
  const wanted = isTensor(value) ? value : dispatchOne('full', [[], value], { dtype: target.dtype });
  if (!known.some(isIndexed)) {
    copyInto(readItems(target, known), wanted, 'set');
    return;
  }
  // Which elements the items name: the subscript of the positions themselves.
  const places = dispatchOne('reshape', [dispatchOne('arange', [target.numel]), target.shape]);
  const chosen = readItems(places, known);
  const source = dispatchOne('to', [dispatchOne('expand', [wanted, chosen.shape]), target.dtype]);
  const flat = (tensor: Tensor): Tensor => dispatchOne('reshape', [tensor, [-1]]);
  const updated = dispatchOne('scatter', [dispatchOne('reshape', [target, [-1]]), 0, flat(chosen), flat(source)]);
  copyInto(target, dispatchOne('reshape', [updated, target.shape]), 'set');
}

/** Masks become the index tensors of the places where they are true. */
export function withoutMasks(items: readonly SubscriptItem[]): readonly SubscriptItem[] {
  if (!items.some((item) => isTensor(item) && item.dtype === 'bool')) return items;
  return items.flatMap((item): readonly SubscriptItem[] =>
    isTensor(item) && item.dtype === 'bool' ? placesOf(item, 'indexing with a mask') : [item],
  );
}

/** For each dim, the coordinates of the elements that are not zero, in row-major order. */
export function placesOf(mask: Tensor, operation: string): readonly Tensor[] {
  if (!isTensor(mask)) throw notATensor(operation, mask);
  const elements = rawElements(mask, operation);
  const found: number[] = [];
  for (let position = 0; position < elements.length; position += 1) {
    if (Number(elements[position]) !== 0) found.push(position);
  }
  const { shape } = mask;
  let step = mask.numel;
  return shape.map((size) => {
    step /= Math.max(size, 1);
    const inner = step;
    const coordinates = BigInt64Array.from(found, (position) => BigInt(Math.floor(position / inner) % size));
    return tensorOfElements(coordinates, 'i64', [found.length]);
  });
}
