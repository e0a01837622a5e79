// What tiles prefetch before they or a later one read or write it (see plan/tiles.ts). In: the tiles of a region. Out: what is
// prefetched, and how far ahead.
//
// A tile touches one line in each of as many rows as there are lanes. Where a hardware prefetcher follows lines in the order of their
// addresses alone, the next row of tiles is prefetched in that order: each tile prefetches as many lines of it as it reads itself, one
// after the other, so that memory is read in sequences as long as a row of tiles. Else a tile prefetches the lines of the one some
// tiles later.
import { hasIndirect } from '@tsinductor/codegen';
import type { TileAccess } from '@tsinductor/codegen';
import { memoryBound } from '../../machine/measure.ts';
import { isNonTemporal } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { isLoadOfMemory, pointsOfRound, rowsOfTilesAhead, unitRows } from '../plan/tiles.ts';
import type { TilePlan } from '../plan/tiles.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { prefetchesResults } from './results.ts';
import { namesOf } from './rule.ts';
import type { TrafficRule } from './rule.ts';
import { noTileTraffic } from './traffic.ts';
import type { RegionTraffic, TileTraffic } from './traffic.ts';

export const tilesRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'tiles',
  doc: 'a tile touches a line in each of as many rows as there are lanes, too many for the hardware prefetcher',
  measure: [
    ...memoryBound('in memory', 'a.T + b', 'transpose', 'permute [a,b,c] to [c,a,b]'),
    ...memoryBound('in L3', 'NCHW to NHWC'),
  ],
  applies: (_, { tiles }) => tiles !== undefined,
  plan: (planning, region, traffic) => {
    const { tiles } = region;
    const planned = tiles === undefined ? noTileTraffic : tileTraffic(planning, tiles);
    const buffers = [...planned.transposed, ...planned.straight, ...planned.inOrder].map(({ buffer }) => buffer);
    if (buffers.length === 0) return undefined;
    const { inOrder, rows, tiles: later } = planned;
    const how = inOrder.length > 0 ? `${String(rows)} rows of tiles ahead, in order` : `${String(later)} tiles ahead`;
    return { traffic: { ...traffic, tiles: planned }, what: `${namesOf(planning, buffers)}: prefetched ${how}` };
  },
};

function tileTraffic(planning: Planning, tiles: TilePlan): TileTraffic {
  const { across, accesses, straight: others, block } = tiles;
  const own = accesses
    .filter((access) => isLoadOfMemory(planning, access, across))
    .map((one) => prefetchOf(planning, one));
  const straight = others.map((access) => prefetchOf(planning, access));
  switch (block.style) {
    case 'scanned':
      return scannedTraffic(planning, tiles);
    case 'cached':
      return cachedTraffic(planning, tiles, own);
    case 'streamed':
      return { ...noTileTraffic, transposed: own, tiles: planning.choices.tilesAhead, ...roundOf(planning, tiles) };
    case 'ordered':
      return orderedTraffic(planning, tiles, own);
    case 'mixed':
    case 'transposed':
      return { ...noTileTraffic, transposed: own, straight, tiles: 1 };
    case 'phased':
      return { ...noTileTraffic, inOrder: into(own, 'second'), straight: into(straight, 'second'), rows: 1 };
  }
}

const into = (prefetches: readonly PlannedPrefetch[], cache: PlannedPrefetch['into']): readonly PlannedPrefetch[] =>
  prefetches.map((one) => ({ ...one, into: cache }));

/** Where tiles follow each other across the grain up to an end that is farther than they prefetch. */
function roundOf({ choices }: Planning, { across, lanes, block }: TilePlan): Pick<TileTraffic, 'round'> {
  const most = block.style === 'scanned' ? Infinity : block.across * lanes;
  const round = pointsOfRound(choices.tilesAhead, { across, lanes, most });
  return round === undefined ? {} : { round };
}

function orderedTraffic(planning: Planning, tiles: TilePlan, own: readonly PlannedPrefetch[]): TileTraffic {
  const { across, lanes, block, accesses } = tiles;
  const loads = accesses.filter((access) => isLoadOfMemory(planning, access, across));
  const rows = rowsOfTilesAhead(planning, { across, lanes, most: block.across * lanes }, loads) ?? 0;
  return { ...noTileTraffic, inOrder: into(own, 'second'), rows, ...roundOf(planning, tiles) };
}

/**
 * Where results stay in the caches, the next tile across the grain, which comes a row of tiles later: as many rows as it has lines
 * are too many for the hardware prefetcher. Where a thread has few tiles across, what is prefetched would be of no use.
 */
function cachedTraffic(planning: Planning, { across, lanes }: TilePlan, own: readonly PlannedPrefetch[]): TileTraffic {
  const { prefetchesCachedTiles, cachedTilesAcross } = planning.choices;
  if (!prefetchesCachedTiles || unitRows(planning, across, lanes) < cachedTilesAcross * lanes) return noTileTraffic;
  return { ...noTileTraffic, transposed: into(own, 'second'), tiles: 1 };
}

/**
 * What a scan along rows prefetches, whose tiles follow each other across the grain: as many rows as there are lanes are too many for
 * the hardware prefetcher, of what is read and of what is written. The next rows to be read come in the order of memory where a
 * second-level cache has room for them.
 */
function scannedTraffic(planning: Planning, tiles: TilePlan): TileTraffic {
  const { lanes, across, accesses } = tiles;
  const { tilesAhead, tileRowDistance } = planning.choices;
  const { round } = roundOf(planning, tiles);
  const comesInOrder = ({ buffer, store }: TileAccess): boolean =>
    !store && (round ?? Infinity) * lanes * planning.memory.bytesOf(buffer) <= tileRowDistance.mostBytes;
  const isPrefetched = (access: TileAccess): boolean =>
    access.store ? isPrefetchedResult(planning, access) : isLoadOfMemory(planning, access, across);
  const prefetched = accesses.filter(isPrefetched);
  return {
    transposed: prefetched
      .filter((access) => !comesInOrder(access))
      .map((access) => ({ ...prefetchOf(planning, access), ...(access.store ? { intent: 'write' } : {}) })),
    straight: [],
    inOrder: prefetched.filter(comesInOrder).map((access) => prefetchOf(planning, access)),
    tiles: tilesAhead,
    rows: 1,
    ...(round === undefined ? {} : { round }),
  };
}

const isPrefetchedResult = (planning: Planning, { buffer, position }: TileAccess): boolean =>
  !hasIndirect(position) &&
  !planning.memory.isVirtual(buffer) &&
  isNonTemporal(planning, buffer) &&
  prefetchesResults({ ...planning, threads: planning.target.threads });
