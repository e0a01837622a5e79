// Layers that are products with a weight, and layers of shape alone.
import { nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { kaimingUniform_, uniform_ } from './init.ts';
import { Module } from './module.ts';
import { checkSizes, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

export interface LinearOptions extends Placement {
  /** Whether there is one: it is, unless `false` is given. */
  readonly bias?: boolean;
}

const placed = { dtype: 'f32', device: 'cpu' } as const;

/** x W^T + b, over the last dim: [..., inputs] becomes [..., outputs]. The weight is [outputs, inputs], as in PyTorch. */
export class Linear extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor(inputs: number, outputs: number, given: LinearOptions = {}) {
    super();
    const { bias, ...placement } = readOptions<LinearOptions>('Linear', { bias: true, ...placed }, given);
    checkSizes('Linear', { inputs });
    checkSizes('Linear', { outputs });
    this.weight = kaimingUniform_(blank([outputs, inputs], placement), { slope: Math.sqrt(5) });
    const bound = 1 / Math.sqrt(inputs);
    this.bias = bias ? uniform_(blank([outputs], placement), -bound, bound) : null;
  }

  forward(x: Tensor): Tensor {
    return functional.linear(x, this.weight, this.bias);
  }
}

/** x1 W x2 + b of two inputs: [..., inputs1] and [..., inputs2] become [..., outputs]. */
export class Bilinear extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;

  constructor([inputs1, inputs2]: readonly [number, number], outputs: number, given: LinearOptions = {}) {
    super();
    const { bias, ...placement } = readOptions<LinearOptions>('Bilinear', { bias: true, ...placed }, given);
    checkSizes('Bilinear', { inputs1, inputs2, outputs });
    const bound = 1 / Math.sqrt(inputs1);
    this.weight = uniform_(blank([outputs, inputs1, inputs2], placement), -bound, bound);
    this.bias = bias ? uniform_(blank([outputs], placement), -bound, bound) : null;
  }

  forward(x1: Tensor, x2: Tensor): Tensor {
    return functional.bilinear(x1, x2, this.weight, this.bias);
  }
}

/** What it is given. */
export class Identity extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

/** Dims from `start` to `end` as one: all but the batch, unless others are given. */
export class Flatten extends Module {
  readonly start: number;
  readonly end: number;

  constructor(start = 1, end = -1) {
    super();
    this.start = start;
    this.end = end;
  }

  forward(x: Tensor): Tensor {
    return x.flatten(this.start, this.end);
  }
}

/** A dim as several. */
export class Unflatten extends Module {
  readonly dim: number;
  readonly sizes: readonly number[];

  constructor(dim: number, sizes: readonly number[]) {
    super();
    this.dim = dim;
    this.sizes = sizes;
  }

  forward(x: Tensor): Tensor {
    return x.unflatten(this.dim, [...this.sizes]);
  }
}
