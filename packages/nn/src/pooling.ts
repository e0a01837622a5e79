// Windows of images and signals: their maxima and means.
import { nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { Module } from './module.ts';
import { eachDim, readOptions } from './options.ts';

const { functional } = nn;

type PerDim = number | readonly number[];

export interface MaxPoolOptions {
  /** The window's size, if absent. */
  readonly stride?: PerDim | null;
  readonly padding?: PerDim;
  readonly dilation?: PerDim;
  /** Whether a window that begins within the image but ends beyond it counts. */
  readonly ceilMode?: boolean;
}

interface Pooling {
  readonly layer: string;
  readonly dims: number;
  readonly kernel: PerDim;
}

/** What reads an option of a layer that has a number for each dim. */
const perDim =
  (layer: string, dims: number) =>
  (option: string, value: PerDim, least = 1): number[] => [...eachDim(layer, option, { value, dims, least })];

abstract class MaxPool extends Module {
  readonly kernel: number[];
  protected readonly how: { stride: number[] | null; padding: number[]; dilation: number[]; ceilMode: boolean };

  protected constructor({ layer, dims, kernel }: Pooling, given: MaxPoolOptions) {
    super();
    const { stride, padding, dilation, ceilMode } = readOptions<MaxPoolOptions>(
      layer,
      { stride: null, padding: 0, dilation: 1, ceilMode: false },
      given,
    );
    const each = perDim(layer, dims);
    this.kernel = each('kernel', kernel);
    this.how = {
      stride: stride === null ? null : each('stride', stride),
      padding: each('padding', padding, 0),
      dilation: each('dilation', dilation),
      ceilMode,
    };
  }
}

export class MaxPool1d extends MaxPool {
  constructor(kernel: PerDim, options: MaxPoolOptions = {}) {
    super({ layer: 'MaxPool1d', dims: 1, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.maxPool1d(x, this.kernel, this.how);
  }
}

export class MaxPool2d extends MaxPool {
  constructor(kernel: PerDim, options: MaxPoolOptions = {}) {
    super({ layer: 'MaxPool2d', dims: 2, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.maxPool2d(x, this.kernel, this.how);
  }
}

export class MaxPool3d extends MaxPool {
  constructor(kernel: PerDim, options: MaxPoolOptions = {}) {
    super({ layer: 'MaxPool3d', dims: 3, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.maxPool3d(x, this.kernel, this.how);
  }
}

export interface AvgPoolOptions {
  readonly stride?: PerDim | null;
  readonly padding?: PerDim;
  readonly ceilMode?: boolean;
  /** Whether places of the padding count in means. */
  readonly countIncludePad?: boolean;
}

abstract class AvgPool extends Module {
  readonly kernel: number[];
  protected readonly how: { stride: number[] | null; padding: number[]; ceilMode: boolean; countIncludePad: boolean };

  protected constructor({ layer, dims, kernel }: Pooling, given: AvgPoolOptions) {
    super();
    const { stride, padding, ceilMode, countIncludePad } = readOptions<AvgPoolOptions>(
      layer,
      { stride: null, padding: 0, ceilMode: false, countIncludePad: true },
      given,
    );
    const each = perDim(layer, dims);
    this.kernel = each('kernel', kernel);
    this.how = {
      stride: stride === null ? null : each('stride', stride),
      padding: each('padding', padding, 0),
      ceilMode,
      countIncludePad,
    };
  }
}

export class AvgPool1d extends AvgPool {
  constructor(kernel: PerDim, options: AvgPoolOptions = {}) {
    super({ layer: 'AvgPool1d', dims: 1, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.avgPool1d(x, this.kernel, this.how);
  }
}

export class AvgPool2d extends AvgPool {
  constructor(kernel: PerDim, options: AvgPoolOptions = {}) {
    super({ layer: 'AvgPool2d', dims: 2, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.avgPool2d(x, this.kernel, this.how);
  }
}

export class AvgPool3d extends AvgPool {
  constructor(kernel: PerDim, options: AvgPoolOptions = {}) {
    super({ layer: 'AvgPool3d', dims: 3, kernel }, options);
  }

  forward(x: Tensor): Tensor {
    return functional.avgPool3d(x, this.kernel, this.how);
  }
}

abstract class AdaptivePool extends Module {
  readonly outputSize: number[];

  protected constructor(layer: string, dims: number, outputSize: PerDim) {
    super();
    this.outputSize = [...eachDim(layer, 'outputSize', { value: outputSize, dims })];
  }
}

/** Means of as many windows as there are to be results, whatever the size of the input. */
export class AdaptiveAvgPool1d extends AdaptivePool {
  constructor(outputSize: PerDim) {
    super('AdaptiveAvgPool1d', 1, outputSize);
  }

  forward(x: Tensor): Tensor {
    return functional.adaptiveAvgPool1d(x, this.outputSize);
  }
}

export class AdaptiveAvgPool2d extends AdaptivePool {
  constructor(outputSize: PerDim) {
    super('AdaptiveAvgPool2d', 2, outputSize);
  }

  forward(x: Tensor): Tensor {
    return functional.adaptiveAvgPool2d(x, this.outputSize);
  }
}

export class AdaptiveMaxPool2d extends AdaptivePool {
  constructor(outputSize: PerDim) {
    super('AdaptiveMaxPool2d', 2, outputSize);
  }

  forward(x: Tensor): Tensor {
    return functional.adaptiveMaxPool2d(x, this.outputSize);
  }
}
