// Shapes of traced tensors. A user sees numbers: those of the example inputs. A size that is symbolic becomes fixed, with
// a guard, when it is read from the shape; a shape that is handed on as a whole (zeros(x.shape)) keeps its symbols.
import type { Attr, SizeEnvironment } from '@tsinductor/graph';
import { sizesAttr } from '@tsinductor/graph';
import type { Index } from '@tsinductor/ir';

const sizesOf: unique symbol = Symbol.for('tsinductor.sizes') as never;

/** Numbers for `sizes`, which are fixed one by one as they are read. */
export function guardedShape(sizes: readonly Index[], environment: SizeEnvironment): readonly number[] {
  if (sizes.every((size) => size.kind === 'int')) return sizes.map((size) => size.value);
  const shape = new Array<number>(sizes.length);
  sizes.forEach((size, axis) => {
    Object.defineProperty(shape, axis, { enumerable: true, get: () => environment.toNumber(size) });
  });
  Object.defineProperty(shape, sizesOf, { value: sizesAttr(sizes) });
  return Object.freeze(shape);
}

/** The sizes of a shape with symbols, as attributes; undefined for plain arrays. */
export const symbolicSizes = (shape: readonly unknown[]): readonly Attr[] | undefined =>
  (shape as { readonly [sizesOf]?: readonly Attr[] })[sizesOf];
