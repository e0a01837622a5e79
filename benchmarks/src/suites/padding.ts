// How far apart rows lie, and what it costs: one matrix whose rows are 4,095, 4,096 or 4,112 floats apart, transposed, summed
// over its rows and multiplied; and the same three of a value that kernels pass on, with dense rows and with padded ones. Rows
// at a power of two fall into few sets of the caches, rows at odd distances begin anywhere in a line.
import { reader, uniform } from '../workload.ts';
import type { Work, Workload } from '../workload.ts';
import { streams } from './memory-bound-shapes.ts';
import { sumOver } from './pointwise.ts';

const rows = 2048;
const columns = 4095;
const factors = 64;
const distances: readonly number[] = [4095, 4096, 4112];

const place = 'in memory';
const product = (n: number): Pick<Work, 'flops'> => ({ flops: 2 * n * factors });

/** Rows of `columns` elements of a matrix, `apart` from each other, and what is computed of them. */
interface Strided {
  readonly name: string;
  readonly op: string;
  readonly outputs: number;
  readonly work: Work;
  /** Element `i` of the result, of the matrix's elements and those of the factors. */
  readonly value: (
    read: (row: number, column: number) => number,
    i: number,
    factor: (index: number) => number,
  ) => number;
}

const n = rows * columns;
const strided: readonly Strided[] = [
  {
    name: 'transposed',
    op: 'stridedTranspose',
    outputs: n,
    work: streams(1, 1, n),
    value: (read, i) => read(i % rows, Math.floor(i / rows)),
  },
  {
    name: 'summed over rows',
    op: 'stridedColumnSum',
    outputs: columns,
    work: streams(1, 0, n),
    value: (read, i) => sumOver(rows, (row) => read(row, i)),
  },
  {
    name: 'multiplied',
    op: 'stridedProduct',
    outputs: rows * factors,
    work: { ...streams(1, 0, n), ...product(n) },
    value: (read, i, factor) =>
      sumOver(columns, (k) => read(Math.floor(i / factors), k) * factor(k * factors + (i % factors))),
  },
];

function stridedRow({ name, op, outputs, work, value }: Strided, apart: number): Workload {
  const [x, w] = [uniform(rows * apart, 70), uniform(columns * factors, 71)];
  const [readX, readW] = [reader(x), reader(w)];
  return {
    suite: 'padding',
    place,
    name: `rows ${String(apart)} apart, ${name}`,
    op,
    params: { rows, columns, apart, factors },
    inputs: [x, w],
    outputs: [outputs],
    work,
    reference: (_, i) => value((row, column) => readX(row * apart + column), i, readW),
    tolerance: 1e-4,
  };
}

/** exp(x), which three kernels read: with rows of `width`, or padded ones. */
function passedRow(width: number, padded: 0 | 1): Workload {
  const size = rows * width;
  const [x, w] = [uniform(size, 72), uniform(width * factors, 73)];
  const [readX, readW] = [reader(x), reader(w)];
  const read = (row: number, column: number): number => Math.exp(readX(row * width + column));
  const values = [
    (i: number) => read(i % rows, Math.floor(i / rows)),
    (i: number) => sumOver(rows, (row) => read(row, i)),
    (i: number) => sumOver(width, (k) => read(Math.floor(i / factors), k) * readW(k * factors + (i % factors))),
  ];
  return {
    suite: 'padding',
    place,
    name: `passed on with rows of ${String(width)}, ${padded === 1 ? 'padded' : 'dense'}`,
    op: 'passedOn',
    params: { rows, columns: width, factors, padded },
    inputs: [x, w],
    outputs: [size, width, rows * factors],
    work: { ...streams(1, 1, size), ...product(size), functions: { exp: size } },
    reference: (output, i) => values[output]?.(i) ?? Number.NaN,
    tolerance: 1e-4,
  };
}

export const paddingWorkloads: readonly Workload[] = [
  ...strided.flatMap((one) => distances.map((apart) => stridedRow(one, apart))),
  ...distances.flatMap((width) => [passedRow(width, 0), passedRow(width, 1)]),
];
