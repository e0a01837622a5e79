// Recording operators for gradients. In: a call that was made, and its results. Out: results that know the call, if one of its
// tensors asks for a gradient. What is saved are the operands alone: what the gradient needs of the result it computes again,
// which a compiler that sees both finds to be the same.
import { isFloat } from '@tsinductor/base';
import { isTensorParameter } from '@tsinductor/graph';
import { mayAlias } from '../alias.ts';
import type { BoundCall } from '../bound-call.ts';
import { inPlaceLeaf, inPlaceView, writeIntoUntracked } from './errors.ts';
import { dependsOutside } from '../mapping/level.ts';
import { processState } from '../process-state.ts';
import type { Tensor } from '../tensor.ts';
import { CallNode } from './call-node.ts';
import { newGradientState } from './gradient-state.ts';
import type { Edge } from './gradient-state.ts';

/** Whether operators on such tensors are recorded now. */
export const isTracking = (): boolean => processState.gradients.isUsed && processState.gradients.isEnabled;

export const requiresGrad = (tensor: Tensor): boolean => tensor.gradient?.requiresGrad === true;

/** Whether what is made of one of the tensors is recorded now. */
export const isTracked = (tensors: readonly Tensor[]): boolean =>
  isTracking() && tensors.some((tensor) => requiresGrad(tensor) || dependsOutside(tensor));

/** Runs `work`, which records gradients or sends them to leaves; what it meets has its memory, where it is recorded segment by segment. */
export function recordingGradients<T>(work: () => T): T {
  const { recorder } = processState;
  return recorder?.tracked === undefined ? work() : recorder.tracked(work);
}

/** Where a cotangent of the tensor goes. */
export function edgeOf(tensor: Tensor): Edge | undefined {
  const state = tensor.gradient;
  if (state?.requiresGrad !== true) return undefined;
  return state.history ?? { kind: 'leaf', tensor: state.copyOf ?? tensor };
}

/** The number of the next node. */
export const nextOrder = (): number => (processState.gradients.nodes += 1);

/** `isSeen` says of which of its tensors the gradients are recorded. */
export function recordGradient(
  call: BoundCall,
  results: readonly Tensor[],
  isSeen: (tensor: Tensor) => boolean = () => true,
): void {
  const { tensors, operator } = call;
  const edges = tensors.map((tensor) => (isSeen(tensor) ? edgeOf(tensor) : undefined));
  if (edges.every((edge) => edge === undefined) || isConstant(operator)) return;
  const made = results.filter((result) => isFloat(result.dtype) && !tensors.includes(result));
  if (made.length === 0) return;
  const node = new CallNode(call, edges, { order: nextOrder(), results });
  const shares = mayAlias(operator);
  if (shares) for (const tensor of tensors) if (tensor.gradient !== undefined) tensor.gradient.sharesHistory = true;
  results.forEach((result, position) => {
    if (!made.includes(result)) return;
    result.gradient = {
      ...newGradientState(),
      requiresGrad: true,
      history: { kind: 'result', node, result: position },
      sharesHistory: shares,
    };
  });
}

/** What gives the same whatever its tensors hold: zerosLike, and what was detached. */
const isConstant = ({ name, kind, parameters }: BoundCall['operator']): boolean =>
  name === 'detach' || kind === 'creation' || !parameters.some(isTensorParameter);

/** Before a write: refuses what would make gradients wrong. */
export function checkWrite(target: Tensor, value: Tensor, operation: string): void {
  if (!isTracking()) return;
  const { requiresGrad: isTracked, history, sharesHistory } = target.gradient ?? newGradientState();
  if (isTracked && history === undefined) throw inPlaceLeaf(operation);
  if (!isTracked && !requiresGrad(value)) return;
  if (sharesHistory) throw inPlaceView(operation);
  if (!isTracked && !isAlone(target)) throw writeIntoUntracked(operation);
}

/** Whether no other tensor shows the memory, as far as that is known. */
const isAlone = ({ backing }: Tensor): boolean =>
  backing.kind === 'mapped' ? isAlone(backing.whole) : backing.kind === 'placed' && backing.storage.hasOneOwner;

/** After a write of all elements: the target is what the value is. */
export function recordWrite(target: Tensor, value: Tensor): void {
  if (!isTracking()) return;
  const history = value.gradient?.requiresGrad === true ? value.gradient.history : undefined;
  if (history === undefined && value.gradient?.requiresGrad !== true) {
    if (target.gradient?.requiresGrad === true) target.gradient = newGradientState();
    return;
  }
  const kept = target.gradient ?? newGradientState();
  target.gradient = { ...kept, requiresGrad: true, history };
}
