// Dropout: in training elements or whole channels become 0 at random, and the others are scaled so that their mean stays.
import { nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { Module } from './module.ts';
import { checkProbability } from './options.ts';

const { functional } = nn;

abstract class Dropping extends Module {
  /** How likely each is dropped. */
  readonly p: number;

  constructor(p = 0.5) {
    super();
    checkProbability('Dropout', 'p', p);
    this.p = p;
  }
}

/** Of single elements. */
export class Dropout extends Dropping {
  forward(x: Tensor): Tensor {
    return functional.dropout(x, this.p, this.training);
  }
}

/** Of channels of [batch, channels, length]. */
export class Dropout1d extends Dropping {
  forward(x: Tensor): Tensor {
    return functional.dropout1d(x, this.p, this.training);
  }
}

/** Of channels of [batch, channels, height, width]. */
export class Dropout2d extends Dropping {
  forward(x: Tensor): Tensor {
    return functional.dropout2d(x, this.p, this.training);
  }
}

/** Of channels of [batch, channels, depth, height, width]. */
export class Dropout3d extends Dropping {
  forward(x: Tensor): Tensor {
    return functional.dropout3d(x, this.p, this.training);
  }
}

/** Of elements, so that mean and variance of what SELU gives stay. */
export class AlphaDropout extends Dropping {
  forward(x: Tensor): Tensor {
    return functional.alphaDropout(x, this.p, this.training);
  }
}
