// Whether operators are recorded for gradients: on from the start, off within noGrad().
import { processState } from '../process-state.ts';

function withMode<T>(isEnabled: boolean, work: () => T): T {
  const { gradients } = processState;
  const before = gradients.isEnabled;
  gradients.isEnabled = isEnabled;
  try {
    return work();
  } finally {
    gradients.isEnabled = before;
  }
}

export const withoutGradients = <T>(work: () => T): T => withMode(false, work);
export const withGradients = <T>(work: () => T): T => withMode(true, work);

/**
 * Runs `work` without recording anything for gradients: what it makes requires none, and it may write to parameters.
 *
 * ```ts
 * noGrad(() => weight.sub_(weight.grad.mul(0.1)));
 * ```
 *
 * `work` must be synchronous. As PyTorch's `torch.no_grad`.
 */
export const noGrad: <T>(work: () => T) => T = withoutGradients;

/** Runs `work` with gradients recorded, also within `noGrad`. As PyTorch's `torch.enable_grad`. */
export const enableGrad: <T>(work: () => T) => T = withGradients;

/** Whether operators on tensors that require gradients are recorded now. */
export const isGradEnabled = (): boolean => processState.gradients.isEnabled;
