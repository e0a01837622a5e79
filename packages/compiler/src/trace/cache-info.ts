// How a compiled function's calls met with what was compiled for it.
import type { CacheCounts } from '../build/cache-tally.ts';

export interface CacheInfo extends CacheCounts {
  readonly entries: number;
  readonly calls: number;
  readonly hits: number;
  readonly misses: number;
  readonly recompiles: number;
  /** Graphs that a lower tier answers while native code is built in the background, and those that went over to native code. */
  readonly building: number;
  readonly swaps: number;
}
