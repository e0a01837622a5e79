// Products of matrices and vectors, and what is built of them: models and their losses.
import { stack } from 'tsinductor';
import { floats, read, readDouble, sized } from './program.ts';
import type { SizedProgram } from './program.ts';

const powerIteration = sized('power iteration, 20 steps', { full: 400, small: 9 }, (side) => {
  const [entries, start] = [floats(side * side, 7, [0, 1]), floats(side, 8, [0.5, 1])];
  return {
    inputs: [
      { array: entries, shape: [side, side] },
      { array: start, shape: [side, 1] },
    ],
    tensors: (matrix, given) => {
      let x = given;
      for (let step = 0; step < 20; step += 1) {
        const y = matrix.matmul(x);
        x = y.div(y.sum());
      }
      return [x];
    },
    plain: () => {
      let x = Float32Array.from(start);
      for (let step = 0; step < 20; step += 1) {
        const y = new Float32Array(side);
        let total = 0;
        for (let row = 0; row < side; row += 1) {
          let sum = 0;
          for (let k = 0; k < side; k += 1) sum += read(entries, row * side + k) * read(x, k);
          y[row] = sum;
          total += sum;
        }
        x = y.map((value) => value / total);
      }
      return [x];
    },
    tolerance: 1e-5,
  };
});

/** out[rows, columns] = a[rows, inner] times b[inner, columns], row by row of b. */
function multiply(a: Float32Array, b: Float32Array, [rows, inner, columns]: readonly [number, number, number]) {
  const out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; i += 1)
    for (let k = 0; k < inner; k += 1) {
      const x = read(a, i * inner + k);
      const [from, to] = [k * columns, i * columns];
      for (let j = 0; j < columns; j += 1) out[to + j] = read(out, to + j) + x * read(b, from + j);
    }
  return out;
}

const perceptron = sized('two layers with GELU', { full: 128, small: 5 }, (width) => {
  const [rows, hidden] = [width, 4 * width];
  const [x, first, second] = [floats(rows * width, 31), floats(width * hidden, 32), floats(hidden * width, 33)];
  return {
    inputs: [
      { array: x, shape: [rows, width] },
      { array: first, shape: [width, hidden] },
      { array: second, shape: [hidden, width] },
    ],
    tensors: (given, w1, w2) => [given.matmul(w1).gelu({ approximate: 'tanh' }).matmul(w2)],
    plain: () => {
      const inner = multiply(x, first, [rows, width, hidden]);
      for (let k = 0; k < inner.length; k += 1) {
        const value = read(inner, k);
        inner[k] = 0.5 * value * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (value + 0.044715 * value ** 3)));
      }
      return [multiply(inner, second, [rows, hidden, width])];
    },
    tolerance: 1e-4,
  };
});

const attention = sized('attention of 4 heads', { full: 128, small: 6 }, (length) => {
  const [heads, width] = [4, 32];
  const [queries, keys, values] = [34, 35, 36].map((seed) => floats(heads * length * width, seed)) as [
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const scale = 1 / Math.sqrt(width);
  return {
    inputs: [queries, keys, values].map((array) => ({ array, shape: [heads, length, width] })),
    tensors: (q, k, v) => [q.matmul(k.transpose(1, 2)).mul(scale).softmax(-1).matmul(v)],
    plain: () => {
      const out = new Float32Array(heads * length * width);
      const weights = new Float32Array(length);
      for (let query = 0; query < heads * length; query += 1) {
        const first = query - (query % length);
        let [largest, total] = [-Infinity, 0];
        for (let key = 0; key < length; key += 1) {
          let sum = 0;
          for (let k = 0; k < width; k += 1)
            sum += read(queries, query * width + k) * read(keys, (first + key) * width + k);
          weights[key] = sum * scale;
          largest = Math.max(largest, sum * scale);
        }
        for (let key = 0; key < length; key += 1) total += weights[key] = Math.exp(read(weights, key) - largest);
        for (let key = 0; key < length; key += 1) {
          const weight = read(weights, key) / total;
          for (let k = 0; k < width; k += 1)
            out[query * width + k] = read(out, query * width + k) + weight * read(values, (first + key) * width + k);
        }
      }
      return [out];
    },
    tolerance: 1e-4,
  };
});

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** The last hidden states of a batch of sequences. */
const lstm = sized('LSTM, 16 steps', { full: 64, small: 5 }, (width) => {
  const [steps, batch] = [16, 16];
  const sequence = floats(steps * batch * width, 37);
  const [input, recurrent] = [floats(width * 4 * width, 38, [-0.2, 0.2]), floats(width * 4 * width, 39, [-0.2, 0.2])];
  return {
    inputs: [
      { array: sequence, shape: [steps, batch, width] },
      { array: input, shape: [width, 4 * width] },
      { array: recurrent, shape: [width, 4 * width] },
    ],
    tensors: (xs, wx, wh) => {
      const projected = xs.matmul(wx);
      let h = xs.newZeros([batch, width]);
      let c = h;
      for (const x of projected.unbind(0)) {
        const [i, f, g, o] = x.add(h.matmul(wh)).chunk(4, 1) as [typeof x, typeof x, typeof x, typeof x];
        c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
        h = o.sigmoid().mul(c.tanh());
      }
      return [h];
    },
    plain: () => {
      let h = new Float32Array(batch * width);
      const c = new Float32Array(batch * width);
      for (let step = 0; step < steps; step += 1) {
        const x = sequence.subarray(step * batch * width, (step + 1) * batch * width);
        const [fromInput, fromState] = [x, h].map((values, which) =>
          multiply(values, which === 0 ? input : recurrent, [batch, width, 4 * width]),
        ) as [Float32Array, Float32Array];
        const next = new Float32Array(batch * width);
        for (let row = 0; row < batch; row += 1)
          for (let k = 0; k < width; k += 1) {
            const at = row * 4 * width + k;
            const gate = (which: number): number =>
              read(fromInput, at + which * width) + read(fromState, at + which * width);
            const [cell, own] = [row * width + k, sigmoid(gate(0)) * Math.tanh(gate(2))];
            const kept = sigmoid(gate(1)) * read(c, cell) + own;
            c[cell] = kept;
            next[cell] = sigmoid(gate(3)) * Math.tanh(kept);
          }
        h = next;
      }
      return [h];
    },
    tolerance: 1e-4,
  };
});

/** Steps of gradient descent. */
const regression = sized('logistic regression, 5 steps', { full: 10_000, small: 12 }, (n) => {
  const [features, steps] = [32, 5];
  const [table, labels] = [floats(n * features, 41), Float32Array.from(floats(n, 42), (value) => (value > 0 ? 1 : 0))];
  return {
    inputs: [
      { array: table, shape: [n, features] },
      { array: labels, shape: [n] },
    ],
    tensors: (x, y) => {
      let weights = x.newZeros([features]);
      for (let step = 0; step < steps; step += 1) {
        const wrong = x.matmul(weights).sigmoid().sub(y);
        weights = weights.sub(
          x
            .t()
            .matmul(wrong)
            .mul(1 / n),
        );
      }
      return [weights];
    },
    plain: () => {
      const weights = new Float64Array(features);
      for (let step = 0; step < steps; step += 1) {
        const gradient = new Float64Array(features);
        for (let row = 0; row < n; row += 1) {
          let score = 0;
          for (let k = 0; k < features; k += 1) score += read(table, row * features + k) * readDouble(weights, k);
          const wrong = sigmoid(score) - read(labels, row);
          for (let k = 0; k < features; k += 1)
            gradient[k] = readDouble(gradient, k) + wrong * read(table, row * features + k);
        }
        for (let k = 0; k < features; k += 1) weights[k] = readDouble(weights, k) - readDouble(gradient, k) / n;
      }
      return [Float32Array.from(weights)];
    },
    tolerance: 1e-4,
  };
});

/** Sums of products of a series with itself, shifted by some steps. */
const autocorrelation = sized('autocorrelation, 32 lags', { full: 20_000, small: 50 }, (n) => {
  const series = floats(n, 43);
  const lags = 32;
  return {
    inputs: [{ array: series, shape: [n] }],
    tensors: (given) => {
      const x = given.sub(given.mean());
      const sums = Array.from({ length: lags }, (_, lag) => x.narrow(0, 0, n - lag).dot(x.narrow(0, lag, n - lag)));
      return [stack(sums).div(x.dot(x))];
    },
    plain: () => {
      let mean = 0;
      for (let i = 0; i < n; i += 1) mean += read(series, i) / n;
      const x = series.map((value) => value - mean);
      const sums = new Float32Array(lags);
      for (let lag = 0; lag < lags; lag += 1) {
        let sum = 0;
        for (let i = 0; i < n - lag; i += 1) sum += read(x, i) * read(x, i + lag);
        sums[lag] = sum;
      }
      return [sums.map((sum) => sum / read(sums, 0))];
    },
    tolerance: 1e-4,
  };
});

export const linearAlgebraPrograms: readonly SizedProgram[] = [
  powerIteration,
  perceptron,
  attention,
  lstm,
  regression,
  autocorrelation,
];
