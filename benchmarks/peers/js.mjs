// Plain JavaScript: loops over Float32Array, as one writes them without a library.
import { inputsOf, serve } from '../dist/serve.js';

// Products of more operations than this take seconds per call.
const patience = 2.2e9;

const erf = (x) => {
  const a = Math.abs(x);
  const t = 1 / (1 + 0.5 * a);
  const series =
    -a * a -
    1.26551223 +
    t *
      (1.00002368 +
        t *
          (0.37409196 +
            t *
              (0.09678418 +
                t *
                  (-0.18628806 +
                    t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
  const value = 1 - t * Math.exp(series);
  return x >= 0 ? value : -value;
};

function product(out, a, b, { m, k, n }) {
  out.fill(0);
  for (let i = 0; i < m; i += 1) {
    for (let p = 0; p < k; p += 1) {
      const factor = a[i * k + p];
      for (let j = 0; j < n; j += 1) out[i * n + j] += factor * b[p * n + j];
    }
  }
}

function transposed(a, rows, columns) {
  const out = new Float32Array(a.length);
  for (let i = 0; i < rows; i += 1) for (let j = 0; j < columns; j += 1) out[j * rows + i] = a[i * columns + j];
  return out;
}

function softmaxRows(out, x, rows, columns) {
  for (let i = 0; i < rows; i += 1) {
    const start = i * columns;
    let largest = -Infinity;
    for (let j = 0; j < columns; j += 1) largest = Math.max(largest, x[start + j]);
    let sum = 0;
    for (let j = 0; j < columns; j += 1) sum += out[start + j] = Math.exp(x[start + j] - largest);
    for (let j = 0; j < columns; j += 1) out[start + j] /= sum;
  }
}

/** What typed arrays have of their own: elements alone, without where they were. */
function sortedInto(out, source) {
  out.set(source);
  return out.sort();
}

/** Square roots by Newton's iteration, until the largest residual is small: `x` begins as `a`. */
function newtonInto(x, a) {
  x.set(a);
  for (let step = 0; step < 30; step += 1) {
    let largest = 0;
    for (let i = 0; i < a.length; i += 1)
      largest = Math.max(largest, Math.abs(Math.fround(Math.fround(x[i] * x[i]) - a[i])));
    if (largest < 2e-6) return;
    for (let i = 0; i < a.length; i += 1) x[i] -= (x[i] * x[i] - a[i]) / (2 * x[i]);
  }
}

const readAndScale = ({ n }, [x], out = new Float32Array(n)) => ({
  outputs: [out],
  run: () => {
    let sum = 0;
    for (let i = 0; i < n; i += 1) sum += x[i] * x[i];
    const norm = Math.max(1, Math.sqrt(sum));
    for (let i = 0; i < n; i += 1) out[i] = x[i] / norm;
  },
});

const operations = {
  clip: readAndScale,
  clipByTwo: readAndScale,
  newton: ({ n }, [a], out = new Float32Array(n)) => ({ outputs: [out], run: () => newtonInto(out, a) }),
  newtonInPlace: ({ n }, [x, a], out = new Float32Array(n)) => ({
    outputs: [out],
    run: () => {
      newtonInto(x, a);
      out.set(x);
    },
  }),
  add: ({ n }, [x, z], out = new Float32Array(n)) => ({
    outputs: [out],
    run: () => {
      for (let i = 0; i < n; i += 1) out[i] = x[i] + z[i];
    },
  }),
  sumOfAll: ({ n }, xs, out = new Float32Array(n)) => ({
    outputs: [out],
    run: () => {
      out.set(xs[0]);
      for (const x of xs.slice(1)) for (let i = 0; i < n; i += 1) out[i] += x[i];
    },
  }),
  multiples: ({ n, count }, [x]) => {
    const outputs = Array.from({ length: count }, () => new Float32Array(n));
    const run = () => {
      for (let k = 0; k < count; k += 1) for (let i = 0; i < n; i += 1) outputs[k][i] = x[i] * (k + 2);
    };
    return { outputs, run };
  },
  geluSigmoid: ({ n }, [x, z], out = new Float32Array(n)) => ({
    outputs: [out],
    run: () => {
      for (let i = 0; i < n; i += 1) {
        const u = x[i] * 1.25 + 0.5;
        out[i] = (0.5 * u * (1 + erf(u * Math.SQRT1_2))) / (1 + Math.exp(-z[i]));
      }
    },
  }),
  softmax: ({ rows, columns }, [x], out = new Float32Array(rows * columns)) => ({
    outputs: [out],
    run: () => softmaxRows(out, x, rows, columns),
  }),
  layerNorm: ({ rows, columns }, [x, gamma, beta], out = new Float32Array(rows * columns)) => ({
    outputs: [out],
    run: () => {
      for (let i = 0; i < rows; i += 1) {
        const start = i * columns;
        let sum = 0;
        for (let j = 0; j < columns; j += 1) sum += x[start + j];
        const mean = sum / columns;
        let squares = 0;
        for (let j = 0; j < columns; j += 1) squares += (x[start + j] - mean) ** 2;
        const scale = 1 / Math.sqrt(squares / columns + 1e-5);
        for (let j = 0; j < columns; j += 1) out[start + j] = (x[start + j] - mean) * scale * gamma[j] + beta[j];
      }
    },
  }),
  sumRows: ({ rows, columns }, [x], out = new Float32Array(rows)) => ({
    outputs: [out],
    run: () => {
      for (let i = 0; i < rows; i += 1) {
        let sum = 0;
        for (let j = 0; j < columns; j += 1) sum += x[i * columns + j];
        out[i] = sum;
      }
    },
  }),
  sumColumns: ({ rows, columns }, [x], out = new Float32Array(columns)) => ({
    outputs: [out],
    run: () => {
      out.fill(0);
      for (let i = 0; i < rows; i += 1) for (let j = 0; j < columns; j += 1) out[j] += x[i * columns + j];
    },
  }),
  transposeAdd: ({ side }, [a, b], out = new Float32Array(side * side)) => ({
    outputs: [out],
    run: () => {
      const tile = 32;
      for (let i0 = 0; i0 < side; i0 += tile) {
        for (let j0 = 0; j0 < side; j0 += tile) {
          for (let i = i0; i < i0 + tile; i += 1) {
            for (let j = j0; j < j0 + tile; j += 1) out[i * side + j] = a[j * side + i] + b[i * side + j];
          }
        }
      }
    },
  }),
  matmul: (params, [a, b], out = new Float32Array(params.m * params.n)) => ({
    outputs: [out],
    run: () => product(out, a, b, params),
  }),
  sort: (_, [x], out = x.slice()) => ({ outputs: [out], run: () => sortedInto(out, x) }),
  sortI32: (_, [x], out = new Int32Array(x.length)) => {
    const source = Int32Array.from(x);
    return { outputs: [out], run: () => sortedInto(out, source) };
  },
  sortI64: (_, [x], out = new BigInt64Array(x.length)) => {
    const source = BigInt64Array.from(x, (value) => BigInt(Math.floor(value)));
    return { outputs: [out], run: () => sortedInto(out, source), output: () => Float32Array.from(out, Number) };
  },
  topk: ({ k }, [x], out = new Float32Array(k)) => {
    const all = x.slice();
    return {
      outputs: [out],
      run: () =>
        out.set(
          sortedInto(all, x)
            .subarray(x.length - k)
            .toReversed(),
        ),
    };
  },
  kthvalue: ({ k }, [x], out = new Float32Array(1)) => {
    const all = x.slice();
    return { outputs: [out], run: () => (out[0] = sortedInto(all, x)[k - 1]) };
  },
  median: (_, [x], out = new Float32Array(1)) => {
    const all = x.slice();
    return { outputs: [out], run: () => (out[0] = sortedInto(all, x)[(x.length - 1) >> 1]) };
  },
  unique: (_, [x]) => {
    const source = x.map(Math.floor);
    const outputs = [];
    return { outputs, run: () => (outputs[0] = Float32Array.from(new Set(source)).sort()) };
  },
  sortRows: ({ rows, columns }, [x], out = x.slice()) => ({
    outputs: [out],
    run: () => {
      out.set(x);
      for (let row = 0; row < rows; row += 1) out.subarray(row * columns, (row + 1) * columns).sort();
    },
  }),
  trainStep: ({ batch, inner, hidden, classes, rate }, [x, targets, ...weights]) => {
    const outputs = weights.map(({ length }) => new Float32Array(length));
    const activation = new Float32Array(batch * hidden);
    const backward = new Float32Array(batch * hidden);
    const logits = new Float32Array(batch * classes);
    const columns = (values, width) => {
      const sums = new Float32Array(width);
      values.forEach((value, i) => (sums[i % width] += value));
      return sums;
    };
    const update = (index, change) => {
      const weight = weights[index];
      for (let i = 0; i < weight.length; i += 1) outputs[index][i] = weight[i] - rate * change[i];
    };
    const changes = [new Float32Array(inner * hidden), new Float32Array(hidden * classes)];
    return {
      outputs,
      run: () => {
        const [w1, b1, w2, b2] = weights;
        product(activation, x, w1, { m: batch, k: inner, n: hidden });
        for (let i = 0; i < activation.length; i += 1) activation[i] = Math.max(0, activation[i] + b1[i % hidden]);
        product(logits, activation, w2, { m: batch, k: hidden, n: classes });
        for (let i = 0; i < logits.length; i += 1) logits[i] += b2[i % classes];
        softmaxRows(logits, logits, batch, classes);
        for (let i = 0; i < batch; i += 1) {
          let mass = 0;
          for (let j = 0; j < classes; j += 1) mass += targets[i * classes + j];
          for (let j = i * classes; j < (i + 1) * classes; j += 1) logits[j] = (logits[j] * mass - targets[j]) / batch;
        }
        product(backward, logits, transposed(w2, hidden, classes), { m: batch, k: classes, n: hidden });
        for (let i = 0; i < backward.length; i += 1) if (!(activation[i] > 0)) backward[i] = 0;
        product(changes[0], transposed(x, batch, inner), backward, { m: inner, k: batch, n: hidden });
        product(changes[1], transposed(activation, batch, hidden), logits, { m: hidden, k: batch, n: classes });
        update(0, changes[0]);
        update(1, columns(backward, hidden));
        update(2, changes[1]);
        update(3, columns(logits, classes));
      },
    };
  },
};

await serve({
  version: () => `V8 ${process.versions.v8}`,
  prepare: (request) => {
    const { m = 0, k = 0, n = 0 } = request.params;
    if (request.op === 'matmul' && 2 * m * k * n > patience) return 'takes seconds per call';
    const made = operations[request.op]?.(request.params, inputsOf(request));
    return made === undefined ? undefined : { run: made.run, output: made.output ?? ((index) => made.outputs[index]) };
  },
});
