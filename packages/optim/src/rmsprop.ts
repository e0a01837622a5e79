// RMSprop (Hinton's lecture 6e), plain and centred, as torch.optim.RMSprop.
import { atLeastZero, kept } from './algorithm.ts';
import type { Algorithm, CommonOptions } from './algorithm.ts';
import { Optimizer } from './optimizer.ts';
import type { OptimizerParameters } from './parameter-groups.ts';

export interface RmspropOptions extends CommonOptions {
  /** How much of the mean of squares stays at each step. Default: 0.99. */
  readonly alpha?: number;
  readonly eps?: number;
  readonly weightDecay?: number;
  readonly momentum?: number;
  /** Divide by the variance of gradients in place of the mean of their squares. */
  readonly centered?: boolean;
}

const rmsprop: Algorithm<RmspropOptions> = {
  name: 'RMSprop',
  defaults: { lr: 1e-2, maximize: false, alpha: 0.99, eps: 1e-8, weightDecay: 0, momentum: 0, centered: false },
  checks: { lr: atLeastZero, alpha: atLeastZero, eps: atLeastZero, weightDecay: atLeastZero, momentum: atLeastZero },
  state: ({ momentum, centered }) => ({
    square_avg: 0,
    ...(momentum === 0 ? {} : { momentum_buffer: 0 }),
    ...(centered ? { grad_avg: 0 } : {}),
  }),
  update: (site, { alpha, eps, weightDecay, momentum, centered }) => {
    const { param, lr } = site;
    const gradient = weightDecay === 0 ? site.gradient : site.gradient.add(param.mul(weightDecay));
    const squares = kept(site, 'square_avg');
    squares.mul_(alpha).add_(gradient.mul(gradient).mul(1 - alpha));
    let spread = squares;
    if (centered) {
      const mean = kept(site, 'grad_avg');
      mean.mul_(alpha).add_(gradient.mul(1 - alpha));
      spread = squares.sub(mean.mul(mean));
    }
    const direction = gradient.div(spread.sqrt().add(eps));
    if (momentum === 0) {
      param.sub_(direction.mul(lr));
      return;
    }
    const velocity = kept(site, 'momentum_buffer');
    velocity.mul_(momentum).add_(direction);
    param.sub_(velocity.mul(lr));
  },
};

/**
 * RMSprop.
 *
 * @see torch.optim.RMSprop
 */
export class RMSprop extends Optimizer<RmspropOptions> {
  constructor(parameters: OptimizerParameters<RmspropOptions>, options: Partial<RmspropOptions> = {}) {
    super(rmsprop, parameters, options);
  }
}
