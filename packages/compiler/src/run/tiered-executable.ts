// A graph in two tiers: the lower one answers calls from the first on, while native code is built beside them, and the first call that
// finds that done goes to it, as do all after it. In: the lower one, and what is being built. Out: one Executable, which tells how far
// it has come.
//
// Nobody tells it that the code is there: each call looks, so that a loop in which the event loop never turns changes over too.
import type { Tensor } from '@tsinductor/tensor';
import type { Pending } from '../build/pending.ts';
import type { Executable, LoopCall, Tiers, TierState } from './executable.ts';

/** What became of building: what runs the graph from now on. */
export interface BuildOutcome {
  readonly executable: Executable;
  readonly tier: 'native' | 'lower';
  /** Throws, to who waits for native code, why there is none; not where the settings suppress that. */
  readonly fail?: () => never;
}

export class TieredExecutable implements Executable {
  readonly borrowsInputs = true;
  readonly tiers: Tiers;
  #current: Executable;
  /** Undefined when nothing is built any more. */
  #building: Pending<BuildOutcome> | undefined;
  /** Calls that were answered meanwhile. */
  #calls = 0;
  #tier: BuildOutcome['tier'] = 'lower';
  #fail: BuildOutcome['fail'];

  /** `lower` runs at once; `building` does not throw. */
  constructor(lower: Executable, building: Pending<BuildOutcome>) {
    this.#current = lower;
    this.#building = building;
    this.tiers = {
      state: () => {
        this.#look(building.poll());
        return this.#building === undefined ? this.#tier : 'building';
      },
      wait: () => {
        this.#look(building.wait());
        this.#fail?.();
      },
      settled: async () => {
        await building.settled();
        this.#look(building.poll());
        this.#fail?.();
      },
    };
  }

  get report(): Executable['report'] {
    return { ...this.#current.report, tiers: { state: this.tiers.state(), calls: this.#calls } };
  }

  run(inputs: readonly Tensor[]): Tensor[] {
    if (this.#building !== undefined) {
      this.#look(this.#building.poll());
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- looking may have changed it
      if (this.#building !== undefined) this.#calls += 1;
    }
    const current = this.#current;
    return current.run(current.borrowsInputs === true ? inputs : [...inputs]);
  }

  /** What native loops call, as soon as there is native code. */
  loopCall(inputs: readonly Tensor[]): LoopCall | undefined {
    if (this.#building !== undefined) this.#look(this.#building.poll());
    return this.#current.loopCall?.(inputs);
  }

  #look(outcome: BuildOutcome | undefined): void {
    if (outcome === undefined || this.#building === undefined) return;
    this.#current = outcome.executable;
    this.#tier = outcome.tier;
    this.#fail = outcome.fail;
    this.#building = undefined;
  }
}

/** How far graphs that run in turn have come, where some of them have tiers. */
export function jointTiers(executables: readonly Executable[]): Tiers | undefined {
  const all = executables.flatMap(({ tiers }) => tiers ?? []);
  if (all.length === 0) return undefined;
  return {
    state: () => jointState(all.map((tiers) => tiers.state())),
    wait: () => {
      for (const tiers of all) tiers.wait();
    },
    settled: async () => {
      await Promise.all(all.map((tiers) => tiers.settled()));
    },
  };
}

/** How many graphs are being built, and how many have gone over to native code. */
export function countTiers(executables: readonly Executable[]): { readonly building: number; readonly swaps: number } {
  const states = executables.flatMap(({ tiers }) => tiers?.state() ?? []);
  const count = (wanted: TierState): number => states.filter((state) => state === wanted).length;
  return { building: count('building'), swaps: count('native') };
}

/** The state of several together: that of the one which is furthest from native code. */
export const jointState = (states: readonly TierState[]): TierState =>
  (['building', 'lower'] as const).find((state) => states.includes(state)) ?? 'native';
