// The memory traffic of a region, as data: what is prefetched, and how results are written. The writers read it, and decide nothing.
import type { Axis, BufferId, Index, LoopTree } from '@tsinductor/ir';
import type { PartPlan } from '../plan/region.ts';
import type { FoldTraffic } from './folds.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import type { Decided } from './rule.ts';

export interface RegionTraffic extends Decided {
  /** What each vector of an innermost tree prefetches. */
  readonly prefetches: ReadonlyMap<LoopTree, readonly PlannedPrefetch[]>;
  /** What each vector of a part of the lanes' axis prefetches besides, and what is prefetched before its loop. */
  readonly parts: ReadonlyMap<PartPlan, PartTraffic>;
  /** What blocks of columns prefetch of the next rows in the order of memory; undefined where they prefetch as any innermost tree. */
  readonly nextRows: readonly PlannedPrefetch[] | undefined;
  readonly tiles: TileTraffic;
  /** How innermost trees whose lanes are points of a reduced axis read memory. */
  readonly folds: ReadonlyMap<LoopTree, FoldTraffic>;
  /** How whole vectors of results are written that are not written as anything else. */
  readonly results: ReadonlyMap<BufferId, ResultWrite>;
}

export interface PartTraffic {
  readonly prefetches: readonly PlannedPrefetch[];
  readonly bursts: readonly RowBurst[];
}

/** Rows of one buffer, one after another in memory, that a turn of the loop over `down` reads. */
export interface RowGroup {
  readonly buffer: BufferId;
  /** Where it begins, and its elements. */
  readonly start: Index;
  readonly elements: number;
  readonly down: Axis;
}

/** Groups of as many turns, prefetched at once at the first of them. */
export interface RowBurst extends RowGroup {
  readonly turns: number;
  readonly into: PlannedPrefetch['into'];
}

/** What a tile prefetches that a later one reads or writes. */
export interface TileTraffic {
  /** Lanes of transposed accesses, `tiles` tiles later. */
  readonly transposed: readonly PlannedPrefetch[];
  /** Points of the other loads. */
  readonly straight: readonly PlannedPrefetch[];
  /** Transposed accesses whose next rows, as many as there are lanes, are prefetched in the order of memory. */
  readonly inOrder: readonly PlannedPrefetch[];
  readonly tiles: number;
  /** How many rows of tiles later what is prefetched in order is read. */
  readonly rows: number;
  /** After how many points across the grain tiles go on at the start, among the next lanes, where that is soon. */
  readonly round?: number;
}

export const noTileTraffic: TileTraffic = { transposed: [], straight: [], inOrder: [], tiles: 0, rows: 0 };

export type ResultWrite =
  /** By stores into lines that were prefetched, `distance` bytes ahead. */
  | { readonly kind: 'prefetched'; readonly distance: number }
  /** By non-temporal stores of at least so many bytes, where they are aligned and whole. */
  | { readonly kind: 'non-temporal'; readonly leastBytes: number };

export const noTraffic: RegionTraffic = {
  prefetches: new Map(),
  parts: new Map(),
  nextRows: undefined,
  tiles: noTileTraffic,
  folds: new Map(),
  results: new Map(),
  decisions: [],
};

/** With what an innermost tree prefetches besides. */
export function withPrefetches(
  traffic: RegionTraffic,
  leaf: LoopTree,
  added: readonly PlannedPrefetch[],
): RegionTraffic {
  if (added.length === 0) return traffic;
  const prefetches = new Map(traffic.prefetches);
  return { ...traffic, prefetches: prefetches.set(leaf, [...(prefetches.get(leaf) ?? []), ...added]) };
}
