// Normalisations of the suite of programs bound by memory, forward and backward, and what else needs whole rows.
import { reader, uniform } from '../workload.ts';
import { matrix, params, rowOf, streams } from './memory-bound-shapes.ts';
import type { Row } from './memory-bound-shapes.ts';
import { softmax, sumOver } from './pointwise.ts';

export function rmsNorm(n: number): Row {
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

export function softmaxBackward(n: number): Row {
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

export function layerNormBackward(n: number): Row {
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

export function crossEntropy(n: number): Row {
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
    // Beside the exponential a comparison, a difference and a sum.
    work: { ...streams(1, 0, n), flops: 6 * n, functions: { exp: n } },
    shortfalls: {
      'in memory':
        'the instructions alone, on rows in the first-level cache, take 3.4 ms: exponentials 2.6, at the clock of wide arithmetic, and a ' +
        'maximum that keeps NaN, for which the exponentials wait. Of hand-written loops (two rows at a time, or the maximum of ' +
        'the next row beside the exponentials of this one, with and without asking ahead) the best takes 3.5 where this takes 3.8',
    },
    reference: (_, i) => {
      const total = sumOver(columns, (j) => Math.exp(readX(i * columns + j)));
      return Math.log(total) - readX(i * columns + Math.min(columns - 1, Math.floor(readLabel(i))));
    },
    tolerance: 1e-4,
  };
}

export function rmsNormBackward(n: number): Row {
  const shape = matrix(n);
  const { columns } = shape;
  const [g, x, gamma] = [uniform(n, 47), uniform(n, 48, [-2, 3]), uniform(columns, 49, [0.5, 1.5])];
  const [readG, readX, readGamma] = [reader(g), reader(x), reader(gamma)];
  return {
    name: 'RMS norm backward',
    op: 'rmsNormBackward',
    params: params(shape),
    inputs: [g, x, gamma],
    outputs: [n],
    work: streams(2, 1, n),
    reference: (_, i) => {
      const start = i - (i % columns);
      const scale = 1 / Math.sqrt(sumOver(columns, (j) => readX(start + j) ** 2) / columns + 1e-6);
      const weighted = (j: number): number => readG(start + j) * readGamma(j);
      const along = sumOver(columns, (j) => weighted(j) * readX(start + j)) / columns;
      return scale * (weighted(i - start) - readX(i) * along * scale * scale);
    },
    tolerance: 1e-4,
  };
}

/** Images of 64 channels in 8 groups, and a factor and a term for each channel. */
export function groupNorm(n: number): Row {
  const [channels, pixels] = [64, 256];
  const inGroup = (channels / 8) * pixels;
  const x = uniform(n, 50, [-2, 3]);
  const [gamma, beta] = [uniform(channels, 51, [0.5, 1.5]), uniform(channels, 52)];
  const [readX, readGamma, readBeta] = [reader(x), reader(gamma), reader(beta)];
  return {
    name: 'group norm',
    op: 'groupNorm',
    params: { batch: n / channels / pixels, channels, pixels },
    inputs: [x, gamma, beta],
    outputs: [n],
    work: streams(1, 1, n),
    reference: (_, i) => {
      const start = i - (i % inGroup);
      const mean = sumOver(inGroup, (j) => readX(start + j)) / inGroup;
      const variance = sumOver(inGroup, (j) => (readX(start + j) - mean) ** 2) / inGroup;
      const channel = Math.floor(i / pixels) % channels;
      return ((readX(i) - mean) / Math.sqrt(variance + 1e-5)) * readGamma(channel) + readBeta(channel);
    },
    tolerance: 1e-4,
  };
}

/** Rows of 128 as pairs (j, j + 64), each turned by an angle of its position. */
export function rotaryEmbedding(n: number): Row {
  const [positions, columns] = [128, 128];
  const half = columns / 2;
  const x = uniform(n, 53);
  const [cosine, sine] = [uniform(positions * half, 54), uniform(positions * half, 55)];
  const [readX, readCosine, readSine] = [reader(x), reader(cosine), reader(sine)];
  return {
    name: 'rotary embedding',
    op: 'rotary',
    params: { rows: n / positions / columns, positions, columns },
    inputs: [x, cosine, sine],
    outputs: [n],
    work: streams(1, 1, n),
    reference: (_, i) => {
      const [j, start] = [i % columns, i - (i % columns)];
      const pair = (j % half) + (rowOf(i, columns) % positions) * half;
      const [low, high] = [readX(start + (j % half)), readX(start + half + (j % half))];
      return j < half ? low * readCosine(pair) - high * readSine(pair) : high * readCosine(pair) + low * readSine(pair);
    },
    tolerance: 1e-5,
  };
}

/** Softmax of rows in bf16. */
export function softmaxBf16(n: number): Row {
  const { name, ...row } = softmax(n / matrix(n).columns, matrix(n).columns);
  const functions = { exp: n, fromBf16: n, toBf16: n };
  return {
    ...row,
    name: `bf16 ${name}`,
    op: 'softmaxBf16',
    work: { ...streams(1, 1, n), streamBytes: n * 2, flops: 8 * n, functions },
    shortfalls: {
      'in memory':
        'as many rows that a third-level cache has take as long: it is the instructions, exponentials and beside them a maximum that keeps NaN, three operations, whose pass widens the row once more',
    },
    tolerance: 2e-2,
  };
}

/** Bytes as numbers again, with a scale and a zero point for each row. */
export function dequantize(n: number): Row {
  const shape = matrix(n);
  const { rows, columns } = shape;
  const [x, scale, zero] = [uniform(n, 58, [-100, 100]), uniform(rows, 59, [0.01, 0.02]), uniform(rows, 60)];
  const [readX, readScale, readZero] = [reader(x), reader(scale), reader(zero)];
  return {
    name: 'int8 to f32 by rows',
    op: 'dequantize',
    params: params(shape),
    inputs: [x, scale, zero],
    outputs: [n],
    // A byte read and four written.
    work: { reads: 0.25, writes: 1, streamBytes: n * 4, flops: 4 * n, functions: { fromInt8: n } },
    reference: (_, i) => Math.trunc(readX(i)) * readScale(rowOf(i, columns)) + readZero(rowOf(i, columns)),
    tolerance: 1e-5,
  };
}
