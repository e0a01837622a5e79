// What is asked of a session: a graph that was traced, and how it is to run.
import type { ConfigPatch } from '@tsinductor/config';
import type { Graph } from '@tsinductor/graph';
import type { Tensor } from '@tsinductor/tensor';
import type { CacheTally } from './build/cache-tally.ts';
import type { Placement } from '@tsinductor/tensor/internal';
import type { Mode } from './mode.ts';
import type { Backend } from './options.ts';

/** A graph as traced, and the same in primitives. */
export interface TracedGraph {
  readonly graph: Graph;
  readonly primitives: Graph;
}

export interface PrepareRequest {
  readonly name: string;
  readonly backend: Backend;
  readonly examples: readonly Tensor[];
  readonly patch?: ConfigPatch;
  readonly mode?: Mode;
  /** Nobody waits for native code: a lower tier answers until it is built. */
  readonly isBackground?: boolean;
  /** Positions of inputs that are no arguments of the function: under `freezing`, what is made of them alone is made once. */
  readonly frozen?: ReadonlySet<number>;
  /** Where the graph runs, and where its outputs are to be. */
  readonly placement: Placement;
  /** Told whether the graph was found or built. */
  readonly tally?: CacheTally;
}
