// The symbolic sizes of a call, by position. In: which sizes a graph has, and the axes of its inputs that show them. Out: their values
// as one list, which stays the same list as long as the sizes do: so what follows from them is computed once for calls that are
// alike, and whoever keeps it need only ask whether the list is another one.
import type { Graph } from '@tsinductor/graph';
import { compileSize } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import type { Tensor } from '@tsinductor/tensor';

export type Sizes = readonly number[];

/** A number that sizes decide. */
export type SizeFunction = (sizes: Sizes) => number;

/** The names of sizes, in the order of their values. */
export const namesOfSizes = (sizes: Graph['sizes']): readonly string[] => sizes.map(({ name }) => name);

export const sizeFunction = (index: Index, names: readonly string[]): SizeFunction => compileSize(index, names);

/** The same, computed once for calls of the same sizes. */
export function keptSizeFunction(index: Index, names: readonly string[]): SizeFunction {
  const of = sizeFunction(index, names);
  if (index.kind === 'int') return of;
  let [met, kept]: [Sizes | undefined, number] = [undefined, 0];
  return (sizes) => {
    if (sizes === met) return kept;
    kept = of(sizes);
    met = sizes;
    return kept;
  };
}

/** Where a list of tensors shows its sizes. */
interface ShownSize {
  readonly position: number;
  readonly axis: number;
}

export class CallSizes {
  readonly #shown: readonly ShownSize[];
  #met: Sizes = [];

  constructor(shown: readonly ShownSize[]) {
    this.#shown = shown;
  }

  static of(sizes: Graph['sizes']): CallSizes {
    return new CallSizes(sizes.map(({ placeholder, axis }) => ({ position: placeholder, axis })));
  }

  in(tensors: readonly Tensor[]): Sizes {
    const met = this.#met;
    let index = 0;
    for (const { position, axis } of this.#shown) {
      if (tensors[position]?.shape[axis] !== met[index]) return (this.#met = this.#read(tensors));
      index += 1;
    }
    return met;
  }

  #read(tensors: readonly Tensor[]): Sizes {
    return this.#shown.map(({ position, axis }) => tensors[position]?.shape[axis] ?? 0);
  }
}
