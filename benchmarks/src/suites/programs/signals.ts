// Filters of images and signals.
import type { Tensor } from 'tsinductor';
import { floats, read, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

/** The mean of 5 by 5 pixels around each that has so many. */
const box = sized('box filter of an image', { full: 256, small: 9 }, (side) => {
  const image = floats(side * side, 71, [0, 1]);
  const [reach, inner] = [5, side - 4];
  return {
    inputs: [{ array: image, shape: [side, side] }],
    tensors: (x) => [x.reshape([1, 1, side, side]).avgPool2d(reach, 1).reshape([inner, inner])],
    plain: () => {
      const rows = new Float32Array(side * inner);
      for (let row = 0; row < side; row += 1)
        for (let column = 0; column < inner; column += 1) {
          let sum = 0;
          for (let k = 0; k < reach; k += 1) sum += read(image, row * side + column + k);
          rows[row * inner + column] = sum;
        }
      const out = new Float32Array(inner * inner);
      for (let at = 0; at < inner * inner; at += 1) {
        let sum = 0;
        for (let k = 0; k < reach; k += 1) sum += read(rows, at + k * inner);
        out[at] = sum / (reach * reach);
      }
      return [out];
    },
    tolerance: 1e-5,
  };
});

/** Magnitudes of gradients, by Sobel's operators. */
const sobel = sized('Sobel filter of an image', { full: 256, small: 9 }, (side) => {
  const image = floats(side * side, 72, [0, 1]);
  const inner = side - 2;
  return {
    inputs: [{ array: image, shape: [side, side] }],
    tensors: (x) => {
      const at = (row: number, column: number): Tensor => x.narrow(0, row, inner).narrow(1, column, inner);
      const edge = (
        sign: readonly [Tensor, Tensor],
        middle: readonly [Tensor, Tensor],
        ends: readonly [Tensor, Tensor],
      ) => sign[0].sub(sign[1]).add(middle[0].sub(middle[1]).mul(2)).add(ends[0].sub(ends[1]));
      const across = edge([at(0, 2), at(0, 0)], [at(1, 2), at(1, 0)], [at(2, 2), at(2, 0)]);
      const down = edge([at(2, 0), at(0, 0)], [at(2, 1), at(0, 1)], [at(2, 2), at(0, 2)]);
      return [across.square().add(down.square()).sqrt()];
    },
    plain: () => {
      const out = new Float32Array(inner * inner);
      for (let row = 0; row < inner; row += 1)
        for (let column = 0; column < inner; column += 1) {
          const at = row * side + column;
          const [a, b, c] = [read(image, at), read(image, at + 1), read(image, at + 2)];
          const [d, f] = [read(image, at + side), read(image, at + side + 2)];
          const below = at + 2 * side;
          const [g, h, i] = [read(image, below), read(image, below + 1), read(image, below + 2)];
          const [across, down] = [c - a + 2 * (f - d) + i - g, g - a + 2 * (h - b) + i - c];
          out[row * inner + column] = Math.sqrt(across * across + down * down);
        }
      return [out];
    },
    tolerance: 1e-5,
  };
});

const gaussianTaps: Float32Array = Float32Array.of(1, 6, 15, 20, 15, 6, 1).map((value) => value / 64);

/** A blur by rows, then by columns. */
const gaussian = sized('Gaussian blur of an image', { full: 256, small: 12 }, (side) => {
  const image = floats(side * side, 73, [0, 1]);
  const inner = side - 6;
  return {
    inputs: [
      { array: image, shape: [1, 1, side, side] },
      { array: gaussianTaps, shape: [7] },
    ],
    tensors: (x, taps) => [
      x
        .conv2d(taps.reshape([1, 1, 1, 7]))
        .conv2d(taps.reshape([1, 1, 7, 1]))
        .reshape([inner, inner]),
    ],
    plain: () => {
      const rows = new Float32Array(side * inner);
      for (let row = 0; row < side; row += 1)
        for (let column = 0; column < inner; column += 1) {
          let sum = 0;
          for (let k = 0; k < 7; k += 1) sum += read(gaussianTaps, k) * read(image, row * side + column + k);
          rows[row * inner + column] = sum;
        }
      const out = new Float32Array(inner * inner);
      for (let at = 0; at < inner * inner; at += 1) {
        let sum = 0;
        for (let k = 0; k < 7; k += 1) sum += read(gaussianTaps, k) * read(rows, at + k * inner);
        out[at] = sum;
      }
      return [out];
    },
    tolerance: 1e-5,
  };
});

const fir = sized('FIR filter of 33 taps', { full: 100_000, small: 60 }, (n) => {
  const [signal, taps] = [floats(n, 74), floats(33, 75)];
  const count = n - 32;
  return {
    inputs: [
      { array: signal, shape: [1, 1, n] },
      { array: taps, shape: [1, 1, 33] },
    ],
    tensors: (x, weights) => [x.conv1d(weights).reshape([count])],
    plain: () => {
      const out = new Float32Array(count);
      for (let i = 0; i < count; i += 1) {
        let sum = 0;
        for (let k = 0; k < 33; k += 1) sum += read(signal, i + k) * read(taps, k);
        out[i] = sum;
      }
      return [out];
    },
    tolerance: 1e-4,
  };
});

/** From integers of 8 bits to grey, with a stretched contrast, and back. */
const grey = sized('grey image of bytes', { full: 300, small: 7 }, (side) => {
  const pixels = side * side;
  const bytes = Float32Array.from(floats(3 * pixels, 76, [0, 255]), Math.round);
  return {
    inputs: [{ array: bytes, shape: [pixels, 3] }],
    tensors: (given) => {
      const [red, green, blue] = given.unbind(1) as [Tensor, Tensor, Tensor];
      const light = red.mul(0.299).add(green.mul(0.587)).add(blue.mul(0.114));
      const [darkest, brightest] = [light.amin(), light.amax()];
      return [light.sub(darkest).mul(255).div(brightest.sub(darkest)).round().byte().int()];
    },
    plain: () => {
      const light = new Float32Array(pixels);
      let [darkest, brightest] = [Infinity, -Infinity];
      for (let i = 0; i < pixels; i += 1) {
        const value = 0.299 * read(bytes, 3 * i) + 0.587 * read(bytes, 3 * i + 1) + 0.114 * read(bytes, 3 * i + 2);
        light[i] = value;
        darkest = Math.min(darkest, value);
        brightest = Math.max(brightest, value);
      }
      const out = new Int32Array(pixels);
      for (let i = 0; i < pixels; i += 1)
        out[i] = Math.round(((read(light, i) - darkest) * 255) / (brightest - darkest));
      return [out];
    },
    // A value half way between two bytes may be rounded to the other one.
    tolerance: 1 / 255,
  };
});

export const signalPrograms: readonly SizedProgram[] = [box, sobel, gaussian, fir, grey];
