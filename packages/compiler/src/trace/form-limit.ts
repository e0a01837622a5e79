// How many forms of one function are compiled. In: the forms there are, when a call fits none of them. Out: whether one more
// may be made. Where none may, calls that fit a form that exists are answered by it as before, and others run as they are.
import type { Config } from '@tsinductor/config';

interface Forms {
  /** Of the object whose method is called. */
  readonly ofOwner: number;
  readonly all: number;
}

interface ReachedLimit {
  readonly limit: number;
  /** Whether it is that of all forms together. */
  readonly isOverall: boolean;
}

type Limits = Pick<Config, 'recompileLimit' | 'accumulatedRecompileLimit'>;

export class FormLimit {
  /** No more forms for any object. */
  #isReached = false;
  /** Objects for whose method there are no more forms. */
  #owners = new WeakSet();

  isReachedFor(owner: object | undefined): boolean {
    return this.#isReached || (owner !== undefined && this.#owners.has(owner));
  }

  /** No more forms from now on: of the object's method, or at all. */
  close(owner: object | undefined, { isOverall }: ReachedLimit): void {
    if (isOverall || owner === undefined) this.#isReached = true;
    else this.#owners.add(owner);
  }

  reset(): void {
    this.#isReached = false;
    this.#owners = new WeakSet();
  }
}

/** The limit that forbids one more form; undefined: there is none. */
export function limitReached({ ofOwner, all }: Forms, limits: Limits): ReachedLimit | undefined {
  const { recompileLimit, accumulatedRecompileLimit } = limits;
  if (all >= accumulatedRecompileLimit) return { limit: accumulatedRecompileLimit, isOverall: true };
  return ofOwner >= recompileLimit ? { limit: recompileLimit, isOverall: false } : undefined;
}
