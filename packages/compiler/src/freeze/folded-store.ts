// Values that were computed once of frozen tensors, for every compiled function and every form of it: panels of a weight exist
// once, however many graphs multiply by it. They are kept as long as the tensors that they are made of are.
import { at } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';
import type { Storage } from '@tsinductor/tensor/internal';

/** A tensor, its memory, and how often that had been written to, when a value was made of it. */
export interface Source {
  readonly tensor: Tensor;
  readonly storage: Storage | undefined;
  readonly writes: number;
}

interface Entry {
  readonly sources: readonly Source[];
  readonly value: Tensor;
}

export class FoldedStore {
  /** By the first tensor that a value is made of, and what is computed. */
  readonly #entries = new WeakMap<Tensor, Map<string, Entry>>();

  find(key: string, tensors: readonly Tensor[]): Tensor | undefined {
    const entry = this.#entries.get(at(tensors, 0))?.get(key);
    const isAsItWas = entry?.sources.every(
      (source, position) => source.tensor === tensors[position] && isUnchanged(source),
    );
    return isAsItWas === true ? entry?.value : undefined;
  }

  /** Takes the value over. */
  keep(key: string, sources: readonly Source[], value: Tensor): void {
    const { tensor } = at(sources, 0);
    const entries = this.#entries.get(tensor) ?? new Map<string, Entry>();
    this.#entries.set(tensor, entries.set(key, { sources, value }));
  }
}

export function asOfNow(tensor: Tensor): Source {
  const storage = storageOf(tensor);
  return { tensor, storage, writes: storage?.writes ?? 0 };
}

/** Whether the elements are those of which a value was made. Those of a tensor that was disposed since are gone, and so unchanged. */
export const isUnchanged = ({ tensor, storage, writes }: Source): boolean =>
  tensor.isDisposed || (storage !== undefined && storage === storageOf(tensor) && storage.writes === writes);

/** Whether every write to the elements is counted: not in the memory of a program's own typed array. */
export const isWatched = (tensor: Tensor): boolean => tensor.isDisposed || storageOf(tensor)?.isShared === false;

const storageOf = ({ backing }: Tensor): Storage | undefined =>
  backing.kind === 'placed' ? backing.storage : undefined;
