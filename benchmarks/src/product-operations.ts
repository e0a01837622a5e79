// Our own contender's matrix products of the suite gemm, as a user would write them: batches, transposed operands, other dtypes, and
// weights that are stored narrow and widened where they are used.
import { stack } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { MemoryBound } from './memory-bound-operations.ts';
import type { Params } from './protocol.ts';

/** Elements of a row of a weight of int4 that share a scale. */
export const groupOf4 = 32;

/** [batch, rows, columns], or the last two where there is no batch. */
const matrix = (batch: number, rows: number, columns: number): readonly number[] =>
  batch > 1 ? [batch, rows, columns] : [rows, columns];

const productOf =
  (convert?: (inputs: readonly Tensor[]) => readonly Tensor[]) =>
  ({ batch = 1, m = 0, k = 0, n = 0, turnA = 0, turnB = 0 }: Params): MemoryBound => ({
    shapes: [
      turnA === 1 ? matrix(batch, k, m) : matrix(batch, m, k),
      turnB === 1 ? matrix(batch, n, k) : matrix(batch, k, n),
    ],
    ...(convert === undefined ? {} : { convert }),
    fn: ([a, b]) => (turnA === 1 ? a.transpose(-1, -2) : a).matmul(turnB === 1 ? b.transpose(-1, -2) : b),
  });

export const productOperations: Readonly<Record<string, (params: Params) => MemoryBound>> = {
  product: productOf(),
  productF64: productOf((inputs) => inputs.map((x) => x.to('f64'))),
  productBf16: productOf((inputs) => inputs.map((x) => x.to('bf16'))),
  productInt8: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [[m, k], [k, n], [n]],
    convert: ([x, weight, ...rest]) => (x === undefined || weight === undefined ? [] : [x, weight.to('i8'), ...rest]),
    fn: ([x, weight, scale]) => x.matmul(weight.to({ dtype: 'f32' }).mul(scale)),
  }),
  // Two elements of a row in each byte, the first one in its low half; 8 stands for 0.
  productInt4: ({ m = 0, k = 0, n = 0 }) => ({
    shapes: [
      [m, k],
      [n, k / 2],
      [n, k / groupOf4],
    ],
    convert: ([x, weight, ...rest]) => (x === undefined || weight === undefined ? [] : [x, weight.to('u8'), ...rest]),
    fn: ([x, packed, scale]) => {
      const halves = stack([packed.bitwiseAnd(15), packed.bitwiseRightShift(4)], -1);
      const groups = halves
        .reshape([n, k / groupOf4, groupOf4])
        .to({ dtype: 'f32' })
        .sub(8);
      return x.matmul(groups.mul(scale.unsqueeze(-1)).reshape([n, k]).t());
    },
  }),
};
