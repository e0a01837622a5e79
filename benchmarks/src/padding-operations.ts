// Our own contender's operations of the padding suite: views whose rows are some floats apart, and a value that kernels pass on
// to each other, in dense rows or padded ones.
import type { CompileOptions, Tensor } from 'tsinductor';
import type { MemoryBound } from './memory-bound-operations.ts';
import type { Params } from './protocol.ts';

export interface PaddingOperation extends MemoryBound {
  readonly options?: CompileOptions;
}

/** The first columns of rows that are `apart` floats apart, and what is computed of them. */
const strided =
  (fn: (x: Tensor, w: Tensor) => Tensor) =>
  ({ rows = 0, columns = 0, apart = 0, factors = 0 }: Params): PaddingOperation => ({
    shapes: [
      [rows, apart],
      [columns, factors],
    ],
    convert: ([x, w]) => (x === undefined || w === undefined ? [] : [x.narrow(1, 0, columns), w]),
    fn: ([x, w]) => fn(x, w),
  });

export const paddingOperations: Readonly<Record<string, (params: Params) => PaddingOperation>> = {
  stridedTranspose: strided((x) => x.t().contiguous()),
  stridedColumnSum: strided((x) => x.sum(0)),
  stridedProduct: strided((x, w) => x.matmul(w)),
  passedOn: ({ rows = 0, columns = 0, factors = 0, padded = 0 }) => ({
    shapes: [
      [rows, columns],
      [columns, factors],
    ],
    options: { options: { disablePaddingCpu: padded === 0 } },
    fn: ([x, w]) => {
      const passed = x.exp();
      return [passed.t().contiguous(), passed.sum(0), passed.matmul(w)];
    },
  }),
};
