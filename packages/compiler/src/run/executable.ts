// What a compiled graph becomes: something that takes the graph's inputs and gives its outputs.
import type { Bridge, EntryId } from '@tsinductor/runtime';
import type { Tensor } from '@tsinductor/tensor';
import type { GraphReport } from '../report.ts';

export interface Executable {
  /** Inputs in the order of the graph's placeholders. Mutated inputs hold their new values afterwards. */
  run(inputs: readonly Tensor[]): Tensor[];
  /** Whether `run` is done with the list itself when it returns, and calls nobody meanwhile who could fill it anew. */
  readonly borrowsInputs?: boolean;
  /** What native loops call, for inputs such as these; absent, or undefined, where each run goes through JavaScript. */
  loopCall?(inputs: readonly Tensor[]): LoopCall | undefined;
  readonly report: Omit<GraphReport, 'guards'>;
  /** Where native code is built beside the calls. */
  readonly tiers?: Tiers;
}

/** A compiled graph as a loop of the bridge calls it. */
export interface LoopCall {
  readonly bridge: Bridge;
  readonly entry: EntryId;
  readonly threads: number;
  /** Addresses of the inputs, outputs from `outputsAt` on, of what the code keeps; then sizes. The caller's own. */
  readonly table: Float64Array;
  readonly counts: { readonly buffers: number; readonly sizes: number };
  readonly outputsAt: number;
  readonly makeOutputs: () => readonly Tensor[];
}

/** Which tier answers: the lower one while native code is built, native code, or the lower one for good. */
export type TierState = 'building' | 'native' | 'lower';

export interface Tiers {
  state(): TierState;
  /** Blocks until nothing is built any more. Throws what building threw. */
  wait(): void;
  /** The same without blocking. */
  settled(): Promise<void>;
}
