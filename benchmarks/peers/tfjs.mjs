// TensorFlow.js on its wasm backend: SIMD, one thread, because it has no more under Node. Results are freed as it goes.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { inputsOf, serve } from '../dist/serve.js';

await tf.setBackend('wasm');
await tf.ready();

const operations = {
  add: ({ n }) => ({ shapes: [[n], [n]], fn: (x, z) => tf.add(x, z) }),
  geluSigmoid: ({ n }) => {
    const [scale, shift, half, root] = [1.25, 0.5, 0.5, Math.SQRT1_2].map((value) => tf.scalar(value));
    return {
      shapes: [[n], [n]],
      fn: (x, z) => {
        const u = x.mul(scale).add(shift);
        return u.mul(half).mul(u.mul(root).erf().add(1)).mul(z.sigmoid());
      },
    };
  },
  softmax: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => tf.softmax(x) }),
  layerNorm: ({ rows, columns }) => ({
    shapes: [[rows, columns], [columns], [columns]],
    fn: (x, gamma, beta) => {
      const { mean, variance } = tf.moments(x, 1, true);
      return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(gamma).add(beta);
    },
  }),
  sumRows: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => x.sum(1) }),
  sumColumns: ({ rows, columns }) => ({ shapes: [[rows, columns]], fn: (x) => x.sum(0) }),
  transposeAdd: ({ side }) => ({
    shapes: [
      [side, side],
      [side, side],
    ],
    fn: (a, b) => a.transpose().add(b),
  }),
  matmul: ({ m, k, n }) => ({
    shapes: [
      [m, k],
      [k, n],
    ],
    fn: (a, b) => tf.matMul(a, b),
  }),
  trainStep: ({ batch, inner, hidden, classes, rate }) => ({
    shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
    fn: (x, targets, ...weights) => {
      const loss = (w1, b1, w2, b2) => {
        const logits = tf.matMul(tf.matMul(x, w1).add(b1).relu(), w2).add(b2);
        return tf.logSoftmax(logits).mul(targets).sum().div(-batch);
      };
      const gradients = tf.grads(loss)(weights);
      return weights.map((weight, i) => weight.sub(gradients[i].mul(rate)));
    },
  }),
};

function prepare(request) {
  const operation = operations[request.op]?.(request.params);
  if (operation === undefined) return undefined;
  const inputs = inputsOf(request).map((values, i) => tf.tensor(values, operation.shapes[i]));
  let results = [];
  return {
    run: () => {
      for (const result of results) result.dispose();
      results = [tf.tidy(() => operation.fn(...inputs))].flat();
    },
    output: (index) => results[index].dataSync(),
  };
}

await serve({ version: () => tf.version.tfjs, prepare });
