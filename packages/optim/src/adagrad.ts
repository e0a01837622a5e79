// Adagrad (Duchi et al., 2011), as torch.optim.Adagrad.
import { atLeastZero, kept } from './algorithm.ts';
import type { Algorithm, CommonOptions } from './algorithm.ts';
import { Optimizer } from './optimizer.ts';
import type { OptimizerParameters } from './parameter-groups.ts';

export interface AdagradOptions extends CommonOptions {
  readonly lrDecay?: number;
  readonly weightDecay?: number;
  readonly initialAccumulatorValue?: number;
  readonly eps?: number;
}

const adagrad: Algorithm<AdagradOptions> = {
  name: 'Adagrad',
  defaults: { lr: 1e-2, maximize: false, lrDecay: 0, weightDecay: 0, initialAccumulatorValue: 0, eps: 1e-10 },
  checks: {
    lr: atLeastZero,
    lrDecay: atLeastZero,
    weightDecay: atLeastZero,
    initialAccumulatorValue: atLeastZero,
    eps: atLeastZero,
  },
  state: ({ initialAccumulatorValue }) => ({ sum: initialAccumulatorValue }),
  update: (site, { lrDecay, weightDecay, eps }) => {
    const { param, step } = site;
    const gradient = weightDecay === 0 ? site.gradient : site.gradient.add(param.mul(weightDecay));
    const lr = lrDecay === 0 ? site.lr : site.lr.div(step.sub(1).mul(lrDecay).add(1));
    const sum = kept(site, 'sum');
    sum.add_(gradient.mul(gradient));
    param.sub_(gradient.div(sum.sqrt().add(eps)).mul(lr.to(param.dtype)));
  },
};

/**
 * Adagrad.
 *
 * @see torch.optim.Adagrad
 */
export class Adagrad extends Optimizer<AdagradOptions> {
  constructor(parameters: OptimizerParameters<AdagradOptions>, options: Partial<AdagradOptions> = {}) {
    super(adagrad, parameters, options);
  }
}
