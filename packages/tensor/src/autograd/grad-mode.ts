// Whether operators are recorded for gradients: on from the start, off within noGrad().
import { processState } from '../process-state.ts';
import type { GradientMode } from './gradient-state.ts';

type Mode = Pick<GradientMode, 'isEnabled' | 'isSuspended'>;

function withMode<T>(mode: Mode, work: () => T): T {
  const { gradients } = processState;
  const { isEnabled, isSuspended } = gradients;
  Object.assign(gradients, mode);
  try {
    return work();
  } finally {
    Object.assign(gradients, { isEnabled, isSuspended });
  }
}

const without: Mode = { isEnabled: false, isSuspended: false };
const within: Mode = { isEnabled: true, isSuspended: false };
const suspended: Mode = { isEnabled: false, isSuspended: true };

export const withoutGradients = <T>(work: () => T): T => withMode(without, work);
export const withGradients = <T>(work: () => T): T => withMode(within, work);

/**
 * Runs `work` without recording anything for gradients: what it makes requires none, and it may write to parameters.
 *
 * ```ts
 * noGrad(() => weight.sub_(weight.grad.mul(0.1)));
 * ```
 *
 * `work` must be synchronous. As PyTorch's `torch.no_grad`.
 */
export const noGrad = <T>(work: () => T): T => withMode(suspended, work);

/** Runs `work` with gradients recorded, also within `noGrad`. As PyTorch's `torch.enable_grad`. */
export const enableGrad: <T>(work: () => T) => T = withGradients;

/** Whether operators on tensors that require gradients are recorded now. */
export const isGradEnabled = (): boolean => processState.gradients.isEnabled;
