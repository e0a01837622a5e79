// Pointwise chains of the suite of programs bound by memory: their inputs' ranges, and the value of an element.
import { reader, uniform } from '../workload.ts';
import type { Work } from '../workload.ts';
import { streams } from './memory-bound-shapes.ts';
import type { Row } from './memory-bound-shapes.ts';

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** What an element costs beside memory; see `Work`. */
type PerElement = Pick<Work, 'flops' | 'functions'>;

/** A function of arrays of `n` elements, element by element. */
interface Elementwise {
  readonly name: string;
  readonly op: string;
  readonly ranges: readonly (readonly [number, number])[];
  readonly outputs?: number;
  /** Bytes of an element. */
  readonly bytes?: number;
  readonly perElement?: PerElement;
  /** Why C++ by hand is faster. */
  readonly handFused?: string;
  readonly tolerance?: number;
  readonly value: (inputs: readonly number[], output: number) => number;
  /** Another right value, where chance decides. */
  readonly orElse?: number;
}

const times = (n: number, { flops, functions }: PerElement): PerElement => ({
  ...(flops === undefined ? {} : { flops: flops * n }),
  ...(functions === undefined
    ? {}
    : { functions: Object.fromEntries(Object.entries(functions).map(([name, count]) => [name, count * n])) }),
});

const elementwise =
  ({ ranges, outputs = 1, bytes = 4, perElement = {}, tolerance = 1e-5, value, orElse, ...row }: Elementwise) =>
  (n: number): Row => {
    const inputs = ranges.map((range, i) => uniform(n, 20 + i, range));
    const readers = inputs.map(reader);
    return {
      ...row,
      params: { n },
      inputs,
      outputs: Array.from({ length: outputs }, () => n),
      work: { ...streams(inputs.length, outputs, n), streamBytes: n * bytes, ...times(n, perElement) },
      reference: (output, i) =>
        value(
          readers.map((read) => read(i)),
          output,
        ),
      ...(orElse === undefined ? {} : { orElse: () => orElse }),
      tolerance,
    };
  };

/** The cumulative normal distribution, by the complementary error function's continued fraction and series. */
function normal(x: number): number {
  const a = Math.abs(x) / Math.SQRT2;
  let term = a;
  let total = a;
  for (let k = 1; k < 200 && a < 3; k += 1) {
    term *= (-a * a) / k;
    total += term / (2 * k + 1);
  }
  let fraction = a;
  for (let k = 60; k >= 1; k -= 1) fraction = a + k / 2 / fraction;
  const half = a < 3 ? total / Math.sqrt(Math.PI) : 0.5 - Math.exp(-a * a) / (2 * fraction * Math.sqrt(Math.PI));
  return x < 0 ? 0.5 - half : 0.5 + half;
}

/** A row of each chain for a number of elements. */
export const chains: readonly ((n: number) => Row)[] = [
  elementwise({
    name: 'dropout with given numbers',
    op: 'dropout',
    ranges: [
      [-1, 1],
      [0, 1],
    ],
    value: ([x = 0, u = 0]) => (u > Math.fround(0.1) ? x / 0.9 : 0),
  }),
  elementwise({
    name: 'dropout',
    op: 'randomDropout',
    ranges: [[-1, 1]],
    // Each element has a random number of its own: a word of Philox, which gives four at a time, by its position.
    perElement: { functions: { random: 1 } },
    value: ([x = 0]) => x / 0.9,
    orElse: 0,
  }),
  elementwise({
    name: 'Black-Scholes',
    op: 'blackScholes',
    ranges: [
      [10, 50],
      [10, 50],
      [0.25, 2],
    ],
    // s / k, d1, and the square root of t; eleven multiply-adds, sums and products.
    perElement: { flops: 22, functions: { log: 1, exp: 1, erf: 2, divide: 3 } },
    tolerance: 1e-4,
    value: ([s = 1, k = 1, t = 1]) => {
      const scale = 0.3 * Math.sqrt(t);
      const d1 = (Math.log(s / k) + (0.02 + 0.045) * t) / scale;
      return s * normal(d1) - k * Math.exp(-0.02 * t) * normal(d1 - scale);
    },
  }),
  elementwise({
    name: 'Mandelbrot-like chain',
    op: 'iterate',
    ranges: [
      [-0.5, 0.25],
      [-0.5, 0.5],
    ],
    // Eight steps of seven operations, and three.
    perElement: { functions: { single: 8 * 7 + 3 } },
    handFused:
      'it joins products and sums in operations that round once (-Ofast); with each rounded as written (-ffp-contract=off) it takes ' +
      'more than this, by up to a sixth',
    tolerance: 1e-4,
    value: ([a = 0, b = 0]) => {
      let [x, y] = [a, b];
      for (let k = 0; k < 8; k += 1) [x, y] = [x * x - y * y + a, 2 * x * y + b];
      return x * x + y * y;
    },
  }),
  elementwise({
    name: 'Adam',
    op: 'adam',
    ranges: [
      [-1, 1],
      [-0.1, 0.1],
      [-0.1, 0.1],
      [0.01, 0.1],
    ],
    outputs: 3,
    perElement: { functions: { divide: 2 } },
    handFused: 'it takes quotients and roots from approximations that it refines (-Ofast), which round differently',
    tolerance: 1e-4,
    value: ([p = 0, g = 0, m = 0, v = 0], output) => {
      const [first, second] = [0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g];
      return [p - (0.001 * first) / (Math.sqrt(second) + 1e-8), first, second][output] ?? 0;
    },
  }),
  elementwise({
    name: 'bf16 silu gate',
    op: 'gateBf16',
    ranges: [
      [-2, 2],
      [-2, 2],
    ],
    bytes: 2,
    perElement: { flops: 4, functions: { sigmoid: 1, fromBf16: 2, toBf16: 1 } },
    tolerance: 2e-2,
    value: ([x = 0, z = 0]) => x * sigmoid(x) * z,
  }),
  elementwise({
    name: 'bf16 sum and scale',
    op: 'addBf16',
    ranges: [
      [-2, 2],
      [-2, 2],
    ],
    bytes: 2,
    perElement: { flops: 4, functions: { fromBf16: 2, toBf16: 1 } },
    tolerance: 2e-2,
    value: ([x = 0, y = 0]) => (x + y) * 0.5,
  }),
  elementwise({
    name: 'int8 scale and clamp',
    op: 'requantize',
    ranges: [[-100, 100]],
    bytes: 1,
    // A product and two bounds, which count as multiply-adds, two operations each, since they take the same instructions' place.
    perElement: { flops: 6, functions: { fromInt8: 1, toInt8: 1 } },
    tolerance: 1e-6,
    value: ([x = 0]) => Math.trunc(Math.min(127, Math.max(0, Math.trunc(x) * 0.75))),
  }),
];
