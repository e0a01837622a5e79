// Norms: of batches with running statistics, of samples, of groups of channels, of the last dims.
import { nn, noGrad, tensor, zeros, ones } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badInput } from './errors.ts';
import { ones_ } from './init.ts';
import { Module } from './module.ts';
import { checkDivides, checkSizes, readOptions } from './options.ts';
import { blank } from './parameter.ts';
import type { Placement } from './parameter.ts';

const { functional } = nn;

export interface BatchNormOptions extends Placement {
  /** What is added to variances. */
  readonly eps?: number;
  /** The part of a batch in running statistics; `null`: these are the mean over all batches. */
  readonly momentum?: number | null;
  /** Whether there are a weight and a bias. */
  readonly affine?: boolean;
  /** Whether there are running statistics, which evaluation uses. */
  readonly trackRunningStats?: boolean;
}

/** What norms with running statistics share. */
abstract class RunningNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  /** i64 of no dims. */
  readonly numBatchesTracked: Tensor | null;
  readonly eps: number;
  readonly momentum: number | null;
  /** How many dims inputs may have. */
  readonly ranks: readonly number[];

  protected constructor(features: number, { layer, ranks, options }: Norm) {
    super();
    const { eps, momentum, affine, trackRunningStats, ...placement } = options;
    checkSizes(layer, { features });
    this.ranks = ranks;
    this.eps = eps;
    this.momentum = momentum;
    this.weight = affine ? ones_(blank([features], placement)) : null;
    this.bias = affine ? blank([features], placement) : null;
    const { dtype, device } = placement;
    this.runningMean = trackRunningStats ? zeros([features], { dtype }).to(device) : null;
    this.runningVar = trackRunningStats ? ones([features], { dtype }).to(device) : null;
    this.numBatchesTracked = trackRunningStats ? tensor(0, { dtype: 'i64' }).to(device) : null;
  }

  /** Forgets what batches were like. */
  resetRunningStats(): void {
    noGrad(() => {
      this.runningMean?.zero_();
      this.runningVar?.fill_(1);
      this.numBatchesTracked?.zero_();
    });
  }

  protected checkRank(x: Tensor): void {
    const { ranks, constructor } = this;
    const [given, wanted] = [String(x.shape.length), ranks.join(' or ')];
    if (!ranks.includes(x.shape.length))
      throw badInput(constructor.name, `the input has ${given} dims`, `give one of ${wanted} dims`);
  }
}

interface Norm {
  readonly layer: string;
  /** How many dims inputs may have. */
  readonly ranks: readonly number[];
  readonly options: Required<BatchNormOptions>;
}

const batchDefaults: Required<BatchNormOptions> = {
  eps: 1e-5,
  momentum: 0.1,
  affine: true,
  trackRunningStats: true,
  dtype: 'f32',
  device: 'cpu',
};

abstract class BatchNorm extends RunningNorm {
  protected constructor(
    features: number,
    layer: string,
    { ranks, given }: { ranks: readonly number[]; given: BatchNormOptions },
  ) {
    super(features, { layer, ranks, options: readOptions<BatchNormOptions>(layer, batchDefaults, given) });
  }

  /** [batch, channels, ...]: each channel less its mean, by its deviation; of the batch in training, else of all batches before. */
  forward(x: Tensor): Tensor {
    this.checkRank(x);
    const { weight, bias, runningMean, runningVar, numBatchesTracked, eps, momentum, training } = this;
    if (training && numBatchesTracked !== null) noGrad(() => numBatchesTracked.add_(1));
    if (training && momentum === null && runningMean !== null && runningVar !== null) {
      noGrad(() => {
        const others = x.shape.map((_, dim) => dim).filter((dim) => dim !== 1);
        const part = (numBatchesTracked ?? tensor(1)).to(runningMean.dtype).reciprocal();
        runningMean.lerp_(x.mean(others).to(runningMean.dtype), part);
        runningVar.lerp_(x.var(others).to(runningVar.dtype), part);
      });
      return functional.batchNorm(x, null, null, weight, bias, { training: true, eps });
    }
    const ofBatch = training || runningMean === null;
    const step = { training: ofBatch, momentum: momentum ?? 0, eps };
    return functional.batchNorm(x, runningMean, runningVar, weight, bias, step);
  }
}

/** Of [batch, channels] or [batch, channels, length]. */
export class BatchNorm1d extends BatchNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'BatchNorm1d', { ranks: [2, 3], given: options });
  }
}

/** Of images [batch, channels, height, width]. */
export class BatchNorm2d extends BatchNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'BatchNorm2d', { ranks: [4], given: options });
  }
}

/** Of volumes [batch, channels, depth, height, width]. */
export class BatchNorm3d extends BatchNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'BatchNorm3d', { ranks: [5], given: options });
  }
}

abstract class InstanceNorm extends RunningNorm {
  protected constructor(
    features: number,
    layer: string,
    { ranks, given }: { ranks: readonly number[]; given: BatchNormOptions },
  ) {
    const defaults = { ...batchDefaults, affine: false, trackRunningStats: false };
    super(features, { layer, ranks, options: readOptions<BatchNormOptions>(layer, defaults, given) });
  }

  /** Each channel of each sample less its mean, by its deviation. */
  forward(x: Tensor): Tensor {
    this.checkRank(x);
    const { weight, bias, runningMean, runningVar, eps, momentum, training } = this;
    const useInputStats = training || runningMean === null;
    const step = { useInputStats, momentum: momentum ?? 0, eps };
    return functional.instanceNorm(x, runningMean, runningVar, weight, bias, step);
  }
}

export class InstanceNorm1d extends InstanceNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'InstanceNorm1d', { ranks: [3], given: options });
  }
}

export class InstanceNorm2d extends InstanceNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'InstanceNorm2d', { ranks: [4], given: options });
  }
}

export class InstanceNorm3d extends InstanceNorm {
  constructor(features: number, options: BatchNormOptions = {}) {
    super(features, 'InstanceNorm3d', { ranks: [5], given: options });
  }
}

export interface LayerNormOptions extends Placement {
  readonly eps?: number;
  /** Whether there are a weight and a bias. */
  readonly elementwiseAffine?: boolean;
  readonly bias?: boolean;
}

/** Of the last dims, which have these sizes. */
export class LayerNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly normalizedShape: readonly number[];
  readonly eps: number;

  constructor(normalizedShape: number | readonly number[], given: LayerNormOptions = {}) {
    super();
    const defaults = { eps: 1e-5, elementwiseAffine: true, bias: true, dtype: 'f32', device: 'cpu' } as const;
    const { eps, elementwiseAffine, bias, ...placement } = readOptions<LayerNormOptions>('LayerNorm', defaults, given);
    const shape = typeof normalizedShape === 'number' ? [normalizedShape] : normalizedShape;
    for (const size of shape) checkSizes('LayerNorm', { normalizedShape: size });
    this.normalizedShape = shape;
    this.eps = eps;
    this.weight = elementwiseAffine ? ones_(blank(shape, placement)) : null;
    this.bias = elementwiseAffine && bias ? blank(shape, placement) : null;
  }

  forward(x: Tensor): Tensor {
    return functional.layerNorm(x, [...this.normalizedShape], this.weight, this.bias, this.eps);
  }
}

export interface RmsNormOptions extends Placement {
  /** What is added to the mean of squares; the smallest that tells 1 from what follows it, if absent. */
  readonly eps?: number | null;
  readonly elementwiseAffine?: boolean;
}

/** The last dims by the root of the mean of their squares. */
export class RMSNorm extends Module {
  readonly weight: Tensor | null;
  readonly normalizedShape: readonly number[];
  readonly eps: number | null;

  constructor(normalizedShape: number | readonly number[], given: RmsNormOptions = {}) {
    super();
    const defaults = { eps: null, elementwiseAffine: true, dtype: 'f32', device: 'cpu' } as const;
    const { eps, elementwiseAffine, ...placement } = readOptions<RmsNormOptions>('RMSNorm', defaults, given);
    const shape = typeof normalizedShape === 'number' ? [normalizedShape] : normalizedShape;
    for (const size of shape) checkSizes('RMSNorm', { normalizedShape: size });
    this.normalizedShape = shape;
    this.eps = eps;
    this.weight = elementwiseAffine ? ones_(blank(shape, placement)) : null;
  }

  forward(x: Tensor): Tensor {
    return functional.rmsNorm(x, [...this.normalizedShape], this.weight, this.eps);
  }
}

export interface GroupNormOptions extends Placement {
  readonly eps?: number;
  readonly affine?: boolean;
}

/** Of groups of channels: [batch, channels, ...]. */
export class GroupNorm extends Module {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly groups: number;
  readonly eps: number;

  constructor(groups: number, channels: number, given: GroupNormOptions = {}) {
    super();
    const defaults = { eps: 1e-5, affine: true, dtype: 'f32', device: 'cpu' } as const;
    const { eps, affine, ...placement } = readOptions<GroupNormOptions>('GroupNorm', defaults, given);
    checkSizes('GroupNorm', { groups });
    checkSizes('GroupNorm', { channels });
    checkDivides('GroupNorm', ['channels', channels], ['groups', groups]);
    this.groups = groups;
    this.eps = eps;
    this.weight = affine ? ones_(blank([channels], placement)) : null;
    this.bias = affine ? blank([channels], placement) : null;
  }

  forward(x: Tensor): Tensor {
    return functional.groupNorm(x, this.groups, this.weight, this.bias, this.eps);
  }
}
