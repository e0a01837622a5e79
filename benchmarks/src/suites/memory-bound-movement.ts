// What the suite of programs bound by memory only moves: permutations, concatenation, gathers and scatters.
import { reader, uniform } from '../workload.ts';
import { matrix, rowOf, streams, width } from './memory-bound-shapes.ts';
import type { Row } from './memory-bound-shapes.ts';
import { sumOver } from './pointwise.ts';

/** x, permuted: the extents of its axes, and which element of x lies at place i of the result. */
interface Permutation extends Pick<Row, 'shortfalls'> {
  readonly name: string;
  readonly op: string;
  readonly shapeOf: (n: number) => Row['params'];
  readonly source: (i: number, shape: Row['params']) => number;
}

const permutation =
  ({ shapeOf, source, ...row }: Permutation) =>
  (n: number): Row => {
    const x = uniform(n, 39);
    const shape = shapeOf(n);
    const read = reader(x);
    const reference = (_: number, i: number): number => read(source(i, shape));
    return { ...row, params: shape, inputs: [x], outputs: [n], work: streams(1, 1, n), reference, tolerance: 1e-6 };
  };

/** Columns of the square matrices that are turned. */
const side = (n: number): number => Math.sqrt(n);

export const permutations: readonly ((n: number) => Row)[] = [
  permutation({
    name: 'transpose',
    op: 'transpose',
    shapeOf: (n) => ({ rows: side(n), columns: side(n) }),
    shortfalls: {
      'in memory':
        'rows of 16 KB fall into few sets of every cache, and lines that are written so far apart into few rows of memory: by hand, of ' +
        '4,112 columns in rows of as many the same takes a fifth to a quarter less, which is as long as a copy',
    },
    source: (i, { rows = 1, columns = 1 }) => (i % rows) * columns + Math.floor(i / rows),
  }),
  permutation({
    name: 'permute [a,b,c] to [c,a,b]',
    op: 'permute3',
    shapeOf: (n) => ({ a: 16, b: n / 16 / 128, c: 128 }),
    shortfalls: {
      'in memory':
        'lines are written 512 KB apart, which fall into few sets of every cache, as those of the transposition',
    },
    source: (i, { a = 1, b = 1, c = 1 }) => (i % (a * b)) * c + Math.floor(i / (a * b)),
  }),
  permutation({
    name: 'NCHW to NHWC',
    op: 'channelsLast',
    shapeOf: (n) => ({ batch: n / 64 / 1024, channels: 64, pixels: 1024 }),
    source: (i, { channels = 1, pixels = 1 }) => {
      const [c, p, b] = [i % channels, Math.floor(i / channels) % pixels, Math.floor(i / channels / pixels)];
      return (b * channels + c) * pixels + p;
    },
  }),
  permutation({
    name: 'heads [b,s,h,d] to [b,h,s,d]',
    op: 'heads',
    shapeOf: (n) => ({ batch: 2, length: n / 2 / 8 / 64, heads: 8, width: 64 }),
    source: (i, { length = 1, heads = 1, width: columns = 1 }) => {
      const [d, s] = [i % columns, Math.floor(i / columns) % length];
      const [h, b] = [Math.floor(i / columns / length) % heads, Math.floor(i / columns / length / heads)];
      return ((b * length + s) * heads + h) * columns + d;
    },
  }),
  permutation({
    name: 'permute [a,b,c,d] to [d,c,b,a]',
    op: 'reverseAxes',
    shapeOf: (n) => ({ a: 32, b: 8, c: n / 32 / 8 / 64, d: 64 }),
    shortfalls: {
      'in memory':
        'runs of four lines are read 2 MB apart and runs of two are written 1 MB apart: too short to be foreseen, and powers of two, ' +
        'which fall into few sets of every cache. By hand, blocks of four points of c by all of b, which read runs of 1 KB and ask for ' +
        'them in the order of their addresses, take 10 to 14 % less; longer runs do not',
    },
    source: (i, { a = 1, b = 1, c = 1, d = 1 }) => {
      const [at, along] = [i % a, Math.floor(i / a) % b];
      const [deep, last] = [Math.floor(i / a / b) % c, Math.floor(i / a / b / c)];
      return ((at * b + along) * c + deep) * d + last;
    },
  }),
];

export function concatenation(n: number): Row {
  const [x, y] = [uniform(n / 2, 40), uniform(n / 2, 41)];
  const readers = [reader(x), reader(y)];
  const half = width / 2;
  return {
    name: 'cat along columns',
    op: 'catColumns',
    params: { rows: n / width, columns: half },
    inputs: [x, y],
    outputs: [n],
    work: streams(1, 1, n),
    reference: (_, i) => readers[i % width < half ? 0 : 1]?.(rowOf(i, width) * half + (i % half)) ?? 0,
    tolerance: 1e-6,
  };
}

export function gathering(n: number): Row {
  const { rows, columns } = matrix(n);
  const [table, index] = [uniform(n, 42), uniform(rows, 43, [0, rows])];
  const [readTable, readIndex] = [reader(table), reader(index)];
  return {
    name: 'gather of rows',
    op: 'gatherRows',
    params: { rows, columns },
    inputs: [table, index],
    outputs: [n],
    work: streams(1, 1, n),
    reference: (_, i) =>
      readTable(Math.min(rows - 1, Math.floor(readIndex(rowOf(i, columns)))) * columns + (i % columns)),
    tolerance: 1e-6,
  };
}

/** Rows added into a table of 64 rows. */
export function scattering(n: number): Row {
  const { rows, columns } = matrix(n);
  const [source, index] = [uniform(n, 44), uniform(rows, 45, [0, 64])];
  const [readSource, readIndex] = [reader(source), reader(index)];
  return {
    name: 'index add of rows',
    op: 'indexAddRows',
    shortfalls: {
      'in L3':
        'one thread adds a table of 256 KB to what another has just written, which takes 31 of 89 us where their ' +
        'third-level caches differ, and 16 of 73 where they share one; and adding goes by one line at a time',
      'in memory':
        'as many rows that a last-level cache has take 0.9 ms on a Zen 4, beside which memory, 1.1 alone, goes on in part only; ' +
        'of sixteen loops by hand, with several ways of asking and loading, the fastest took 5 % less than this way',
    },
    params: { rows, columns },
    inputs: [source, index],
    outputs: [64 * columns],
    work: streams(1, 0, n),
    reference: (_, i) => {
      const [target, j] = [rowOf(i, columns), i % columns];
      return sumOver(rows, (row) => (Math.floor(readIndex(row)) === target ? readSource(row * columns + j) : 0));
    },
    tolerance: 1e-4,
  };
}

/** An element of each row, chosen anew for every column. */
export function gatheringElements(n: number): Row {
  const { rows, columns } = matrix(n);
  const [x, index] = [uniform(n, 56), uniform(n, 57, [0, columns])];
  const [readX, readIndex] = [reader(x), reader(index)];
  return {
    name: 'gather of elements',
    op: 'gatherElements',
    shortfalls: {
      'in memory':
        'as many elements of rows in the caches take 4.3 ms, beside which memory, 4.9 alone, goes on in part only',
    },
    params: { rows, columns },
    inputs: [x, index],
    outputs: [n],
    // The indices are i64: as many bytes as two of the other arrays.
    work: streams(3, 1, n),
    reference: (_, i) => readX(i - (i % columns) + Math.min(columns - 1, Math.floor(readIndex(i)))),
    tolerance: 1e-6,
  };
}
