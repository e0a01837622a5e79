// Chains of operations on each element, and running results along rows.
import { where } from 'tsinductor';
import { floats, read, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

const logistic = sized('logistic map, 10 steps', { full: 200_000, small: 60 }, (n) => {
  const start = floats(n, 1, [0.1, 0.9]);
  return {
    inputs: [{ array: start, shape: [n] }],
    tensors: (given) => {
      let x = given;
      for (let step = 0; step < 10; step += 1) x = x.mul(x.neg().add(1)).mul(3.7);
      return [x];
    },
    plain: () => {
      const x = Float32Array.from(start);
      for (let step = 0; step < 10; step += 1)
        for (let i = 0; i < n; i += 1) x[i] = 3.7 * read(x, i) * (1 - read(x, i));
      return [x];
    },
    // The map is chaotic: a difference doubles at each step.
    tolerance: 1e-2,
  };
});

const logisticLoss = sized('logistic loss', { full: 200_000, small: 60 }, (n) => {
  const [scores, labels] = [floats(n, 2, [-4, 4]), floats(n, 3, [0, 1])];
  return {
    inputs: [
      { array: scores, shape: [n] },
      { array: labels, shape: [n] },
    ],
    tensors: (x, y) => [x.exp().add(1).log().sub(x.mul(y))],
    plain: () => {
      const out = new Float32Array(n);
      for (let i = 0; i < n; i += 1)
        out[i] = Math.log(Math.exp(read(scores, i)) + 1) - read(scores, i) * read(labels, i);
      return [out];
    },
    tolerance: 1e-5,
  };
});

const softThreshold = sized('soft threshold', { full: 200_000, small: 60 }, (n) => {
  const given = floats(n, 5);
  return {
    inputs: [{ array: given, shape: [n] }],
    tensors: (x) => [where(x.abs().gt(0.3), x.sub(x.sign().mul(0.3)), 0)],
    plain: () => {
      const out = new Float32Array(n);
      for (let i = 0; i < n; i += 1) {
        const value = read(given, i);
        out[i] = Math.abs(value) > 0.3 ? value - Math.sign(value) * 0.3 : 0;
      }
      return [out];
    },
    tolerance: 1e-5,
  };
});

/** How many iterations of z² + c stay within a circle, for a grid of c. */
const mandelbrot = sized('Mandelbrot, 40 iterations', { full: 256, small: 12 }, (side) => {
  const real = Float32Array.from({ length: side }, (_, k) => -2 + (3 * k) / side);
  const imaginary = Float32Array.from({ length: side }, (_, k) => -1.5 + (3 * k) / side);
  const iterations = 40;
  return {
    inputs: [
      { array: real, shape: [1, side] },
      { array: imaginary, shape: [side, 1] },
    ],
    tensors: (cx, cy) => {
      let [x, y] = [cx.mul(cy).mul(0), cx.mul(cy).mul(0)];
      let count = x;
      for (let step = 0; step < iterations; step += 1) {
        const [xx, yy] = [x.mul(x), y.mul(y)];
        const isInside = xx.add(yy).le(4);
        count = count.add(isInside);
        [x, y] = [where(isInside, xx.sub(yy).add(cx), x), where(isInside, x.mul(y).mul(2).add(cy), y)];
      }
      return [count];
    },
    plain: () => {
      const out = new Float32Array(side * side);
      for (let row = 0; row < side; row += 1)
        for (let column = 0; column < side; column += 1) {
          const [cx, cy] = [read(real, column), read(imaginary, row)];
          let [x, y, count] = [0, 0, 0];
          for (; count < iterations && x * x + y * y <= 4; count += 1) {
            const next = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = next;
          }
          out[row * side + column] = count;
        }
      return [out];
    },
    // Points at the border may leave a step earlier in f32.
    tolerance: 0.5,
  };
});

const normalised = sized('rows to mean 0 and variance 1', { full: 400, small: 9 }, (side) => {
  const given = floats(side * side, 4);
  return {
    inputs: [{ array: given, shape: [side, side] }],
    tensors: (x) => {
      const centred = x.sub(x.mean(1, { keepdim: true }));
      return [centred.div(centred.square().mean(1, { keepdim: true }).sqrt())];
    },
    plain: () => {
      const out = new Float32Array(side * side);
      for (let row = 0; row < side; row += 1) {
        let [sum, squares] = [0, 0];
        for (let k = 0; k < side; k += 1) sum += read(given, row * side + k);
        const mean = sum / side;
        for (let k = 0; k < side; k += 1) squares += (read(given, row * side + k) - mean) ** 2;
        const scale = Math.sqrt(squares / side);
        for (let k = 0; k < side; k += 1) out[row * side + k] = (read(given, row * side + k) - mean) / scale;
      }
      return [out];
    },
    tolerance: 1e-5,
  };
});

const running = sized('running sums of rows', { full: 400, small: 9 }, (side) => {
  const given = floats(side * side, 6);
  return {
    inputs: [{ array: given, shape: [side, side] }],
    tensors: (x) => [x.cumsum(1)],
    plain: () => {
      const out = new Float32Array(side * side);
      for (let row = 0; row < side; row += 1) {
        let sum = 0;
        for (let k = 0; k < side; k += 1) out[row * side + k] = sum += read(given, row * side + k);
      }
      return [out];
    },
    tolerance: 1e-5,
  };
});

export const pointwisePrograms: readonly SizedProgram[] = [
  logistic,
  logisticLoss,
  softThreshold,
  mandelbrot,
  normalised,
  running,
];
