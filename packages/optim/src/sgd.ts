// Stochastic gradient descent with momentum, as torch.optim.SGD: the velocity is the sum of gradients, not of steps.
import type { Tensor } from '@tsinductor/tensor';
import { atLeastZero, kept } from './algorithm.ts';
import type { Algorithm, CommonOptions, Site } from './algorithm.ts';
import { Optimizer } from './optimizer.ts';
import type { OptimizerParameters } from './parameter-groups.ts';

export interface SgdOptions extends CommonOptions {
  readonly momentum?: number;
  readonly dampening?: number;
  readonly weightDecay?: number;
  /** Nesterov's momentum, for which there must be momentum and no dampening. */
  readonly nesterov?: boolean;
}

/** The gradient with the momentum of those before it. The first one is not dampened. */
function withMomentum(site: Site, gradient: Tensor, { momentum, dampening, nesterov }: Required<SgdOptions>): Tensor {
  const velocity = kept(site, 'momentum_buffer');
  const isLater = site.step.gt(1).to('f64');
  const added = dampening === 0 ? gradient : gradient.mul(isLater.mul(-dampening).add(1));
  velocity.mul_(momentum).add_(added);
  return nesterov ? gradient.add(velocity.mul(momentum)) : velocity;
}

const sgd: Algorithm<SgdOptions> = {
  name: 'SGD',
  defaults: { lr: 1e-3, maximize: false, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false },
  checks: { lr: atLeastZero, momentum: atLeastZero, weightDecay: atLeastZero },
  state: ({ momentum }) => (momentum === 0 ? {} : { momentum_buffer: 0 }),
  update: (site, options) => {
    const { param, lr } = site;
    const decayed = options.weightDecay === 0 ? site.gradient : site.gradient.add(param.mul(options.weightDecay));
    const direction = options.momentum === 0 ? decayed : withMomentum(site, decayed, options);
    param.sub_(direction.mul(lr));
  },
};

/**
 * Stochastic gradient descent, with momentum, Nesterov's momentum and weight decay.
 *
 * ```ts
 * const optimizer = new SGD([weight, bias], { lr: 0.1, momentum: 0.9 });
 * loss.backward();
 * optimizer.step();
 * optimizer.zeroGrad();
 * ```
 *
 * @see torch.optim.SGD
 */
export class SGD extends Optimizer<SgdOptions> {
  constructor(parameters: OptimizerParameters<SgdOptions>, options: Partial<SgdOptions> = {}) {
    super(sgd, parameters, options);
  }
}
