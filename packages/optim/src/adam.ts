// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), as torch.optim has them.
import { kept, atLeastZero, decays } from './algorithm.ts';
import type { Algorithm, CommonOptions, Site } from './algorithm.ts';
import { Optimizer } from './optimizer.ts';
import type { OptimizerParameters } from './parameter-groups.ts';

export interface AdamOptions extends CommonOptions {
  /** How much of the means of gradients and of their squares stays at each step. Default: [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  readonly eps?: number;
  readonly weightDecay?: number;
  /** Divide by the largest mean of squares so far (Reddi et al., 2018). */
  readonly amsgrad?: boolean;
}

type Settled = Required<AdamOptions>;

function moments(site: Site, { betas: [first, second], weightDecay }: Settled): void {
  const gradient = weightDecay === 0 ? site.gradient : site.gradient.add(site.param.mul(weightDecay));
  kept(site, 'exp_avg')
    .mul_(first)
    .add_(gradient.mul(1 - first));
  kept(site, 'exp_avg_sq')
    .mul_(second)
    .add_(gradient.mul(gradient).mul(1 - second));
}

/** 1 - beta^step, in f64. */
const correction = ({ step }: Site, beta: number) => step.mul(Math.log(beta)).exp().neg().add(1);

function descend(site: Site, { betas: [first, second], eps, amsgrad }: Settled): void {
  const squares = kept(site, 'exp_avg_sq');
  const largest = amsgrad ? kept(site, 'max_exp_avg_sq') : squares;
  if (amsgrad) largest.copy_(largest.maximum(squares));
  const { dtype } = site.param;
  const size = site.lr.div(correction(site, first)).to(dtype);
  const scale = correction(site, second).sqrt().to(dtype);
  const denominator = largest.sqrt().div(scale).add(eps);
  site.param.sub_(kept(site, 'exp_avg').div(denominator).mul(size));
}

const defaults: Settled = {
  lr: 1e-3,
  maximize: false,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0,
  amsgrad: false,
};

const adam: Algorithm<AdamOptions> = {
  name: 'Adam',
  defaults,
  checks: { lr: atLeastZero, betas: decays, eps: atLeastZero, weightDecay: atLeastZero },
  state: ({ amsgrad }) => ({ exp_avg: 0, exp_avg_sq: 0, ...(amsgrad ? { max_exp_avg_sq: 0 } : {}) }),
  update: (site, options) => {
    moments(site, options);
    descend(site, options);
  },
};

const adamW: Algorithm<AdamOptions> = {
  ...adam,
  name: 'AdamW',
  defaults: { ...defaults, weightDecay: 1e-2 },
  update: (site, options) => {
    const { param, lr } = site;
    param.mul_(lr.mul(options.weightDecay).neg().add(1).to(param.dtype));
    moments(site, { ...options, weightDecay: 0 });
    descend(site, options);
  },
};

/**
 * Adam. Weight decay is added to the gradient; see {@link AdamW} for what is mostly meant by it.
 *
 * @see torch.optim.Adam
 */
export class Adam extends Optimizer<AdamOptions> {
  constructor(parameters: OptimizerParameters<AdamOptions>, options: Partial<AdamOptions> = {}) {
    super(adam, parameters, options);
  }
}

/**
 * Adam with weight decay that is not scaled by the gradient's size.
 *
 * ```ts
 * const optimizer = new AdamW([{ params: weights }, { params: biases, weightDecay: 0 }], { lr: 3e-4 });
 * ```
 *
 * @see torch.optim.AdamW
 */
export class AdamW extends Optimizer<AdamOptions> {
  constructor(parameters: OptimizerParameters<AdamOptions>, options: Partial<AdamOptions> = {}) {
    super(adamW, parameters, options);
  }
}
