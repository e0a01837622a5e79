// Fused pointwise work, normalisations, sums and a transpose: what a fusing compiler is for. Large sizes are bound by
// memory or by vector arithmetic; small ones (4,096 elements) by the call.
import { reader, uniform } from '../workload.ts';
import type { Work, Workload } from '../workload.ts';

const suite = 'pointwise';
const smallElements = 4096;

/** Work is stated for large arrays only. */
const workOf = (elements: number, work: Work): { readonly work?: Work } => (elements <= smallElements ? {} : { work });

const sizeName = (elements: number): string =>
  elements >= 1 << 20 ? `${String(elements / (1 << 20))}M` : String(elements);

export function geluSigmoid(n: number): Workload {
  const [x, z] = [uniform(n, 1, [-3, 3]), uniform(n, 2, [-3, 3])];
  const [readX, readZ] = [reader(x), reader(z)];
  return {
    suite,
    name: `gelu(x*s+b)*sigmoid(z) ${sizeName(n)}`,
    op: 'geluSigmoid',
    params: { n },
    inputs: [x, z],
    outputs: [n],
    ...workOf(n, { reads: 2, writes: 1, streamBytes: n * 4, functions: { erf: n, sigmoid: n } }),
    reference: (_, i) => {
      const u = readX(i) * 1.25 + 0.5;
      return 0.5 * u * (1 + erf(u * Math.SQRT1_2)) * (1 / (1 + Math.exp(-readZ(i))));
    },
    tolerance: 1e-5,
  };
}

export function softmax(rows: number, columns: number): Workload {
  const n = rows * columns;
  const x = uniform(n, 3, [-4, 4]);
  const read = reader(x);
  const sums = new Map<number, number>();
  const sumOf = (row: number): number => {
    const known = sums.get(row);
    if (known !== undefined) return known;
    const sum = sumOver(columns, (j) => Math.exp(read(row * columns + j)));
    sums.set(row, sum);
    return sum;
  };
  return {
    suite,
    name: `softmax [${String(rows)},${String(columns)}]`,
    op: 'softmax',
    params: { rows, columns },
    inputs: [x],
    outputs: [n],
    // Beside the function a comparison, a difference, a sum and a product.
    ...workOf(n, { reads: 1, writes: 1, streamBytes: n * 4, flops: 8 * n, functions: { exp: n } }),
    reference: (_, i) => Math.exp(read(i)) / sumOf(Math.floor(i / columns)),
    tolerance: 1e-4,
  };
}

export function layerNorm(rows: number, columns: number): Workload {
  const n = rows * columns;
  const [x, gamma, beta] = [uniform(n, 4, [-2, 3]), uniform(columns, 5, [0.5, 1.5]), uniform(columns, 6)];
  const [readX, readGamma, readBeta] = [reader(x), reader(gamma), reader(beta)];
  return {
    suite,
    name: `layer norm [${String(rows)},${String(columns)}]`,
    op: 'layerNorm',
    params: { rows, columns },
    inputs: [x, gamma, beta],
    outputs: [n],
    ...workOf(n, { reads: 1, writes: 1, streamBytes: n * 4 }),
    reference: (_, i) => {
      const start = i - (i % columns);
      const mean = sumOver(columns, (j) => readX(start + j)) / columns;
      const variance = sumOver(columns, (j) => (readX(start + j) - mean) ** 2) / columns;
      const normal = (readX(i) - mean) / Math.sqrt(variance + 1e-5);
      return normal * readGamma(i % columns) + readBeta(i % columns);
    },
    tolerance: 1e-5,
  };
}

export function sum(dim: 0 | 1, rows: number, columns: number): Workload {
  const n = rows * columns;
  const x = uniform(n, 7, [-1, 2]);
  const read = reader(x);
  return {
    suite,
    name: `${dim === 0 ? 'column' : 'row'} sum [${String(rows)},${String(columns)}]`,
    op: dim === 0 ? 'sumColumns' : 'sumRows',
    params: { rows, columns },
    inputs: [x],
    outputs: [dim === 0 ? columns : rows],
    ...workOf(n, { reads: 1, writes: 0, streamBytes: n * 4 }),
    reference: (_, i) =>
      dim === 0 ? sumOver(rows, (j) => read(j * columns + i)) : sumOver(columns, (j) => read(i * columns + j)),
    tolerance: 1e-4,
  };
}

export function transposeAdd(side: number): Workload {
  const n = side * side;
  const [a, b] = [uniform(n, 8), uniform(n, 9)];
  const [readA, readB] = [reader(a), reader(b)];
  return {
    suite,
    name: `a.T + b [${String(side)},${String(side)}]`,
    op: 'transposeAdd',
    params: { side },
    inputs: [a, b],
    outputs: [n],
    ...workOf(n, { reads: 2, writes: 1, streamBytes: n * 4 }),
    reference: (_, i) => readA((i % side) * side + Math.floor(i / side)) + readB(i),
    tolerance: 1e-6,
  };
}

export function sumOver(count: number, term: (index: number) => number): number {
  let total = 0;
  for (let i = 0; i < count; i += 1) total += term(i);
  return total;
}

/** The error function in double precision: its Maclaurin series, or its continued fraction where that is quicker. */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (a < 2.5) {
    let term = a;
    let total = a;
    for (let k = 1; Math.abs(term) > 1e-18 && k < 200; k += 1) {
      term *= (-a * a) / k;
      total += term / (2 * k + 1);
    }
    return Math.sign(x) * ((2 / Math.sqrt(Math.PI)) * total);
  }
  let fraction = a;
  for (let k = 60; k >= 1; k -= 1) fraction = a + k / 2 / fraction;
  return Math.sign(x) * (1 - Math.exp(-a * a) / (fraction * Math.sqrt(Math.PI)));
}

export const pointwiseWorkloads: readonly Workload[] = [
  geluSigmoid(1 << 24),
  softmax(4096, 4096),
  layerNorm(8192, 1024),
  sum(1, 8192, 8192),
  sum(0, 8192, 8192),
  transposeAdd(4096),
  geluSigmoid(smallElements),
  softmax(16, 256),
  layerNorm(16, 256),
  sum(1, 64, 64),
  sum(0, 64, 64),
  transposeAdd(64),
];
