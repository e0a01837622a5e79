// The prefetches of tiles as statements: lines of a later tile, and of the next rows of tiles in the order of memory.
import { bindAxis, difference, named } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import type { TileAxes } from '../plan/tiles.ts';
import type { PlannedPrefetch } from '../traffic/prefetch.ts';
import type { TileTraffic } from '../traffic/traffic.ts';
import { scalarFrame } from './nest.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';

interface PlannedTiles extends TileAxes {
  readonly traffic: TileTraffic;
}

/** A tile: its first point across the grain, that of the block of tiles, and the vector of lanes in `frame`. */
interface TileStart {
  readonly corner: Index;
  readonly start: Index;
  readonly frame: Frame;
}

/** Prefetches the lines of transposed accesses of a later tile, lane by lane, and later rows in the order of memory. */
export function writeTilePrefetches(nest: Nest, tiles: PlannedTiles, tile: TileStart): void {
  const { traffic, lane, across, lanes } = tiles;
  const { corner, start, frame } = tile;
  const first = frame.axes.get(lane.name);
  if (first === undefined || frame.lane?.count !== undefined) return;
  const prefetchAt = (planned: readonly PlannedPrefetch[], along: Index, at: Index): void => {
    const point = bindAxis(scalarFrame(frame), lane.name, along);
    writePrefetches(nest, planned, bindAxis(point, across.name, at));
  };
  if (traffic.transposed.length + traffic.inOrder.length === 0) return;
  const later = traffic.transposed.length === 0 ? undefined : laterTile(nest, tiles, { first, corner });
  const { round = 1 } = traffic;
  const [done, rows] = [multiply(difference(corner, start), int(lanes)), add(first, int(traffic.rows * lanes))];
  const lineAt =
    traffic.inOrder.length === 0
      ? undefined
      : linesOfTile(nest, done, {
          row: round,
          points: round * lanes,
          share: lanes * lanes,
          isWhole: start.kind === 'int',
        });
  const counts = new Set([...(later === undefined ? [] : [lanes]), ...traffic.inOrder.map(countOf(nest, lanes))]);
  for (const count of counts)
    eachLine(nest, count, (number) => {
      if (later !== undefined && count === lanes)
        prefetchAt(traffic.transposed, add(later.first, number), later.corner);
      if (lineAt === undefined) return;
      const { down, along } = lineAt(multiply(number, int((lanes * lanes) / count)));
      const planned = traffic.inOrder.filter((one) => countOf(nest, lanes)(one) === count);
      prefetchAt(planned, add(rows, down), add(start, along));
    });
}

interface Rows {
  /** Points of a row, and of all rows. */
  readonly row: number;
  readonly points: number;
  /** Points that prefetch as many one after another: a tile's. */
  readonly share: number;
  /** Rows are those of an axis from its start, which lie in memory one after another if their places say so. */
  readonly isWhole?: boolean;
}

/**
 * Where the lines of a share lie, the first of which comes `done` points after the start of some rows: how many rows down, and
 * how far along. What all of a share have in common is computed once: where rows are no whole shares, one may end behind its row.
 */
export function linesOfTile(
  nest: Nest,
  done: Index,
  { row, points, share, isWhole = false }: Rows,
): (further: Index) => Record<'down' | 'along', Index> {
  if (isWhole)
    return (further) => {
      const at = add(done, further);
      return { down: floorDivide(at, int(row)), along: modulo(at, int(row)) };
    };
  const place = within(nest, done, { name: 'done', extent: int(points) });
  const down = within(nest, floorDivide(place, int(row)), { name: 'down', extent: int(Math.ceil(points / row)) });
  if (share % row === 0)
    return (further) => ({ down: add(down, floorDivide(further, int(row))), along: modulo(further, int(row)) });
  const along = within(nest, modulo(place, int(row)), { name: 'along', extent: int(row) });
  return (further) => ({ down, along: add(along, further) });
}

/** Lines of a tile of a buffer. */
export const countOf =
  ({ memory }: Nest, lanes: number) =>
  ({ buffer }: Pick<PlannedPrefetch, 'buffer'>): number =>
    Math.max(1, Math.ceil((lanes * lanes * memory.bytesOf(buffer)) / lineBytes));

/** A loop over `count` lines. */
export function eachLine({ writer }: Nest, count: number, body: (number: Index) => void): void {
  const name = writer.fresh('lane');
  const inner = writer.block([name], () => {
    body(axisIndex({ name, extent: int(count) }));
  });
  writer.emit({ kind: 'for', name, from: int(0), to: int(count), step: 1, unroll: 4, body: inner });
}

/** An index by a name of its own, known to be from 0 to before `extent`. */
function within({ writer }: Nest, value: Index, { name, extent }: { name: string; extent: Index }): Index {
  if (value.kind === 'int') return value;
  const type = { dtype: 'i64' as const, lanes: 1 };
  const defined = writer.define({ kind: 'index', value, type }, name, writer.depth);
  return defined.kind === 'name' ? named(defined.name, extent) : value;
}

/** A tile's first lane, and its first point across. */
interface Place {
  readonly first: Index;
  readonly corner: Index;
}

/** The tile some tiles later: further across, or, where the way round ends before, at its start among the next lanes. */
function laterTile(nest: Nest, { traffic, lane, across, lanes }: PlannedTiles, { first, corner }: Place): Place {
  const { tiles, round } = traffic;
  const further = add(corner, int(tiles * lanes));
  if (round === undefined) return { first, corner: further };
  const [start, rounds] = [floorDivide(corner, int(round)), floorDivide(further, int(round))];
  const place = (value: Index, axis: Axis): Index =>
    within(nest, value, { name: `later_${axis.name}`, extent: add(axis.extent, int(lanes)) });
  return {
    first: place(add(first, multiply(difference(rounds, start), int(lanes))), lane),
    corner: place(add(multiply(start, int(round)), modulo(further, int(round))), across),
  };
}
