// Shapes of traced tensors. A user sees numbers: those of the example inputs. A size that is symbolic becomes fixed, with
// a guard, when it is read from the shape; a shape that is handed on as a whole (zeros(x.shape)) keeps its symbols.
import { at } from '@tsinductor/base';
import type { Attr, SizeEnvironment } from '@tsinductor/graph';
import { sizesAttr } from '@tsinductor/graph';
import { equal, int } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { processState } from './process-state.ts';

const sizesOf: unique symbol = Symbol.for('tsinductor.sizes') as never;

/**
 * Numbers for `sizes`, which are fixed one by one as they are read; but what may be read freely is told as the hint. `readsFreely` is
 * asked for an axis, and for the function that the program reads it by.
 */
export function guardedShape(
  sizes: readonly Index[],
  environment: SizeEnvironment,
  readsFreely: (axis: number, reader: Reader) => boolean = () => false,
): readonly number[] {
  if (sizes.every((size) => size.kind === 'int')) return sizes.map((size) => size.value);
  const shape = new Array<number>(sizes.length);
  sizes.forEach((size, axis) => {
    const read = (): number => (readsFreely(axis, read) ? environment.hint(size) : environment.toNumber(size));
    Object.defineProperty(shape, axis, { enumerable: true, get: read });
  });
  const hintFor: Symbolic['hintFor'] = (axis, reader) => {
    const size = sizes[axis];
    return size !== undefined && readsFreely(axis, reader) ? environment.hint(size) : undefined;
  };
  const symbolic: Symbolic = { sizes: sizesAttr(sizes), environment, hintFor };
  Object.defineProperty(shape, sizesOf, { value: symbolic });
  return Object.freeze(shape);
}

interface Symbolic {
  readonly sizes: readonly Attr[];
  readonly environment: SizeEnvironment;
  /** A size that `reader` (of ours) may tell its caller without fixing it. */
  hintFor(axis: number, reader: Reader): number | undefined;
}

export type Reader = (...args: never[]) => unknown;

/** The size of an axis (counted from the start) for the caller of `reader`, which a recorded tensor asks for. */
export const sizeFor = (shape: readonly number[], axis: number, reader: Reader): number | undefined =>
  (shape as { readonly [sizesOf]?: Symbolic })[sizesOf]?.hintFor(axis, reader) ?? shape[axis];

/** The sizes of a shape with symbols of what is being recorded, as attributes; undefined for all others, which are numbers. */
export function symbolicSizes(shape: readonly unknown[]): readonly Attr[] | undefined {
  const symbolic = (shape as { readonly [sizesOf]?: Symbolic })[sizesOf];
  if (symbolic === undefined) return undefined;
  return symbolic.environment === processState.recorder?.sizes ? symbolic.sizes : undefined;
}

/** Sizes or strides of a tensor, symbolic where they are so in what is being recorded. */
export function indexesOf(sizes: readonly number[]): readonly Index[] {
  const symbolic = symbolicSizes(sizes);
  if (symbolic === undefined) return sizes.map((size) => int(size));
  return symbolic.map((size) =>
    typeof size === 'object' && size !== null && 'size' in size ? size.size : int(Number(size)),
  );
}

/** Whether two shapes are the same; sizes that are so whatever they are are not fixed by the question. */
export function sameSizes(one: readonly number[], other: readonly number[]): boolean {
  const [left, right] = [indexesOf(one), indexesOf(other)];
  return (
    left.length === right.length &&
    left.every((size, axis) => equal(size, at(right, axis)) || one[axis] === other[axis])
  );
}
