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
const { numpy: np, nn } = jax;
await jax.init('wasm');
jax.defaultDevice('wasm');

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
  trainStep: ({ batch, inner, hidden, classes, rate }) => {
    const loss = ([w1, b1, w2, b2], x, targets) => {
      const activation = nn.relu(np.add(np.matmul(x, w1), b1));
      const logits = np.add(np.matmul(activation, w2), b2);
      return np.multiply(np.sum(np.multiply(nn.logSoftmax(logits, -1), targets)), -1 / batch);
    };
    return {
      shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
      fn: (x, targets, ...weights) => {
        const gradients = jax.grad(loss)(
          weights.map((weight) => weight.ref),
          x,
          targets,
        );
        return weights.map((weight, i) => np.subtract(weight, np.multiply(gradients[i], rate)));
      },
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
