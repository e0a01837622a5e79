// Our own contender's operations of the suite sorting, as a user would write them. Inputs of the protocol are f32; what is to be whole
// numbers is converted before anything is timed. What is compared is the first result.
import { searchsorted } from 'tsinductor';
import type { DType, Tensor } from 'tsinductor';
import type { MemoryBound } from './memory-bound-operations.ts';
import type { Params } from './protocol.ts';

const vector = ({ n = 0 }: Params): MemoryBound['shapes'] => [[n]];
const matrix = ({ rows = 0, columns = 0 }: Params): MemoryBound['shapes'] => [[rows, columns]];

const as =
  (dtype: DType) =>
  ([x]: readonly Tensor[]): readonly Tensor[] =>
    x === undefined ? [] : [x.to(dtype)];

/** The sequence is 0, 1 and so on. */
const counting = ([sequence, values]: readonly Tensor[]): readonly Tensor[] =>
  sequence === undefined || values === undefined ? [] : [sequence.mul(0).add(1).cumsum(0).sub(1), values];

type Operation = (params: Params) => MemoryBound;

export const sortingOperations: Readonly<Record<string, Operation>> = {
  sort: (params) => ({ shapes: vector(params), fn: ([x]) => [...x.sort()] }),
  sortI32: (params) => ({ shapes: vector(params), convert: as('i32'), fn: ([x]) => [...x.sort()] }),
  sortI64: (params) => ({ shapes: vector(params), convert: as('i64'), fn: ([x]) => [...x.sort()] }),
  argsort: (params) => ({ shapes: vector(params), fn: ([x]) => x.gather(0, x.argsort()) }),
  topk: (params) => ({ shapes: vector(params), fn: ([x]) => [...x.topk(params['k'] ?? 1)] }),
  kthvalue: (params) => ({ shapes: vector(params), fn: ([x]) => [...x.kthvalue(params['k'] ?? 1)] }),
  median: (params) => ({ shapes: vector(params), fn: ([x]) => x.median() }),
  unique: (params) => ({ shapes: vector(params), convert: as('i64'), fn: ([x]) => x.unique() }),
  searchsorted: ({ n = 0 }) => ({
    shapes: [[n], [n]],
    convert: counting,
    fn: ([sequence, values]) => searchsorted(sequence, values),
  }),
  sortRows: (params) => ({ shapes: matrix(params), fn: ([x]) => [...x.sort(-1)] }),
  topkRows: (params) => ({ shapes: matrix(params), fn: ([x]) => [...x.topk(10)] }),
  medianRows: (params) => ({ shapes: matrix(params), fn: ([x]) => [...x.median(-1)] }),
  sortMiddle: () => ({ shapes: [[10, 100, 100]], fn: ([x]) => [...x.sort(1)] }),
};
