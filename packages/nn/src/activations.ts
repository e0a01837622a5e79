// Activations as modules, for `Sequential`.
import { full, nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badOption } from './errors.ts';
import { Module } from './module.ts';
import { checkSizes } from './options.ts';
import { parameter } from './parameter.ts';

const { functional } = nn;

export class ReLU extends Module {
  forward(x: Tensor): Tensor {
    return x.relu();
  }
}

export class ReLU6 extends Module {
  forward(x: Tensor): Tensor {
    return functional.relu6(x);
  }
}

export class SiLU extends Module {
  forward(x: Tensor): Tensor {
    return functional.silu(x);
  }
}

export class Mish extends Module {
  forward(x: Tensor): Tensor {
    return functional.mish(x);
  }
}

export class Tanh extends Module {
  forward(x: Tensor): Tensor {
    return x.tanh();
  }
}

export class Sigmoid extends Module {
  forward(x: Tensor): Tensor {
    return x.sigmoid();
  }
}

export class LogSigmoid extends Module {
  forward(x: Tensor): Tensor {
    return functional.logsigmoid(x);
  }
}

export class Hardswish extends Module {
  forward(x: Tensor): Tensor {
    return functional.hardswish(x);
  }
}

export class Hardsigmoid extends Module {
  forward(x: Tensor): Tensor {
    return functional.hardsigmoid(x);
  }
}

export class Softsign extends Module {
  forward(x: Tensor): Tensor {
    return functional.softsign(x);
  }
}

export class SELU extends Module {
  forward(x: Tensor): Tensor {
    return functional.selu(x);
  }
}

/** `tanh` takes the approximation by a hyperbolic tangent. */
export class GELU extends Module {
  readonly approximate: 'none' | 'tanh';

  constructor(approximate: 'none' | 'tanh' = 'none') {
    super();
    if (!['none', 'tanh'].includes(approximate))
      throw badOption('GELU', 'approximate', { is: approximate, needs: 'none or tanh' });
    this.approximate = approximate;
  }

  forward(x: Tensor): Tensor {
    return functional.gelu(x, { approximate: this.approximate });
  }
}

/** What is below 0 is multiplied by `slope`. */
export class LeakyReLU extends Module {
  readonly slope: number;

  constructor(slope = 0.01) {
    super();
    this.slope = slope;
  }

  forward(x: Tensor): Tensor {
    return functional.leakyRelu(x, this.slope);
  }
}

/** Below 0 a slope that is learnt: one, or one for each channel. */
export class PReLU extends Module {
  readonly weight: Tensor;

  constructor(count = 1, initial = 0.25) {
    super();
    checkSizes('PReLU', { count });
    this.weight = parameter(full([count], initial));
  }

  forward(x: Tensor): Tensor {
    return functional.prelu(x, this.weight);
  }
}

abstract class WithAlpha extends Module {
  readonly alpha: number;

  constructor(alpha = 1) {
    super();
    this.alpha = alpha;
  }
}

export class ELU extends WithAlpha {
  forward(x: Tensor): Tensor {
    return functional.elu(x, this.alpha);
  }
}

export class CELU extends WithAlpha {
  forward(x: Tensor): Tensor {
    return functional.celu(x, this.alpha);
  }
}

/** log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold. */
export class Softplus extends Module {
  readonly beta: number;
  readonly threshold: number;

  constructor(beta = 1, threshold = 20) {
    super();
    this.beta = beta;
    this.threshold = threshold;
  }

  forward(x: Tensor): Tensor {
    return functional.softplus(x, this.beta, this.threshold);
  }
}

/** No less than `min` and no more than `max`. */
export class Hardtanh extends Module {
  readonly min: number;
  readonly max: number;

  constructor(min = -1, max = 1) {
    super();
    if (!(min < max)) throw badOption('Hardtanh', 'min', { is: min, needs: `less than max (${String(max)})` });
    this.min = min;
    this.max = max;
  }

  forward(x: Tensor): Tensor {
    return functional.hardtanh(x, this.min, this.max);
  }
}

abstract class AlongDim extends Module {
  readonly dim: number;

  constructor(dim = -1) {
    super();
    this.dim = dim;
  }
}

export class Softmax extends AlongDim {
  forward(x: Tensor): Tensor {
    return x.softmax(this.dim);
  }
}

export class LogSoftmax extends AlongDim {
  forward(x: Tensor): Tensor {
    return x.logSoftmax(this.dim);
  }
}

/** One half of a dim times the sigmoid of the other. */
export class GLU extends AlongDim {
  forward(x: Tensor): Tensor {
    return functional.glu(x, this.dim);
  }
}
