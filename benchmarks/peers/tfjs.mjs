// TensorFlow.js on its wasm backend: SIMD, one thread, because it has no more under Node. Results are freed as it goes.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { inputsOf, serve } from '../dist/serve.js';

await tf.setBackend('wasm');
await tf.ready();

/** A step of gradient descent: new weights. */
function descended(loss, weights, rate) {
  const gradients = tf.grads(loss)(weights);
  return weights.map((weight, i) => weight.sub(gradients[i].mul(rate)));
}

const perceptronStep = ({ batch, inner, hidden, classes, rate }) => ({
  shapes: [[batch, inner], [batch, classes], [inner, hidden], [hidden], [hidden, classes], [classes]],
  fn: (x, targets, ...weights) => {
    const loss = (w1, b1, w2, b2) => {
      const logits = tf.matMul(tf.matMul(x, w1).add(b1).relu(), w2).add(b2);
      return tf.logSoftmax(logits).mul(targets).sum().div(-batch);
    };
    return descended(loss, weights, rate);
  },
});

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
  trainStep: (params) => perceptronStep(params),
  derivedStep: (params) => perceptronStep(params),
  convolutionStep: ({ batch, first, second, hidden, classes, rate }) => ({
    shapes: [
      [batch, 1, 28, 28],
      [batch, classes],
      ...[[first, 1, 3, 3], [first], [second, first, 3, 3], [second]],
      ...[[hidden, second * 49], [hidden], [classes, hidden], [classes]],
    ],
    // Kernels and images of tfjs have channels last: weights are kept in the order of the others, which is transposed in the step.
    fn: (images, targets, ...weights) => {
      const lastImages = images.transpose([0, 2, 3, 1]);
      const convolved = (x, kernel, bias) =>
        tf.maxPool(
          tf
            .conv2d(x, kernel.transpose([2, 3, 1, 0]), 1, 'same')
            .add(bias)
            .relu(),
          2,
          2,
          'valid',
        );
      const loss = (k1, b1, k2, b2, w3, b3, w4, b4) => {
        const features = convolved(convolved(lastImages, k1, b1), k2, b2).transpose([0, 3, 1, 2]);
        const layer = tf
          .matMul(features.reshape([batch, second * 49]), w3, false, true)
          .add(b3)
          .relu();
        return tf
          .logSoftmax(tf.matMul(layer, w4, false, true).add(b4))
          .mul(targets)
          .sum()
          .div(-batch);
      };
      return descended(loss, weights, rate);
    },
  }),
  blockStep: ({ batch, length, width, heads, rate }) => {
    const norm = [[width], [width]];
    const mask = tf.linalg
      .bandPart(tf.ones([length, length]), -1, 0)
      .sub(1)
      .mul(1e9);
    const linear = (x, weight, bias) =>
      tf
        .matMul(x.reshape([batch * length, -1]), weight, false, true)
        .add(bias)
        .reshape([batch, length, -1]);
    const normalised = (x, gamma, beta) => {
      const centred = x.sub(x.mean(-1, true));
      return centred.mul(centred.square().mean(-1, true).add(1e-5).rsqrt()).mul(gamma).add(beta);
    };
    const headsOf = (x) => x.reshape([batch, length, heads, width / heads]).transpose([0, 2, 1, 3]);
    return {
      shapes: [
        [batch, length, width],
        [batch, length, width],
        ...norm,
        ...[[3 * width, width], [3 * width], [width, width], [width]],
        ...norm,
        ...[[4 * width, width], [4 * width], [width, 4 * width], [width]],
      ],
      fn: (x, target, ...weights) => {
        const loss = (...w) => {
          const [q, k, v] = tf.split(linear(normalised(x, w[0], w[1]), w[2], w[3]), 3, -1).map(headsOf);
          const scores = tf.matMul(q, k, false, true).mul((width / heads) ** -0.5);
          const mixed = tf.matMul(tf.softmax(scores.add(mask)), v).transpose([0, 2, 1, 3]);
          const attended = x.add(linear(mixed.reshape([batch, length, width]), w[4], w[5]));
          const wide = linear(normalised(attended, w[6], w[7]), w[8], w[9]);
          const gelu = wide.mul(wide.mul(Math.SQRT1_2).erf().add(1)).mul(0.5);
          return attended
            .add(linear(gelu, w[10], w[11]))
            .sub(target)
            .square()
            .mean();
        };
        return descended(loss, weights, rate);
      },
    };
  },
  adamStep: ({ count, rows, rate }) => {
    const shapes = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? [rows, 64 + (i % 5)] : [rows]));
    const optimizer = tf.train.adam(rate);
    let variables;
    return {
      shapes: [...shapes, ...shapes],
      fn: (...inputs) => {
        variables ??= inputs.slice(0, count).map((value) => tf.keep(tf.variable(value)));
        optimizer.applyGradients(variables.map(({ name }, i) => ({ name, tensor: inputs[count + i] })));
        return variables[count - 1].clone();
      },
    };
  },
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
