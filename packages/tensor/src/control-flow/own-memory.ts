// Results of loops and branches that the program runs itself. In a graph they are values: memory of their own, that a write to something
// else does not change. So they are here, where a function may give what it was passed, or a tensor from outside, as it is.
import { dispatchOne } from '../dispatch.ts';
import { processState } from '../process-state.ts';
import { registryOf } from '../storage.ts';
import type { Storage } from '../storage.ts';
import type { Tensor } from '../tensor.ts';

/** What a loop or a branch makes from now on is its own. */
export class OwnMemory {
  /** Where operators are recorded, what is computed later may be of a tensor that was there before. */
  readonly #before = processState.recorder === undefined ? registryOf().made : Infinity;

  /** The tensors, with copies of those that lie in memory that is older, or that one before them lies in. */
  apart(tensors: readonly Tensor[]): readonly Tensor[] {
    const taken = new Set<Storage>();
    return tensors.map((tensor) => {
      const own = this.copied(tensor);
      const storage = storageOf(own);
      if (storage !== undefined && taken.has(storage)) return dispatchOne('clone', [own]);
      if (storage !== undefined) taken.add(storage);
      return own;
    });
  }

  /** The tensor, or a copy where its memory is older. */
  copied(tensor: Tensor): Tensor {
    const storage = storageOf(tensor);
    return storage !== undefined && storage.order >= this.#before ? tensor : dispatchOne('clone', [tensor]);
  }
}

/** Undefined for what has no memory yet. */
function storageOf({ backing }: Tensor): Storage | undefined {
  if (backing.kind === 'mapped') return storageOf(backing.whole);
  return backing.kind === 'placed' ? backing.storage : undefined;
}
