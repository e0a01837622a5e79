// One level of reverse-mode differentiation of a function: what `grad`, `vjp` and the others are made of. The tensors that are
// differentiated are replaced by tensors of their own, so that levels within each other do not meet: what an outer level asks
// flows through the inner one's gradients as through any other computation.
import { dispatchOne } from '../dispatch.ts';
import { currentLevel, dependsOutside, mappedOf, mappedTensor, outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { backwardPass, leavesBehind } from './backward.ts';
import { withoutGradients } from './grad-mode.ts';
import type { Seed } from './backward.ts';
import { newGradientState } from './gradient-state.ts';
import { requiresGrad } from './record.ts';

/** A tensor of the same elements that stands for `tensor` at one level; an outer level sees through it. */
export function ownTensor(tensor: Tensor): Tensor {
  processState.gradients.isUsed = true;
  const level = currentLevel();
  const isOutside = level !== undefined && mappedOf(tensor)?.level !== level;
  if (requiresGrad(tensor) && !isOutside) return sameElements(tensor);
  const own = level === undefined ? withoutHistory(tensor) : sameAtLevel(tensor, level);
  own.gradient = { ...newGradientState(), requiresGrad: true };
  return own;
}

const sameElements = (tensor: Tensor): Tensor => dispatchOne('permute', [tensor, tensor.shape.map((_, axis) => axis)]);

/**
 * A tensor of the same elements that nothing is known of here. What is recorded as a graph may be differentiated as a whole later: there
 * gradients flow on.
 */
function withoutHistory(tensor: Tensor): Tensor {
  const { recorder, gradients } = processState;
  return recorder === undefined || recorder.isLazy || gradients.isSuspended
    ? dispatchOne('detach', [tensor])
    : withoutGradients(() => sameElements(tensor));
}

/** Under vmap, what is differentiated outside of the level goes on outside of it. */
function sameAtLevel(tensor: Tensor, level: MapLevel): Tensor {
  const { whole, differs } = outside(tensor, level);
  return mappedTensor(level, whole, differs);
}

/** The gradients of the seeded outputs with respect to `inputs`, undefined where nothing flows. */
export function gradientsOf(
  seeds: readonly Seed[],
  inputs: readonly Tensor[],
  options: { readonly retainGraph: boolean; readonly createGraph?: boolean },
): readonly (Tensor | undefined)[] {
  const flowing = seeds.filter(({ tensor }) => requiresGrad(tensor));
  const createGraph = options.createGraph ?? dependsOnMore(flowing, inputs);
  const { watched } = backwardPass(flowing, inputs, { createGraph, retainGraph: options.retainGraph || createGraph });
  return inputs.map((input) => watched.get(input));
}

/** Whether somebody else wants gradients of what these gradients are computed from. */
export function dependsOnMore(seeds: readonly Seed[], inputs: readonly Tensor[]): boolean {
  if (
    seeds.some(
      ({ tensor, cotangent }) => requiresGrad(cotangent) || dependsOutside(tensor) || dependsOutside(cotangent),
    )
  )
    return true;
  for (const leaf of leavesBehind(seeds.map(({ tensor }) => tensor))) if (!inputs.includes(leaf)) return true;
  return false;
}

/** A result as it leaves a level that nothing outside differentiates: without its history. */
export const released = (tensor: Tensor, keepsHistory: boolean): Tensor =>
  keepsHistory || !requiresGrad(tensor) ? tensor : withoutHistory(tensor);

export const zeroGradient = (tensor: Tensor): Tensor => dispatchOne('zerosLike', [tensor]);
