// Networks for images of the suite `models`, as modules: ResNet-50, whose strides are in its windows of 3 x 3, and MobileNetV2.
import type { Tensor } from 'tsinductor';
import { BatchNorm2d, Conv2d, Linear, MaxPool2d, Module } from 'tsinductor/nn';
import type { ConvOptions } from 'tsinductor/nn';
import type { Params } from '../protocol.ts';
import { mobileStages, resnetStages } from './plan.ts';

/** A convolution without bias, and a norm by the statistics of images before. */
class ConvNorm extends Module {
  readonly conv: Conv2d;
  readonly norm: BatchNorm2d;

  constructor(inputs: number, outputs: number, options: ConvOptions) {
    super();
    this.conv = new Conv2d(inputs, outputs, { bias: false, ...options });
    this.norm = new BatchNorm2d(outputs);
  }

  forward(x: Tensor): Tensor {
    return this.norm.forward(this.conv.forward(x));
  }
}

interface Block {
  readonly inputs: number;
  readonly inner: number;
  readonly outputs: number;
  readonly stride: number;
}

class Bottleneck extends Module {
  readonly narrow: ConvNorm;
  readonly window: ConvNorm;
  readonly widen: ConvNorm;
  readonly shortcut: ConvNorm | null;

  constructor({ inputs, inner, outputs, stride }: Block, isFirst: boolean) {
    super();
    this.narrow = new ConvNorm(inputs, inner, { kernelSize: 1 });
    this.window = new ConvNorm(inner, inner, { kernelSize: 3, padding: 1, stride });
    this.widen = new ConvNorm(inner, outputs, { kernelSize: 1 });
    this.shortcut = isFirst ? new ConvNorm(inputs, outputs, { kernelSize: 1, stride }) : null;
  }

  forward(x: Tensor): Tensor {
    const made = this.widen.forward(this.window.forward(this.narrow.forward(x).relu()).relu());
    return made.add(this.shortcut?.forward(x) ?? x).relu();
  }
}

export class ResNet50 extends Module {
  readonly stem: ConvNorm = new ConvNorm(3, 64, { kernelSize: 7, stride: 2, padding: 3 });
  readonly pool: MaxPool2d = new MaxPool2d(3, { stride: 2, padding: 1 });
  readonly blocks: readonly Bottleneck[];
  readonly classes: Linear;

  constructor({ classes = 0 }: Params) {
    super();
    let inputs = 64;
    this.blocks = resnetStages.flatMap(({ blocks, inner, outer: outputs }, stage) =>
      Array.from({ length: blocks }, (_, block) => {
        const stride = stage > 0 && block === 0 ? 2 : 1;
        const made = new Bottleneck({ inputs, inner, outputs, stride }, block === 0);
        inputs = outputs;
        return made;
      }),
    );
    this.classes = new Linear(inputs, classes);
  }

  forward(images: Tensor): Tensor {
    const first = this.pool.forward(this.stem.forward(images).relu());
    const last = this.blocks.reduce((x, block) => block.forward(x), first);
    return this.classes.forward(last.mean([2, 3]));
  }
}

/** A block that is wider within than at its ends, where a convolution works on each channel alone. */
class InvertedResidual extends Module {
  readonly widen: ConvNorm | null;
  readonly depthwise: ConvNorm;
  readonly narrow: ConvNorm;
  readonly isResidual: boolean;

  constructor({ inputs, inner, outputs, stride }: Block) {
    super();
    this.widen = inner === inputs ? null : new ConvNorm(inputs, inner, { kernelSize: 1 });
    this.depthwise = new ConvNorm(inner, inner, { kernelSize: 3, padding: 1, stride, groups: inner });
    this.narrow = new ConvNorm(inner, outputs, { kernelSize: 1 });
    this.isResidual = stride === 1 && inputs === outputs;
  }

  forward(x: Tensor): Tensor {
    const wide = this.widen?.forward(x).clamp(0, 6) ?? x;
    const made = this.narrow.forward(this.depthwise.forward(wide).clamp(0, 6));
    return this.isResidual ? x.add(made) : made;
  }
}

export class MobileNetV2 extends Module {
  readonly stem: ConvNorm = new ConvNorm(3, 32, { kernelSize: 3, stride: 2, padding: 1 });
  readonly blocks: readonly InvertedResidual[];
  readonly last: ConvNorm;
  readonly classes: Linear;

  constructor({ classes = 0 }: Params) {
    super();
    let inputs = 32;
    this.blocks = mobileStages.flatMap(({ factor, channels: outputs, blocks, stride }) =>
      Array.from({ length: blocks }, (_, block) => {
        const inner = inputs * factor;
        const made = new InvertedResidual({ inputs, inner, outputs, stride: block === 0 ? stride : 1 });
        inputs = outputs;
        return made;
      }),
    );
    this.last = new ConvNorm(inputs, 1280, { kernelSize: 1 });
    this.classes = new Linear(1280, classes);
  }

  forward(images: Tensor): Tensor {
    const first = this.stem.forward(images).clamp(0, 6);
    const last = this.blocks.reduce((x, block) => block.forward(x), first);
    return this.classes.forward(this.last.forward(last).clamp(0, 6).mean([2, 3]));
  }
}
