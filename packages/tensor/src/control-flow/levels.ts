// Loops and branches under vmap, recorded: what their bodies do for one sample becomes what they do for all. A body runs on tensors at
// the level; what it is recorded as are operators on the whole tensors behind them.
import type { Tensor } from '../tensor.ts';
import { mappedOf, mappedTensor, outside } from '../mapping/level.ts';
import type { MapLevel } from '../mapping/level.ts';
import { movedAxis, repeated } from '../mapping/whole.ts';

/** Which values of a loop differ from sample to sample: found step by step, as what differs makes others differ. */
export class Differing {
  readonly level: MapLevel;
  readonly #differs: boolean[];
  /** How many were found to differ. */
  #count = 0;

  constructor(level: MapLevel, tensors: readonly Tensor[]) {
    this.level = level;
    this.#differs = tensors.map((tensor) => outside(tensor, level).differs);
  }

  /** The tensors at the level, of whole ones. */
  enter(wholes: readonly Tensor[]): readonly Tensor[] {
    return wholes.map((whole, position) =>
      this.#differs[position] === true ? mappedTensor(this.level, whole, true) : whole,
    );
  }

  /** The whole tensors, all of the form that was found. */
  leave(tensors: readonly Tensor[]): readonly Tensor[] {
    return tensors.map((tensor, position) => {
      const { whole, differs } = outside(tensor, this.level);
      if (differs && this.#differs[position] !== true) this.differ(position);
      return this.#differs[position] === true && !differs ? repeated(whole, this.level) : whole;
    });
  }

  differ(position: number): void {
    if (this.#differs[position] === true) return;
    this.#differs[position] = true;
    this.#count += 1;
  }

  /** Runs `work` until nothing more is found to differ. */
  settle(work: () => void): void {
    for (let known = -1; known !== this.#count;) {
      known = this.#count;
      work();
    }
  }
}

/** What stands behind a tensor at levels of vmap where it is the same for every sample. */
export function unmapped(tensor: Tensor): Tensor {
  const mapped = mappedOf(tensor);
  return mapped === undefined || mapped.differs ? tensor : unmapped(mapped.whole);
}

/** Rows at the level, as whole tensors with the rows along their first axis: samples come second. */
export function wholeRows(tensors: readonly Tensor[], level: MapLevel): readonly Tensor[] {
  return tensors.map((tensor) => {
    const { whole, differs } = outside(tensor, level);
    return differs ? movedAxis(whole, 1, 0) : whole;
  });
}

/** The same back: results of a loop, of which those differ that `differs` says. */
export const rowsAtLevel = (
  wholes: readonly Tensor[],
  level: MapLevel,
  differs: readonly boolean[],
): readonly Tensor[] =>
  wholes.map((whole, position) =>
    differs[position] === true ? mappedTensor(level, movedAxis(whole, 0, 1), true) : whole,
  );
