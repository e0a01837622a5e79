// The classifiers: modules, whose gradients nobody writes. Run as they are, they are eager; in compile(), a whole training step is one
// native call.
import type { Tensor } from 'tsinductor';
import { Conv2d, Linear, MaxPool2d, Module } from 'tsinductor/nn';
import { classes, pixels } from './data.ts';

/** Bytes of images as numbers from 0 to 1. */
const numbersOf = (images: Tensor): Tensor => images.to('f32').div(255);

/** Gives a score to each class: u8[batch, 28, 28] to f32[batch, 10]. */
export abstract class Classifier extends Module {
  abstract readonly title: string;
  abstract override forward(images: Tensor): Tensor;
}

/** One linear layer: 784 pixels to 10 classes. */
export class SoftmaxRegression extends Classifier {
  readonly title: string = 'softmax regression';
  readonly output: Linear = new Linear(pixels, classes);

  forward(images: Tensor): Tensor {
    return this.output.forward(numbersOf(images).flatten(1));
  }
}

/** A two-layer perceptron: 784 - 512 - 10 with relu. */
export class Perceptron extends Classifier {
  readonly title: string = 'perceptron';
  readonly hidden: Linear = new Linear(pixels, 512);
  readonly output: Linear = new Linear(512, classes);

  forward(images: Tensor): Tensor {
    return this.output.forward(this.hidden.forward(numbersOf(images).flatten(1)).relu());
  }
}

/** Two convolutions, each behind it a pool that halves both sides, and two linear layers. */
export class ConvolutionalNetwork extends Classifier {
  readonly title: string = 'convolutional network';
  readonly conv1: Conv2d = new Conv2d(1, 16, { kernelSize: 3, padding: 1 });
  readonly conv2: Conv2d = new Conv2d(16, 32, { kernelSize: 3, padding: 1 });
  readonly pool: MaxPool2d = new MaxPool2d(2);
  readonly hidden: Linear = new Linear(32 * 7 * 7, 128);
  readonly output: Linear = new Linear(128, classes);

  forward(images: Tensor): Tensor {
    const half = this.pool.forward(this.conv1.forward(numbersOf(images).unsqueeze(1)).relu());
    const quarter = this.pool.forward(this.conv2.forward(half).relu());
    return this.output.forward(this.hidden.forward(quarter.flatten(1)).relu());
  }
}
