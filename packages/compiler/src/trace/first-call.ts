// The sizes of a call that ran as it was, so that the next one shows which of them change. In: the arguments of both. Out:
// the tensors whose sizes alone differ, by their paths. Tensors that only the function reads off its arguments (of class
// instances) are not among them: their sizes show when they are compiled a second time.
import { isTsInductorError } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import { explainFailure, firstSlot, readKey } from './guard.ts';
import type { CallScope, GuardFailure, GuardNode, TensorGuard } from './guard.ts';
import { observe } from './observe.ts';

export class FirstCall {
  readonly #nodes: readonly GuardNode[];

  constructor(scope: CallScope) {
    this.#nodes = nodesOf(scope);
  }

  /** The tensors of a further call whose sizes differ, and nothing else of them. */
  changes(scope: CallScope): readonly GuardFailure[] {
    const slots: unknown[] = [scope];
    const changes: GuardFailure[] = [];
    this.#nodes.forEach((node, index) => {
      const parent = slots[node.parent];
      const isThere = typeof parent === 'object' && parent !== null;
      slots[firstSlot + index] = isThere ? readKey(parent, node.key) : undefined;
      if (!isThere || node.expect.kind !== 'tensor') return;
      const failure = explainFailure(node, slots);
      if (failure.sizes !== undefined) changes.push(failure);
    });
    return changes;
  }
}

function nodesOf(scope: CallScope): readonly GuardNode[] {
  const guardOf = ({ dtype, device, shape }: Tensor): TensorGuard => ({ dtype, device, shape, strides: 'contiguous' });
  try {
    const standIn = (tensor: Tensor): Tensor => tensor;
    const observation = observe(scope, {
      usesThis: true,
      guardOf,
      asItIs: guardOf,
      standIn,
      isTrusted: () => true,
      isVariable: () => false,
      isReadByFollowed: () => false,
      shown: (_, value) => value,
    });
    return observation.guards().nodes;
  } catch (error) {
    // What cannot be an argument of a graph is found again, and reported, when the function is traced.
    if (isTsInductorError(error)) return [];
    throw error;
  }
}
