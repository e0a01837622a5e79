// The learning rate goes down when a measured number no longer gets better. As torch.optim.lr_scheduler.ReduceLROnPlateau.
import { badHyperparameter } from './errors.ts';
import { setRate } from './optimizer.ts';
import type { Rated } from './optimizer.ts';
import { isCount, isNumber, savedValue } from './saved-values.ts';

export interface PlateauOptions {
  /** Whether smaller is better, or larger. Default: min. */
  readonly mode?: 'min' | 'max';
  /** What the learning rate is multiplied by. Default: 0.1. */
  readonly factor?: number;
  /** For how many epochs without anything better it stays. Default: 10. */
  readonly patience?: number;
  /** By what part of the best a number must be better to count. Default: 1e-4. */
  readonly threshold?: number;
  /** How many epochs after a change are not counted. Default: 0. */
  readonly cooldown?: number;
  readonly minLr?: number;
}

/** What is needed to go on. */
interface PlateauState {
  readonly best: number;
  readonly waited: number;
  readonly cooling: number;
}

export class ReduceOnPlateau {
  readonly #optimizer: Rated;
  readonly #options: Required<PlateauOptions>;
  #best: number;
  #waited = 0;
  #cooling = 0;

  constructor(optimizer: Rated, options: PlateauOptions = {}) {
    this.#optimizer = optimizer;
    const all = { mode: 'min', factor: 0.1, patience: 10, threshold: 1e-4, cooldown: 0, minLr: 0, ...options } as const;
    if (!(all.factor > 0 && all.factor < 1)) throw badHyperparameter('factor', all.factor, 'a number between 0 and 1');
    this.#options = all;
    this.#best = all.mode === 'min' ? Infinity : -Infinity;
  }

  /** Takes the number of one more epoch. */
  step(measured: number): void {
    const { patience, cooldown, factor, minLr } = this.#options;
    if (this.#isBetter(measured)) {
      this.#best = measured;
      this.#waited = 0;
    } else this.#waited += 1;
    if (this.#cooling > 0) {
      this.#cooling -= 1;
      this.#waited = 0;
    }
    if (this.#waited <= patience) return;
    for (const group of this.#optimizer.groups) setRate(group, Math.max(minLr, group.lr * factor));
    this.#cooling = cooldown;
    this.#waited = 0;
  }

  stateDict(): PlateauState {
    return { best: this.#best, waited: this.#waited, cooling: this.#cooling };
  }

  /** @throws UserError OPTIM_STATE, having changed nothing */
  loadStateDict(state: PlateauState): void {
    const best = savedValue(state, 'best', isNumber);
    const [waited, cooling] = [savedValue(state, 'waited', isCount), savedValue(state, 'cooling', isCount)];
    this.#best = best;
    this.#waited = waited;
    this.#cooling = cooling;
  }

  #isBetter(measured: number): boolean {
    const { mode, threshold } = this.#options;
    return mode === 'min' ? measured < this.#best * (1 - threshold) : measured > this.#best * (1 + threshold);
  }
}
