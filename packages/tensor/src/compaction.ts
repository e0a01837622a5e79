// Results whose size only values decide, in two passes that are ordinary operators: the first computes everything of a
// size that is known, and the count; the count is read (which ends a segment, and breaks a trace); the second works on
// tensors of that size. Eager execution, the interpreter and compiled segments all do the same.
import { at } from '@tsinductor/base';
import { dispatch, dispatchOne } from './dispatch.ts';
import { ambientDevice } from './device.ts';
import { byteSize } from './element-array.ts';
import { rowMajorLayout } from './layout.ts';
import { placedTensor, readPlace } from './tensor.ts';
import type { Tensor } from './tensor.ts';
import { storageOn } from './transfer.ts';

export const op = (name: string, ...given: readonly unknown[]): Tensor => dispatchOne(name, given);

/** Reads 0-d tensors of whole numbers, all at once. */
export function readNumbers(operation: string, values: readonly Tensor[]): readonly number[] {
  const list = op(
    'stack',
    values.map((value) => op('to', value, 'i64')),
  );
  const { storage, layout } = readPlace(list, operation);
  const elements = storage.read('i64', layout.offset, layout.offset + values.length);
  const numbers = values.map((_, position) => Number(elements[position]));
  list.dispose();
  return numbers;
}

/** Reads a count, the only element of a tensor that nobody else needs. */
export function readCount(number: Tensor, operation: string): number {
  const { storage, layout } = readPlace(number, operation);
  const count = Number(storage.read('i64', layout.offset, layout.offset + 1)[0]);
  number.dispose();
  return count;
}

/** The first `count` elements of a vector, which is computed now: a view, and no symbol of its size is left. */
export function firstOf(vector: Tensor, count: number, operation: string): Tensor {
  const { storage, layout } = readPlace(vector, operation);
  return placedTensor(vector.dtype, storage, { ...layout, shape: [count] });
}

/** A vector of a size that was read, whose elements mean nothing: further tensors take their size from it. */
export const ofSize = (count: number): Tensor =>
  placedTensor('u8', storageOn(ambientDevice(), byteSize('u8', count)), rowMajorLayout([count]));

/** Zeros of a size that was read: one that changes does not make another segment. */
export const zerosOfSize = (count: number, dtype: Tensor['dtype']): Tensor =>
  dispatchOne('zerosLike', [ofSize(count)], { dtype });

/** 0, 1 .. up to a size that was read. */
export function rangeOfSize(count: number): Tensor {
  const ones = dispatchOne('onesLike', [ofSize(count)], { dtype: 'i64' });
  return op('sub', op('cumsum', ones, 0), 1);
}

/** Where the elements of a vector of bools are true, in order. */
export function positionsOf(flags: Tensor, operation: string): Tensor {
  const size = at(flags.shape, 0);
  if (size === 0) return dispatchOne('zeros', [[0]], { dtype: 'i64' });
  const running = op('cumsum', flags, 0);
  // What is not chosen goes behind the end.
  const slots = op('where', flags, op('sub', running, 1), size);
  const target = dispatchOne('zeros', [[size + 1]], { dtype: 'i64' });
  const all = op('scatter', target, 0, slots, op('arange', size));
  const count = op('sum', flags);
  for (const used of [running, slots, target]) used.dispose();
  const [chosen = 0] = readNumbers(operation, [count]);
  return firstOf(all, chosen, operation);
}

/** The largest and the smallest element of a tensor that is not empty. */
export function extremesOf(x: Tensor, operation: string): { readonly least: number; readonly largest: number } {
  const [least = 0, largest = 0] = readNumbers(operation, dispatch('aminmax', [x]) as Tensor[]);
  return { least, largest };
}

/** For each dim, the coordinates of the elements that are not zero, in row-major order. */
export function placesOf(x: Tensor, operation: string): readonly Tensor[] {
  const flags = op('flatten', x.dtype === 'bool' ? x : op('ne', x, 0));
  const positions = positionsOf(flags, operation);
  let inner = x.numel;
  return x.shape.map((size, axis) => {
    inner /= Math.max(size, 1);
    const rows = inner === 1 ? positions : op('floorDivide', positions, inner);
    return axis === 0 ? rows : op('remainder', rows, size);
  });
}
