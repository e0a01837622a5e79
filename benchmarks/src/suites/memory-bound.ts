// Programs bound by memory, each at three sizes: arrays that fit into the second-level cache, into the last one, and into
// neither. Every row states the least it must read and write, and the exact value of any element.
import { reader, uniform } from '../workload.ts';
import type { Workload } from '../workload.ts';
import { chains, streams } from './memory-bound-chains.ts';
import type { Row } from './memory-bound-chains.ts';
import { geluSigmoid, layerNorm, softmax, sum, sumOver, transposeAdd } from './pointwise.ts';

const suite = 'memory-bound';

type Reading = (index: number) => number;

/** Columns of the matrices; rows follow from the size. */
const width = 1024;

interface Matrix {
  readonly n: number;
  readonly rows: number;
  readonly columns: number;
}
const matrix = (n: number): Matrix => ({ n, rows: n / width, columns: width });
const params = ({ rows, columns }: Matrix): Row['params'] => ({ rows, columns });

const rowOf = (index: number, columns: number): number => Math.floor(index / columns);

function rmsNorm(n: number): Row {
  const shape = matrix(n);
  const { columns } = shape;
  const [x, gamma] = [uniform(n, 30, [-2, 3]), uniform(columns, 31, [0.5, 1.5])];
  const [readX, readGamma] = [reader(x), reader(gamma)];
  return {
    name: 'RMS norm',
    op: 'rmsNorm',
    params: params(shape),
    inputs: [x, gamma],
    outputs: [n],
    work: streams(1, 1, n),
    reference: (_, i) => {
      const start = i - (i % columns);
      const mean = sumOver(columns, (j) => readX(start + j) ** 2) / columns;
      return (readX(i) / Math.sqrt(mean + 1e-6)) * readGamma(i % columns);
    },
    tolerance: 1e-5,
  };
}

function softmaxBackward(n: number): Row {
  const shape = matrix(n);
  const { columns } = shape;
  const [g, y] = [uniform(n, 32), uniform(n, 33, [0, 0.002])];
  const [readG, readY] = [reader(g), reader(y)];
  return {
    name: 'softmax backward',
    op: 'softmaxBackward',
    params: params(shape),
    inputs: [g, y],
    outputs: [n],
    work: streams(2, 1, n),
    reference: (_, i) => {
      const start = i - (i % columns);
      return (readG(i) - sumOver(columns, (j) => readG(start + j) * readY(start + j))) * readY(i);
    },
    tolerance: 1e-4,
  };
}

function layerNormBackward(n: number): Row {
  const shape = matrix(n);
  const { columns } = shape;
  const [g, x] = [uniform(n, 34), uniform(n, 35, [-2, 3])];
  const [readG, readX] = [reader(g), reader(x)];
  const meanOf = (term: (j: number) => number): number => sumOver(columns, term) / columns;
  return {
    name: 'layer norm backward',
    op: 'layerNormBackward',
    params: params(shape),
    inputs: [g, x],
    outputs: [n],
    work: streams(2, 1, n),
    reference: (_, i) => {
      const start = i - (i % columns);
      const mean = meanOf((j) => readX(start + j));
      const scale = 1 / Math.sqrt(meanOf((j) => (readX(start + j) - mean) ** 2) + 1e-5);
      const normalOf = (j: number): number => (readX(start + j) - mean) * scale;
      const gradient = meanOf((j) => readG(start + j));
      const along = meanOf((j) => readG(start + j) * normalOf(j));
      return scale * (readG(i) - gradient - normalOf(i - start) * along);
    },
    tolerance: 1e-4,
  };
}

function crossEntropy(n: number): Row {
  const shape = matrix(n);
  const { rows, columns } = shape;
  const [x, label] = [uniform(n, 36, [-3, 3]), uniform(rows, 37, [0, columns])];
  const [readX, readLabel] = [reader(x), reader(label)];
  return {
    name: 'cross entropy of rows',
    op: 'crossEntropy',
    params: params(shape),
    inputs: [x, label],
    outputs: [rows],
    work: streams(1, 0, n),
    reference: (_, i) => {
      const total = sumOver(columns, (j) => Math.exp(readX(i * columns + j)));
      return Math.log(total) - readX(i * columns + Math.min(columns - 1, Math.floor(readLabel(i))));
    },
    tolerance: 1e-4,
  };
}

function reduction(name: string, op: string, reference: (read: Reading, shape: Matrix) => Row['reference']) {
  return (n: number): Row => {
    const shape = matrix(n);
    const x = uniform(n, 38, [-1, 2]);
    const outputs = op === 'sumAll' ? 1 : op === 'cumsumRows' ? n : shape.rows;
    const work = streams(1, op === 'cumsumRows' ? 1 : 0, n);
    return { name, op, params: params(shape), inputs: [x], outputs: [outputs], work, reference: reference(reader(x), shape), tolerance: 1e-4 }; // prettier-ignore
  };
}

const reductions = [
  reduction(
    'full sum',
    'sumAll',
    (read, { n }) =>
      () =>
        sumOver(n, read),
  ),
  reduction('argmax of rows', 'argmaxRows', (read, { columns }) => (_, row) => {
    let best = 0;
    for (let j = 1; j < columns; j += 1) if (read(row * columns + j) > read(row * columns + best)) best = j;
    return best;
  }),
  reduction(
    'cumulative sum of rows',
    'cumsumRows',
    (read, { columns }) =>
      (_, i) =>
        sumOver((i % columns) + 1, (j) => read(i - (i % columns) + j)),
  ),
];

/** x, permuted: the extents of its axes, and which element of x lies at place i of the result. */
interface Permutation {
  readonly name: string;
  readonly op: string;
  readonly shapeOf: (n: number) => Row['params'];
  readonly source: (i: number, shape: Row['params']) => number;
}

const permutation =
  ({ name, op, shapeOf, source }: Permutation) =>
  (n: number): Row => {
    const x = uniform(n, 39);
    const shape = shapeOf(n);
    const read = reader(x);
    const reference = (_: number, i: number): number => read(source(i, shape));
    return { name, op, params: shape, inputs: [x], outputs: [n], work: streams(1, 1, n), reference, tolerance: 1e-6 };
  };

const permutations = [
  permutation({
    name: 'permute [a,b,c] to [c,a,b]',
    op: 'permute3',
    shapeOf: (n) => ({ a: 16, b: n / 16 / 128, c: 128 }),
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
];

function concatenation(n: number): Row {
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

function gathering(n: number): Row {
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
function scattering(n: number): Row {
  const { rows, columns } = matrix(n);
  const [source, index] = [uniform(n, 44), uniform(rows, 45, [0, 64])];
  const [readSource, readIndex] = [reader(source), reader(index)];
  return {
    name: 'index add of rows',
    op: 'indexAddRows',
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

/** An image normalised, and halved by the mean of 2 x 2 pixels. */
function resize(n: number): Row {
  const x = uniform(n, 46, [0, 255]);
  const read = reader(x);
  const half = width / 2;
  return {
    name: 'image normalise and halve',
    op: 'halveImage',
    params: { rows: n / width, columns: width },
    inputs: [x],
    outputs: [n / 4],
    work: { reads: 1, writes: 0, streamBytes: n * 5 },
    reference: (_, i) => {
      const at = 2 * rowOf(i, half) * width + 2 * (i % half);
      const mean = (read(at) + read(at + 1) + read(at + width) + read(at + width + 1)) / 4;
      return (mean / 255 - 0.45) / 0.225;
    },
    tolerance: 1e-4,
  };
}

const families: readonly ((n: number) => Row)[] = [
  (n) => geluSigmoid(n),
  (n) => softmax(n / width, width),
  (n) => layerNorm(n / width, width),
  (n) => sum(1, n / width, width),
  (n) => sum(0, n / width, width),
  (n) => transposeAdd(Math.sqrt(n)),
  rmsNorm,
  softmaxBackward,
  layerNormBackward,
  crossEntropy,
  ...reductions,
  ...permutations,
  concatenation,
  gathering,
  scattering,
  resize,
  ...chains,
];

/** Elements of the main arrays: 256 KiB of f32, 4 MiB, 64 MiB. */
const sizes: readonly (readonly [string, number])[] = [
  ['in cache', 1 << 16],
  ['in L3', 1 << 20],
  ['in memory', 1 << 24],
];

export const memoryBoundWorkloads: readonly Workload[] = sizes.flatMap(([where, n]) =>
  families.map((make) => {
    const row = make(n);
    return { ...row, suite, name: `${row.name.replace(/ (\d+M?|\[[\d,]+\])$/, '')} ${where}` };
  }),
);
