// Values that were computed once of frozen tensors, for every compiled function and every form of it: panels of a weight exist
// once, however many graphs multiply by it. They are kept as long as the tensors that they are made of are.
import { at } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';

/** A tensor and how often its memory had been written to when a value was made of it. */
export interface Source {
  readonly tensor: Tensor;
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

export const asOfNow = (tensor: Tensor): Source => ({ tensor, writes: writesOf(tensor) ?? 0 });

/** Whether the elements are those of which a value was made. Those of a tensor that was given back are gone, and so unchanged. */
export const isUnchanged = ({ tensor, writes }: Source): boolean => {
  const now = writesOf(tensor);
  return now === undefined || now === writes;
};

/** Whether a program can change the elements without anyone knowing: the memory of a typed array of its own. */
export const isWatched = ({ backing }: Tensor): boolean => backing.kind !== 'placed' || !backing.storage.isShared;

const writesOf = ({ backing }: Tensor): number | undefined =>
  backing.kind === 'placed' ? backing.storage.writes : undefined;
