// The two classifiers, with their gradients written out by hand. Everything here is an ordinary function over tensors:
// run as it is, it is eager; wrapped in compile(), a whole training step is one native call.
import { arange, nn, tensor } from 'tsinductor';
import type { Tensor } from 'tsinductor';
import { classes, pixels, seeded } from './data.ts';

/** (softmax(logits) - one-hot labels) / batch: the gradient of the mean cross entropy by the logits. */
function gradientOfLogits(logits: Tensor, labels: Tensor): Tensor {
  const oneHot = labels.unsqueeze(1).eq(arange(classes)).to('f32');
  return logits
    .softmax(-1)
    .sub(oneHot)
    .div(logits.shape[0] ?? 1);
}

/** One linear layer: 784 pixels to 10 classes. */
export class SoftmaxRegression {
  readonly name: string = 'softmax regression';
  readonly weight: Tensor = tensor(new Float32Array(pixels * classes), { shape: [pixels, classes] });
  readonly bias: Tensor = tensor(new Float32Array(classes));

  logits(images: Tensor): Tensor {
    return images.matmul(this.weight).add(this.bias);
  }

  /** One step of gradient descent in place. Returns the batch's mean cross entropy. */
  step(images: Tensor, labels: Tensor, rate: Tensor): Tensor {
    const logits = this.logits(images);
    const loss = nn.functional.crossEntropy(logits, labels);
    const gradient = gradientOfLogits(logits, labels);
    this.weight.sub_(images.t().matmul(gradient).mul(rate));
    this.bias.sub_(gradient.sum(0).mul(rate));
    return loss;
  }
}

/** A two-layer perceptron: 784 - 512 - 10 with relu. */
export class Perceptron {
  readonly name: string = 'perceptron';
  readonly weight1: Tensor;
  readonly bias1: Tensor;
  readonly weight2: Tensor;
  readonly bias2: Tensor;

  constructor(hidden = 512, seed = 1) {
    const random = seeded(seed);
    this.weight1 = uniform([pixels, hidden], Math.sqrt(6 / pixels), random);
    this.bias1 = tensor(new Float32Array(hidden));
    this.weight2 = uniform([hidden, classes], Math.sqrt(1 / hidden), random);
    this.bias2 = tensor(new Float32Array(classes));
  }

  logits(images: Tensor): Tensor {
    return images.matmul(this.weight1).add(this.bias1).relu().matmul(this.weight2).add(this.bias2);
  }

  /** One step of gradient descent in place. Returns the batch's mean cross entropy. */
  step(images: Tensor, labels: Tensor, rate: Tensor): Tensor {
    const hidden = images.matmul(this.weight1).add(this.bias1).relu();
    const logits = hidden.matmul(this.weight2).add(this.bias2);
    const loss = nn.functional.crossEntropy(logits, labels);
    const gradient = gradientOfLogits(logits, labels);
    const hiddenGradient = gradient.matmul(this.weight2.t()).mul(hidden.gt(0));
    this.weight2.sub_(hidden.t().matmul(gradient).mul(rate));
    this.bias2.sub_(gradient.sum(0).mul(rate));
    this.weight1.sub_(images.t().matmul(hiddenGradient).mul(rate));
    this.bias1.sub_(hiddenGradient.sum(0).mul(rate));
    return loss;
  }
}

export type Classifier = SoftmaxRegression | Perceptron;

function uniform(shape: [number, number], bound: number, random: () => number): Tensor {
  const values = Float32Array.from({ length: shape[0] * shape[1] }, () => (2 * random() - 1) * bound);
  return tensor(values, { shape });
}
