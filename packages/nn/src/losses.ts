// Losses as modules: what is between what a model gives and what it should, in one number unless `reduction` says otherwise.
import { nn } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badOption } from './errors.ts';
import { Module } from './module.ts';
import { readOptions } from './options.ts';

const { functional } = nn;

type Reduction = 'mean' | 'sum' | 'none';

export interface LossOptions {
  /** The mean or the sum over all elements, or each by itself. */
  readonly reduction?: Reduction;
}

abstract class Loss extends Module {
  readonly reduction: Reduction;

  protected constructor(layer: string, reduction: Reduction) {
    super();
    if (!['mean', 'sum', 'none'].includes(reduction))
      throw badOption(layer, 'reduction', { is: reduction, needs: 'mean, sum or none' });
    this.reduction = reduction;
  }
}

/** A loss that has no option of its own. */
abstract class PlainLoss extends Loss {
  constructor(given: LossOptions = {}) {
    const { name } = new.target;
    super(name, readOptions<LossOptions>(name, { reduction: 'mean' }, given).reduction);
  }
}

export class MSELoss extends PlainLoss {
  forward(input: Tensor, target: Tensor): Tensor {
    return functional.mseLoss(input, target, { reduction: this.reduction });
  }
}

export class L1Loss extends PlainLoss {
  forward(input: Tensor, target: Tensor): Tensor {
    return functional.l1Loss(input, target, { reduction: this.reduction });
  }
}

export interface SmoothL1Options extends LossOptions {
  /** From which distance on the loss is linear. */
  readonly beta?: number;
}

export class SmoothL1Loss extends Loss {
  readonly beta: number;

  constructor(given: SmoothL1Options = {}) {
    const { reduction, beta } = readOptions<SmoothL1Options>('SmoothL1Loss', { reduction: 'mean', beta: 1 }, given);
    super('SmoothL1Loss', reduction);
    this.beta = beta;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    return functional.smoothL1Loss(input, target, { reduction: this.reduction, beta: this.beta });
  }
}

export interface HuberOptions extends LossOptions {
  readonly delta?: number;
}

export class HuberLoss extends Loss {
  readonly delta: number;

  constructor(given: HuberOptions = {}) {
    const { reduction, delta } = readOptions<HuberOptions>('HuberLoss', { reduction: 'mean', delta: 1 }, given);
    super('HuberLoss', reduction);
    this.delta = delta;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    return functional.huberLoss(input, target, { reduction: this.reduction, delta: this.delta });
  }
}

export interface ClassLossOptions extends LossOptions {
  /** A factor for each class. */
  readonly weight?: Tensor | null;
  /** A class that does not count. */
  readonly ignoreIndex?: number;
}

export interface CrossEntropyOptions extends ClassLossOptions {
  /** How much of the target is spread over all classes. */
  readonly labelSmoothing?: number;
}

/** Of scores [batch, classes, ...] and class numbers [batch, ...], or probabilities as scores are. */
export class CrossEntropyLoss extends Loss {
  readonly weight: Tensor | null;
  readonly ignoreIndex: number;
  readonly labelSmoothing: number;

  constructor(given: CrossEntropyOptions = {}) {
    const { reduction, weight, ignoreIndex, labelSmoothing } = readOptions<CrossEntropyOptions>(
      'CrossEntropyLoss',
      { reduction: 'mean', weight: null, ignoreIndex: -100, labelSmoothing: 0 },
      given,
    );
    super('CrossEntropyLoss', reduction);
    this.weight = weight;
    this.ignoreIndex = ignoreIndex;
    this.labelSmoothing = labelSmoothing;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    const { reduction, weight, ignoreIndex, labelSmoothing } = this;
    return functional.crossEntropy(input, target, { reduction, weight, ignoreIndex, labelSmoothing });
  }
}

/** The same of logarithms of probabilities. */
export class NLLLoss extends Loss {
  readonly weight: Tensor | null;
  readonly ignoreIndex: number;

  constructor(given: ClassLossOptions = {}) {
    const { reduction, weight, ignoreIndex } = readOptions<ClassLossOptions>(
      'NLLLoss',
      { reduction: 'mean', weight: null, ignoreIndex: -100 },
      given,
    );
    super('NLLLoss', reduction);
    this.weight = weight;
    this.ignoreIndex = ignoreIndex;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    const { reduction, weight, ignoreIndex } = this;
    return functional.nllLoss(input, target, { reduction, weight, ignoreIndex });
  }
}

export interface WeightedLossOptions extends LossOptions {
  /** A factor for each element. */
  readonly weight?: Tensor | null;
}

/** Of probabilities, element by element. */
export class BCELoss extends Loss {
  readonly weight: Tensor | null;

  constructor(given: WeightedLossOptions = {}) {
    const { reduction, weight } = readOptions<WeightedLossOptions>(
      'BCELoss',
      { reduction: 'mean', weight: null },
      given,
    );
    super('BCELoss', reduction);
    this.weight = weight;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    return functional.binaryCrossEntropy(input, target, { reduction: this.reduction, weight: this.weight });
  }
}

export interface LogitLossOptions extends WeightedLossOptions {
  /** A factor for elements whose target is 1. */
  readonly posWeight?: Tensor | null;
}

/** Of scores, of which it takes the sigmoid. */
export class BCEWithLogitsLoss extends Loss {
  readonly weight: Tensor | null;
  readonly posWeight: Tensor | null;

  constructor(given: LogitLossOptions = {}) {
    const { reduction, weight, posWeight } = readOptions<LogitLossOptions>(
      'BCEWithLogitsLoss',
      { reduction: 'mean', weight: null, posWeight: null },
      given,
    );
    super('BCEWithLogitsLoss', reduction);
    this.weight = weight;
    this.posWeight = posWeight;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    const { reduction, weight, posWeight } = this;
    return functional.binaryCrossEntropyWithLogits(input, target, { reduction, weight, posWeight });
  }
}

export interface KLDivOptions {
  /** `batchmean` is the sum by the size of the batch: the divergence itself. */
  readonly reduction?: Reduction | 'batchmean';
  /** Whether the target is given as logarithms. */
  readonly logTarget?: boolean;
}

/** Of logarithms of probabilities. */
export class KLDivLoss extends Module {
  readonly reduction: Reduction | 'batchmean';
  readonly logTarget: boolean;

  constructor(given: KLDivOptions = {}) {
    super();
    const { reduction, logTarget } = readOptions<KLDivOptions>(
      'KLDivLoss',
      { reduction: 'mean', logTarget: false },
      given,
    );
    if (!['mean', 'sum', 'none', 'batchmean'].includes(reduction))
      throw badOption('KLDivLoss', 'reduction', { is: reduction, needs: 'mean, batchmean, sum or none' });
    this.reduction = reduction;
    this.logTarget = logTarget;
  }

  forward(input: Tensor, target: Tensor): Tensor {
    return functional.klDiv(input, target, { reduction: this.reduction, logTarget: this.logTarget });
  }
}
