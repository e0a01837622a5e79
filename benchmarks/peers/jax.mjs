// jax-js on wasm, every operation under `jit`. Node 20 has no global Worker, so its thread pool does not run by itself;
// with the argument `workers` it is given one over worker_threads.
import { resolveObjectURL } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker as NodeWorker } from 'node:worker_threads';
import { inputsOf, serve } from '../dist/serve.js';

/** A browser's Worker over worker_threads. Its source is a blob, which is read before the first message is delivered. */
class BlobWorker {
  #started;
  constructor(url) {
    this.#started = resolveObjectURL(url)
      .text()
      .then((source) => {
        const worker = new NodeWorker(`${workerGlobals}\n${source}`, { eval: true });
        worker.on('message', (data) => this.onmessage?.({ data }));
        worker.on('error', (error) => this.onerror?.(error));
        return worker;
      });
  }
  postMessage(message) {
    void this.#started.then((worker) => worker.postMessage(message));
  }
  terminate() {
    void this.#started.then((worker) => worker.terminate());
  }
}
const workerGlobals = `
const { parentPort } = require('node:worker_threads');
globalThis.self = globalThis;
globalThis.postMessage = (message) => parentPort.postMessage(message);
parentPort.on('message', (data) => globalThis.onmessage({ data }));`;

if (process.argv[2] === 'workers') {
  globalThis.Worker = BlobWorker;
  Object.defineProperty(globalThis, 'navigator', { value: { hardwareConcurrency: availableParallelism() } });
}

const jax = await import('@jax-js/jax');
const { numpy: np, nn, lax } = jax;
await jax.init('wasm');
jax.defaultDevice('wasm');

/** A step of gradient descent: new weights. */
const descent =
  (loss, rate) =>
  (x, targets, ...weights) => {
    const given = weights.map((weight) => weight.ref);
    const gradients = jax.grad(loss)(given, x, targets);
    return weights.map((weight, i) => np.subtract(weight, np.multiply(gradients[i], rate)));
  };

const perceptronStep = ({ batch, inner, hidden, classes, rate }) => ({
  shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
  fn: descent(([w1, b1, w2, b2], x, targets) => {
    const activation = nn.relu(np.add(np.matmul(x, w1), b1));
    const logits = np.add(np.matmul(activation, w2), b2);
    return np.multiply(np.sum(np.multiply(nn.logSoftmax(logits, -1), targets)), -1 / batch);
  }, rate),
});

const operations = {
  add: ({ n }) => ({ shapes: [[n], [n]], fn: (x, z) => np.add(x, z) }),
  geluSigmoid: ({ n }) => ({
    shapes: [[n], [n]],
    fn: (x, z) => np.multiply(nn.gelu(np.add(np.multiply(x, 1.25), 0.5), { approximate: false }), nn.sigmoid(z)),
  }),
  softmax: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => nn.softmax(x, -1) }),
  layerNorm: ({ rows, columns }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    fn: (x, gamma, beta) => np.add(np.multiply(nn.standardize(x, -1, { epsilon: 1e-5 }), gamma), beta),
  }),
  sumRows: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => np.sum(x, 1) }),
  sumColumns: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => np.sum(x, 0) }),
  transposeAdd: ({ side }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    fn: (a, b) => np.add(np.transpose(a), b),
  }),
  matmul: ({ m, k, n }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    fn: (a, b) => np.matmul(a, b),
  }),
  trainStep: (params) => perceptronStep(params),
  derivedStep: (params) => perceptronStep(params),
  convolutionStep: ({ batch, first, second, hidden, classes, rate }) => {
    const convolved = (x, kernel, bias, channels) => {
      const made = lax.convGeneralDilated(x, kernel, [1, 1], 'SAME');
      return nn.relu(np.add(made, np.reshape(bias, [1, channels, 1, 1])));
    };
    // A pool of two by two as maxima over dims: jax-js derives no gradient of a window's maximum.
    const pooled = (x, channels, side) => np.max(np.reshape(x, [batch, channels, side, 2, side, 2]), [3, 5]);
    const loss = ([k1, b1, k2, b2, w3, b3, w4, b4], images, targets) => {
      const half = pooled(convolved(images, k1, b1, first), first, 14);
      const quarter = pooled(convolved(half, k2, b2, second), second, 7);
      const features = np.reshape(quarter, [batch, second * 49]);
      const layer = nn.relu(np.add(np.matmul(features, np.transpose(w3)), b3));
      const logits = np.add(np.matmul(layer, np.transpose(w4)), b4);
      return np.multiply(np.sum(np.multiply(nn.logSoftmax(logits, -1), targets)), -1 / batch);
    };
    return {
      shapes: [
        [batch, 1, 28, 28],
        [batch, classes],
        ...[[first, 1, 3, 3], [first], [second, first, 3, 3], [second]],
        ...[[hidden, second * 49], [hidden], [classes, hidden], [classes]],
      ],
      fn: descent(loss, rate),
    };
  },
  blockStep: ({ batch, length, width, heads, rate }) => {
    const linear = (x, weight, bias) => np.add(np.matmul(x, np.transpose(weight)), bias);
    const normalised = (x, gamma, beta) => np.add(np.multiply(nn.standardize(x, -1, { epsilon: 1e-5 }), gamma), beta);
    const places = [batch, length, width];
    // Spelt out: its own attention is written with what Node 20 does not have.
    const later = Float32Array.from({ length: length * length }, (_, i) =>
      i % length > Math.floor(i / length) ? -1e9 : 0,
    );
    const mask = np.array(later, { shape: [length, length] });
    const loss = ([g1, c1, wi, bi, wo, bo, g2, c2, w1, b1, w2, b2], x, target) => {
      const made = linear(normalised(x.ref, g1, c1), wi, bi);
      const parts = np.transpose(np.reshape(made, [batch, length, 3, heads, width / heads]), [2, 0, 3, 1, 4]);
      const [q, k, v] = [parts.ref.slice(0), parts.ref.slice(1), parts.slice(2)];
      const scores = np.multiply(np.matmul(q, np.transpose(k, [0, 1, 3, 2])), (width / heads) ** -0.5);
      const values = np.matmul(nn.softmax(np.add(scores, mask.ref), -1), v);
      const mixed = np.reshape(np.transpose(values, [0, 2, 1, 3]), places);
      const attended = np.add(x, linear(mixed, wo, bo));
      const wide = nn.gelu(linear(normalised(attended.ref, g2, c2), w1, b1), { approximate: false });
      const off = np.subtract(np.add(attended, linear(wide, w2, b2)), target);
      return np.mean(np.square(off));
    };
    const norm = [[width], [width]];
    return {
      shapes: [
        places,
        places,
        ...norm,
        ...[[3 * width, width], [3 * width], [width, width], [width]],
        ...norm,
        ...[[4 * width, width], [4 * width], [width, 4 * width], [width]],
      ],
      fn: descent(loss, rate),
    };
  },
};

function prepare(request) {
  const operation = operations[request.op]?.(request.params);
  if (operation === undefined) return undefined;
  const inputs = inputsOf(request).map((values, i) => np.array(values, { shape: operation.shapes[i] }));
  const compiled = jax.jit(operation.fn);
  let results = [];
  return {
    run: async () => {
      for (const result of results) result.dispose();
      results = [compiled(...inputs.map((input) => input.ref))].flat();
      await jax.blockUntilReady(results);
    },
    output: (index) => results[index].ref.data(),
  };
}

await serve({
  version: () =>
    JSON.parse(readFileSync(new URL('node_modules/@jax-js/jax/package.json', import.meta.url), 'utf8')).version,
  prepare,
});
