// How a compiled function's calls met with what was compiled for it.
export interface CacheInfo {
  readonly entries: number;
  readonly calls: number;
  readonly hits: number;
  readonly misses: number;
  readonly recompiles: number;
  /** Graphs that a lower tier answers while native code is built in the background, and those that went over to native code. */
  readonly building: number;
  readonly swaps: number;
}
