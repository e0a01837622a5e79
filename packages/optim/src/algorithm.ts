// What an algorithm of optimisation is: what it keeps for each parameter, and what one step does. Steps are written in place, in terms of
// tensors alone (the learning rate and the number of steps are tensors of one number): so a step is the same program at any time,
// and compiled code serves all of them.
import { invariant } from '@tsinductor/base';
import type { Tensor } from '@tsinductor/tensor';

/** Options that every optimiser has. */
export interface CommonOptions {
  /** The learning rate. */
  readonly lr: number;
  /** Go up the gradient instead of down. Default: false. */
  readonly maximize?: boolean;
}

/** A parameter at a step. */
export interface Site {
  readonly param: Tensor;
  readonly gradient: Tensor;
  /** What the algorithm keeps for the parameter, by name; has the parameter's shape. */
  readonly state: Readonly<Record<string, Tensor>>;
  /** f64 of no dims. */
  readonly lr: Tensor;
  /** How many steps the parameter has made, this one included: f64 of no dims. */
  readonly step: Tensor;
}

export interface Algorithm<Options extends CommonOptions> {
  readonly name: string;
  readonly defaults: Required<Options>;
  /** For each option the condition that its value must meet, in words, and as a test. */
  readonly checks: Readonly<Partial<Record<keyof Options & string, Check>>>;
  /** Names of what is kept for a parameter, in PyTorch's words, and the number that each is at first. */
  state(options: Required<Options>): Readonly<Record<string, number>>;
  /** Writes to the parameter and its state. */
  update(site: Site, options: Required<Options>): void;
}

interface Check {
  readonly allowed: string;
  readonly accepts: (value: never) => boolean;
}

export const atLeastZero: Check = { allowed: 'a number of at least 0', accepts: (value: number) => value >= 0 };
export const decays: Check = {
  allowed: 'two numbers of at least 0 and below 1',
  accepts: (value: readonly number[]) => value.length === 2 && value.every((beta) => beta >= 0 && beta < 1),
};

/** What a state is called by, which the algorithm itself has named. */
export function kept({ state }: Site, name: string): Tensor {
  const tensor = state[name];
  invariant(tensor !== undefined, `a state ${name} that was not declared`);
  return tensor;
}
