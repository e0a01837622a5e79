// Whole programs as a user writes them: on tensors, and beside that the loop over typed arrays that they would write instead.
import { where } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import type { InputSpec } from '../../random-input.ts';
import { uniform } from '../../workload.ts';

export interface PlainProgram {
  readonly name: string;
  readonly inputs: readonly InputSpec[];
  readonly shapes: readonly (readonly number[])[];
  readonly tensors: (...inputs: readonly Tensor[]) => Tensor;
  readonly plain: (...inputs: readonly Float32Array[]) => Float32Array;
  /** Largest difference, relative to the largest magnitude. */
  readonly tolerance: number;
}

/** Reads are in bounds by construction; a default would make them several times slower. */
// eslint-disable-next-line @typescript-eslint/non-nullable-type-assertion-style -- `as number` is free in a hot loop
const read = (array: Float32Array | undefined, index: number): number => (array as Float32Array)[index] as number;

const points = 200_000;
const side = 400;
const steps = 10;

const logistic: PlainProgram = {
  name: 'logistic map, 10 steps',
  inputs: [uniform(points, 1, [0.1, 0.9])],
  shapes: [[points]],
  tensors: (start) => {
    let x = start;
    for (let step = 0; step < steps; step += 1) x = x.mul(x.neg().add(1)).mul(3.7);
    return x;
  },
  plain: (start) => {
    const x = Float32Array.from({ length: points }, (_, i) => read(start, i));
    for (let step = 0; step < steps; step += 1)
      for (let i = 0; i < points; i += 1) x[i] = 3.7 * read(x, i) * (1 - read(x, i));
    return x;
  },
  // The map is chaotic: a difference doubles at each step.
  tolerance: 1e-2,
};

const sigmoidLoss: PlainProgram = {
  name: 'logistic loss',
  inputs: [uniform(points, 2, [-4, 4]), uniform(points, 3, [0, 1])],
  shapes: [[points], [points]],
  tensors: (x, y) => {
    const score = x;
    return score.exp().add(1).log().sub(score.mul(y));
  },
  plain: (x, y) => {
    const out = new Float32Array(points);
    for (let i = 0; i < points; i += 1) out[i] = Math.log(Math.exp(read(x, i)) + 1) - read(x, i) * read(y, i);
    return out;
  },
  tolerance: 1e-5,
};

const normalised: PlainProgram = {
  name: 'rows to mean 0 and variance 1',
  inputs: [uniform(side * side, 4)],
  shapes: [[side, side]],
  tensors: (given) => {
    const x = given;
    const centred = x.sub(x.mean(1, { keepdim: true }));
    return centred.div(centred.square().mean(1, { keepdim: true }).sqrt());
  },
  plain: (x) => {
    const out = new Float32Array(side * side);
    for (let row = 0; row < side; row += 1) {
      let [sum, squares] = [0, 0];
      for (let k = 0; k < side; k += 1) sum += read(x, row * side + k);
      const mean = sum / side;
      for (let k = 0; k < side; k += 1) squares += (read(x, row * side + k) - mean) ** 2;
      const scale = Math.sqrt(squares / side);
      for (let k = 0; k < side; k += 1) out[row * side + k] = (read(x, row * side + k) - mean) / scale;
    }
    return out;
  },
  tolerance: 1e-5,
};

const threshold: PlainProgram = {
  name: 'soft threshold',
  inputs: [uniform(points, 5)],
  shapes: [[points]],
  tensors: (given) => {
    const x = given;
    return where(x.abs().gt(0.3), x.sub(x.sign().mul(0.3)), 0);
  },
  plain: (x) => {
    const out = new Float32Array(points);
    for (let i = 0; i < points; i += 1) {
      const value = read(x, i);
      out[i] = Math.abs(value) > 0.3 ? value - Math.sign(value) * 0.3 : 0;
    }
    return out;
  },
  tolerance: 1e-5,
};

const running: PlainProgram = {
  name: 'running sums of rows',
  inputs: [uniform(side * side, 6)],
  shapes: [[side, side]],
  tensors: (x) => x.cumsum(1),
  plain: (x) => {
    const out = new Float32Array(side * side);
    for (let row = 0; row < side; row += 1) {
      let sum = 0;
      for (let k = 0; k < side; k += 1) out[row * side + k] = sum += read(x, row * side + k);
    }
    return out;
  },
  tolerance: 1e-5,
};

const products: PlainProgram = {
  name: 'matrix times vectors, 20 power steps',
  inputs: [uniform(side * side, 7, [0, 1]), uniform(side, 8, [0.5, 1])],
  shapes: [
    [side, side],
    [side, 1],
  ],
  tensors: (matrix, start) => {
    let x = start;
    for (let step = 0; step < 2 * steps; step += 1) {
      const y = matrix.matmul(x);
      x = y.div(y.sum());
    }
    return x;
  },
  plain: (matrix, start) => {
    let x = Float32Array.from({ length: side }, (_, i) => read(start, i));
    for (let step = 0; step < 2 * steps; step += 1) {
      const y = new Float32Array(side);
      let total = 0;
      for (let row = 0; row < side; row += 1) {
        let sum = 0;
        for (let k = 0; k < side; k += 1) sum += read(matrix, row * side + k) * read(x, k);
        y[row] = sum;
        total += sum;
      }
      x = y.map((value) => value / total);
    }
    return x;
  },
  tolerance: 1e-5,
};

export const plainPrograms: readonly PlainProgram[] = [logistic, sigmoidLoss, normalised, threshold, running, products];
