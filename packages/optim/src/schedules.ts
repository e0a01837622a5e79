// Schedules of the learning rate: what it is after so many epochs (or steps), in closed form, as a factor of what it was at first. As
// torch.optim.lr_scheduler.
import { badHyperparameter } from './errors.ts';
import { setRate } from './optimizer.ts';
import type { Rated } from './optimizer.ts';
import { areRates, isCount, savedValue } from './saved-values.ts';

/** The factor after `epoch` calls of step(). */
export type RateFactor = (epoch: number) => number;

/** What a schedule needs to go on. */
export interface ScheduleState {
  readonly epoch: number;
  readonly bases: readonly number[];
}

/** Sets the learning rate of an optimiser by a factor of what it was when the schedule was made. */
export class Schedule {
  readonly #optimizer: Rated;
  readonly #factor: RateFactor;
  #bases: readonly number[];
  #epoch = 0;

  /** `factor` gives 1 for the learning rate that the optimiser has now. */
  constructor(optimizer: Rated, factor: RateFactor) {
    this.#optimizer = optimizer;
    this.#factor = factor;
    this.#bases = this.#optimizer.groups.map(({ lr }) => lr);
    this.#apply();
  }

  /** How often step() was called. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Goes on to the next epoch. */
  step(): void {
    this.#epoch += 1;
    this.#apply();
  }

  stateDict(): ScheduleState {
    return { epoch: this.#epoch, bases: this.#bases };
  }

  /** @throws UserError OPTIM_STATE, having changed nothing */
  loadStateDict(state: ScheduleState): void {
    const epoch = savedValue(state, 'epoch', isCount);
    this.#bases = savedValue(state, 'bases', areRates(this.#optimizer.groups.length));
    this.#epoch = epoch;
    this.#apply();
  }

  #apply(): void {
    const factor = this.#factor(this.#epoch);
    this.#optimizer.groups.forEach((group, index) => {
      setRate(group, (this.#bases[index] ?? group.lr) * factor);
    });
  }
}

function requireAtLeast(name: string, value: number, least: number): void {
  if (!(value >= least)) throw badHyperparameter(name, value, `a number of at least ${String(least)}`);
}

/** Times `gamma` after every `size` epochs. As StepLR. */
export function stepDecay(size: number, gamma = 0.1): RateFactor {
  requireAtLeast('size', size, 1);
  return (epoch) => gamma ** Math.floor(epoch / size);
}

/** Times `gamma` at each of the milestones. As MultiStepLR. */
export const multiStepDecay =
  (milestones: readonly number[], gamma = 0.1): RateFactor =>
  (epoch) =>
    gamma ** milestones.filter((milestone) => milestone <= epoch).length;

/** Times `gamma` at every epoch. As ExponentialLR. */
export const exponentialDecay =
  (gamma: number): RateFactor =>
  (epoch) =>
    gamma ** epoch;

/** From `start` to `end` in equal parts over so many epochs, and `end` ever after: a warm-up. As LinearLR. */
export function linear(epochs: number, { start = 1 / 3, end = 1 }: { start?: number; end?: number } = {}): RateFactor {
  requireAtLeast('epochs', epochs, 1);
  return (epoch) => start + (end - start) * Math.min(1, epoch / epochs);
}

/** Half a cosine from 1 to `least`, and back, over so many epochs each. As CosineAnnealingLR. */
export function cosine(epochs: number, least = 0): RateFactor {
  requireAtLeast('epochs', epochs, 1);
  return (epoch) => least + ((1 - least) * (1 + Math.cos((Math.PI * epoch) / epochs))) / 2;
}

/** One schedule until the milestone, and then the next, which begins anew. As SequentialLR. */
export const sequence =
  (first: RateFactor, milestone: number, second: RateFactor): RateFactor =>
  (epoch) =>
    epoch < milestone ? first(epoch) : second(epoch - milestone);

/** Up along a cosine from 1/25 to 1 over the first part of all steps, and down to almost nothing. As OneCycleLR, without momentum. */
export function oneCycle(steps: number, up = 0.3): RateFactor {
  requireAtLeast('steps', steps, 2);
  const top = up * steps - 1;
  const between = (from: number, to: number, part: number): number =>
    to + ((from - to) * (1 + Math.cos(Math.PI * part))) / 2;
  return (step) =>
    step <= top
      ? between(1 / 25, 1, step / top)
      : between(1, 1 / 25 / 1e4, Math.min(1, (step - top) / (steps - 1 - top)));
}
