// Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023): the sign of a mean of gradients.
import { atLeastZero, decays, kept } from './algorithm.ts';
import type { Algorithm, CommonOptions } from './algorithm.ts';
import { Optimizer } from './optimizer.ts';
import type { OptimizerParameters } from './parameter-groups.ts';

export interface LionOptions extends CommonOptions {
  /** How much of the mean counts in a step, and how much of it stays. Default: [0.9, 0.99]. */
  readonly betas?: readonly [number, number];
  readonly weightDecay?: number;
}

const lion: Algorithm<LionOptions> = {
  name: 'Lion',
  defaults: { lr: 1e-4, maximize: false, betas: [0.9, 0.99], weightDecay: 0 },
  checks: { lr: atLeastZero, betas: decays, weightDecay: atLeastZero },
  state: () => ({ exp_avg: 0 }),
  update: (site, { betas: [first, second], weightDecay }) => {
    const { param, gradient, lr } = site;
    const mean = kept(site, 'exp_avg');
    const direction = mean
      .mul(first)
      .add(gradient.mul(1 - first))
      .sign();
    if (weightDecay !== 0) param.mul_(lr.mul(weightDecay).neg().add(1).to(param.dtype));
    param.sub_(direction.mul(lr));
    mean.mul_(second).add_(gradient.mul(1 - second));
  },
};

/** Lion. Its steps are all of one size: take a learning rate of a third to a tenth of Adam's, and as much more weight decay. */
export class Lion extends Optimizer<LionOptions> {
  constructor(parameters: OptimizerParameters<LionOptions>, options: Partial<LionOptions> = {}) {
    super(lion, parameters, options);
  }
}
