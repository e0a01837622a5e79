// The values that one graph takes of its frozen inputs, as they are now. In: the inputs of a call. Out: the values, which are
// computed anew where a frozen tensor was written to or replaced: a stale number is never used.
import { at } from '@tsinductor/base';
import type { FoldedValue, FrozenSplit, Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import type { Executable } from '../run/executable.ts';
import { asOfNow, isUnchanged, isWatched } from './folded-store.ts';
import type { FoldedStore, Source } from './folded-store.ts';

/** What has to be computed before a call. */
export interface PendingFold {
  readonly graph: Graph;
  /** Its inputs in this call. */
  readonly examples: readonly Tensor[];
  /** Takes what was computed. */
  readonly fill: (results: readonly Tensor[]) => void;
}

export class FoldedValues {
  readonly #split: FrozenSplit;
  readonly #store: FoldedStore;
  /** Frozen inputs that values are made of. */
  readonly #positions: readonly number[];
  #sources: readonly Source[] | undefined;
  #values: readonly Tensor[] = [];

  constructor(split: FrozenSplit, store: FoldedStore) {
    this.#split = split;
    this.#store = store;
    this.#positions = [...new Set(split.folded.flatMap(({ inputs }) => inputs))];
  }

  /** Those of a call for which nothing is pending. */
  get values(): readonly Tensor[] {
    return this.#values;
  }

  /** Whether the values are those of these inputs. */
  holdFor(inputs: readonly Tensor[]): boolean {
    const sources = this.#sources;
    if (sources === undefined) return false;
    for (let index = 0; index < sources.length; index += 1) {
      const source = at(sources, index);
      if (inputs[at(this.#positions, index)] !== source.tensor || !isUnchanged(source)) return false;
    }
    return true;
  }

  /** Takes what is known; gives what has to be computed, if anything. */
  pending(inputs: readonly Tensor[]): PendingFold | undefined {
    const tensorsOf = (value: FoldedValue): readonly Tensor[] => value.inputs.map((position) => at(inputs, position));
    const { folded } = this.#split;
    const known = folded.map((value) => {
      const tensors = tensorsOf(value);
      return tensors.every(isWatched) ? this.#store.find(value.key, tensors) : undefined;
    });
    const missing = [...folded.keys()].filter((position) => known[position] === undefined);
    const set = (results: readonly Tensor[]): void => {
      let next = 0;
      this.#values = known.map((value) => value ?? at(results, next++));
      const tensors = this.#positions.map((position) => at(inputs, position));
      this.#sources = tensors.every(isWatched) ? tensors.map(asOfNow) : undefined;
    };
    if (missing.length === 0) {
      set([]);
      return undefined;
    }
    const { graph, inputs: positions } = this.#split.fold(missing);
    const fill = (results: readonly Tensor[]): void => {
      missing.forEach((position, index) => {
        const value = at(folded, position);
        const tensors = tensorsOf(value);
        if (tensors.every(isWatched)) this.#store.keep(value.key, tensors.map(asOfNow), at(results, index));
      });
      set(results);
    };
    return { graph, examples: positions.map((position) => at(inputs, position)), fill };
  }
}

/** Computes what is pending by what is compiled for it. */
export function compute({ examples, fill }: PendingFold, executable: Executable): void {
  fill(executable.run([...examples]));
}
