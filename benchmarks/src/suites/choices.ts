// What no other suite has a row for, and the tables of the compiler's choices and rules are measured by: long rows, one row, and
// products of few rows.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { softmax, sum, sumOver } from './pointwise.ts';

const suite = 'choices';

/** Rows that are too long to keep, and too long to prefetch the next one. */
const longRows: readonly Workload[] = [softmax(1024, 16_384), sum(1, 256, 65_536)].map((row) => ({ ...row, suite }));

function runningSum(n: number): Workload {
  const x = uniform(n, 14, [-1, 2]);
  const read = reader(x);
  return {
    suite,
    name: 'cumulative sum of one row',
    op: 'cumsumRows',
    params: { rows: 1, columns: n },
    inputs: [x],
    outputs: [n],
    work: { reads: 1, writes: 1, streamBytes: n * 4 },
    reference: (_, i) => sumOver(i + 1, read),
    tolerance: 1e-4,
  };
}

interface Shape {
  readonly m: number;
  readonly k: number;
  readonly n: number;
}

/** A product; `along columns`: of a matrix whose columns lie one after another; `frozen`: of such a one that no argument is; `symbolic`: compiled for any size. */
function product(
  name: string,
  { m, k, n }: Shape,
  second: 'along rows' | 'along columns' | 'frozen' | 'symbolic' = 'along rows',
): Workload {
  const [a, b] = [uniform(m * k, 15), uniform(k * n, 16)];
  const [readA, readB] = [reader(a), reader(b)];
  const [down, across] = second === 'along rows' || second === 'symbolic' ? [n, 1] : [1, k];
  return {
    suite,
    name: `product of ${name}`,
    op: { 'along rows': 'matmul', 'along columns': 'matmulTurned', frozen: 'linearFrozen', symbolic: 'matmulSymbolic' }[
      second
    ],
    params: { m, k, n },
    inputs: [a, b],
    outputs: [m * n],
    work: { reads: 1, writes: 0, streamBytes: k * n * 4, flops: 2 * m * k * n },
    reference: (_, index) => {
      const [row, column] = [Math.floor(index / n), index % n];
      return sumOver(k, (at) => readA(row * k + at) * readB(at * down + column * across));
    },
    tolerance: 1e-4,
  };
}

export const choiceWorkloads: readonly Workload[] = [
  ...longRows,
  runningSum(1 << 20),
  product('1 row', { m: 1, k: 1024, n: 1024 }),
  product('2 rows', { m: 2, k: 1024, n: 1024 }),
  product('3 rows', { m: 3, k: 1024, n: 1024 }),
  product('3 rows along columns', { m: 3, k: 1024, n: 1024 }, 'along columns'),
  product('3 rows by a frozen matrix', { m: 3, k: 1024, n: 1024 }, 'frozen'),
  product('8 rows by a frozen matrix', { m: 8, k: 1024, n: 1024 }, 'frozen'),
  product('7 rows and columns', { m: 7, k: 7, n: 7 }),
  product('1024 of symbolic sizes', { m: 1024, k: 1024, n: 1024 }, 'symbolic'),
];
