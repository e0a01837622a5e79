// Clipping of gradients, in place, as torch.nn.utils.clip_grad: by the norm of all of them together, or each number by itself.
import { noGrad, tensor } from '@tsinductor/tensor';
import type { Tensor } from '@tsinductor/tensor';
import { badHyperparameter, normNotFinite, notAParameter } from './errors.ts';
import { leavesOf } from './parameter-groups.ts';
import type { TensorTree } from './parameter-groups.ts';

export interface ClipOptions {
  /** Which norm: 2, 1, any positive number, or Infinity. Default: 2. */
  readonly normType?: number;
  /** Throw where the norm is NaN or infinite. It is read then, so the step is no single graph. Default: false. */
  readonly errorIfNonfinite?: boolean;
}

const gradientsOf = (parameters: Iterable<Tensor> | TensorTree): readonly Tensor[] =>
  leavesOf(parameters, (why) => notAParameter('clipping', why)).flatMap(({ grad }) => grad ?? []);

/** The norm of all tensors together, as if they were one. */
function normOf(tensors: readonly Tensor[], type: number): Tensor {
  const norms = tensors.map((each) => {
    const size = (each.dtype === 'f64' ? each : each.to('f32')).abs();
    if (type === Infinity) return size.max();
    return type === 2 ? size.mul(size).sum() : size.pow(type).sum();
  });
  const [first = tensor(0), ...others] = norms;
  if (type === Infinity) return others.reduce((most, norm) => most.maximum(norm), first);
  const total = others.reduce((sum, norm) => sum.add(norm), first);
  return type === 2 ? total.sqrt() : total.pow(1 / type);
}

/**
 * Scales the gradients of parameters so that their norm, taken together, is at most `maxNorm`; gives what it was.
 *
 * @throws UserError OPTIM_OPTION, OPTIM_PARAMETER; OPTIM_NORM under `errorIfNonfinite`
 * @see torch.nn.utils.clip_grad_norm_
 */
export function clipGradNorm_(
  parameters: Iterable<Tensor> | TensorTree,
  maxNorm: number,
  { normType = 2, errorIfNonfinite = false }: ClipOptions = {},
): Tensor {
  if (!(maxNorm >= 0)) throw badHyperparameter('maxNorm', maxNorm, 'a number of at least 0');
  if (!(normType > 0)) throw badHyperparameter('normType', normType, 'a positive number');
  return noGrad(() => {
    const gradients = gradientsOf(parameters);
    const norm = normOf(gradients, normType);
    if (errorIfNonfinite && !Number.isFinite(norm.item())) throw normNotFinite(Number(norm.item()));
    const factor = norm.add(1e-6).reciprocal().mul(maxNorm).clamp(undefined, 1);
    for (const gradient of gradients) gradient.mul_(factor.to(gradient.dtype));
    return norm;
  });
}

/**
 * Brings every number of the gradients of parameters between -`clipValue` and `clipValue`.
 *
 * @throws UserError OPTIM_OPTION, OPTIM_PARAMETER
 * @see torch.nn.utils.clip_grad_value_
 */
export function clipGradValue_(parameters: Iterable<Tensor> | TensorTree, clipValue: number): void {
  if (!(clipValue >= 0)) throw badHyperparameter('clipValue', clipValue, 'a number of at least 0');
  noGrad(() => {
    for (const gradient of gradientsOf(parameters)) gradient.copy_(gradient.clamp(-clipValue, clipValue));
  });
}
