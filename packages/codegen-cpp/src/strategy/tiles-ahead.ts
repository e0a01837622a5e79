// What tiles ask for before they or a later one read or write it (see tile.ts). In: the accesses of a nest by tiles. Out: the plan
// of what is asked for, and the statements that ask.
//
// A tile touches one line in each of as many rows as there are lanes. Where a processor foresees lines in the order of their
// addresses alone (`asksInOrder` in target.ts), the next row of tiles is asked for in that order: each tile asks for as many lines
// of it as it reads itself, one after the other, so that memory is read in runs as long as a row of tiles. Else a tile asks for
// the lines of the one some tiles later. (Measured on a Zen 4, arrays of 64 MB, by hand and side by side, with two third-level
// caches and with one: in order a transposition of 4,096 columns takes 16 and 14 % less than four tiles ahead, one of 4,112 columns
// a third and a fifth, which is a copy's time; a permutation [a,b,c] to [c,a,b] 15 and 10, NCHW to NHWC 16 and 8. Into the first
// cache all of it takes half as long again.)
import { difference, hasIndirect, named, staticValue } from '@tsinductor/codegen';
import { add, axisIndex, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index } from '@tsinductor/ir';
import { asksForResults, habitsOf, lineBytes, nextRowsBytes } from '../target.ts';
import { isRowOf } from './memory-rows.ts';
import type { RowLimits } from './memory-rows.ts';
import { bindAxis, isLarge, scalarFrame } from './nest.ts';
import type { Ahead, Frame, Nest } from './nest.ts';
import { writeAhead } from './row-ahead.ts';

/** An access that goes through a tile. */
export interface TurnedAccess {
  readonly buffer: BufferId;
  readonly position: Index;
  readonly store: boolean;
}

/** What a tile asks for that a later one reads or writes: lanes of turned accesses, and points of the others. */
export interface TilesAhead {
  readonly turned: readonly Ahead[];
  readonly straight: readonly Ahead[];
  /** Turned accesses whose next rows, as many as there are lanes, are asked for in the order of memory. */
  readonly inOrder: readonly Ahead[];
  /** How many tiles later; of what is asked for in order, how many rows of tiles. */
  readonly tiles: number;
  readonly rows: number;
  /** After how many points across the grain tiles go on at the start, among the next lanes, where that is soon. */
  readonly round?: number;
}

export const noneAhead: TilesAhead = { turned: [], straight: [], inOrder: [], tiles: 0, rows: 0 };

/** The axes of tiles, and the points of one along each. */
export interface TileAxes {
  readonly lane: Axis;
  readonly across: Axis;
  readonly lanes: number;
}

const tilesAhead = 4;

/** What is asked for in the order of memory lies at least so far ahead. */
const leastAheadBytes = 16 * 1024;

/** Rows of tiles that a block has at least for each that it asks for: what is asked for behind its last one may be nobody's. */
const leastRows = 4;

/** Points across the grain that tiles follow each other for: blocks alike, of whole tiles' points where there are several. */
export function blockAcross(across: Axis, { most, lanes }: { readonly most: number; readonly lanes: number }): number {
  const extent = staticValue(across.extent);
  if (extent === undefined || extent <= most) return most;
  const points = lanes * lanes;
  return Math.min(most, Math.ceil(extent / Math.ceil(extent / most) / points) * points);
}

interface Own {
  /** Loads that go through tiles, which follow each other across the grain up to `most` points. */
  readonly own: readonly TurnedAccess[];
  readonly most: number;
}

/** Asks for a tile some tiles later. */
export const fewTilesAhead = ({ across, lanes }: TileAxes, { own, most }: Own): TilesAhead => ({
  ...noneAhead,
  turned: own,
  tiles: tilesAhead,
  ...roundOf(across, { lanes, most }),
});

/** Asks for the next row of tiles in the order of memory, where that gains. */
export function nextRowAhead(
  nest: Nest,
  { lane, across, lanes }: TileAxes,
  { own, most }: Own,
): TilesAhead | undefined {
  const round = roundOf(across, { lanes, most });
  if (round.round === undefined || own.length === 0 || !habitsOf(nest.target).asksInOrder) return undefined;
  const rowBytes = round.round * lanes * Math.min(...own.map(({ buffer }) => nest.memory.bytesOf(buffer)));
  const rows = Math.max(1, Math.ceil(leastAheadBytes / rowBytes));
  if (!hasRows(lane, rows * lanes)) return undefined;
  const inOrder = own.map((access): Ahead => ({ ...access, into: 'second' }));
  return { ...noneAhead, inOrder, rows, ...round };
}

/** Whether an axis has several times as many points as are asked for ahead along it. */
export const hasRows = (lane: Axis, points: number): boolean =>
  (staticValue(lane.extent) ?? Infinity) >= leastRows * points;

/**
 * What a scan along rows asks for, whose tiles follow each other across the grain: as many rows as there are lanes are too many to
 * be foreseen, of what is read and of what is written. The next rows to be read come in the order of memory where a second-level
 * cache has room for them. (Measured on a Cascade Lake: running sums of rows, 64 MB, take 25 % less time, 6 % of it by that order.)
 */
export function scannedAhead(nest: Nest, { across, lanes }: TileAxes, turned: readonly TurnedAccess[]): TilesAhead {
  const asked = turned.filter((access) => isAskedFor(nest, access, across));
  const round = roundOf(across, { lanes, most: Infinity });
  const comesInOrder = ({ buffer, store }: TurnedAccess): boolean =>
    !store && (round.round ?? Infinity) * lanes * nest.memory.bytesOf(buffer) <= nextRowsBytes;
  return {
    turned: asked
      .filter((access) => !comesInOrder(access))
      .map((access) => (access.store ? { ...access, intent: 'write' } : access)),
    straight: [],
    inOrder: asked.filter(comesInOrder),
    tiles: tilesAhead,
    rows: 1,
    ...round,
  };
}

/** Where tiles follow each other across the grain up to an end that is farther than they ask. */
function roundOf(across: Axis, { lanes, most }: { lanes: number; most: number }): Pick<TilesAhead, 'round'> {
  const extent = staticValue(across.extent);
  if (extent === undefined) return {};
  const round = Math.min(most, Math.ceil(extent / lanes) * lanes);
  return round < 2 * tilesAhead * lanes ? {} : { round };
}

/** Whether an access is of memory that does not stay in the caches. */
export function isAskedFor(nest: Nest, { buffer, position, store }: TurnedAccess, across: Axis): boolean {
  if (hasIndirect(position)) return false;
  if (!store) return isRowOf(nest, buffer, { axis: across, ...arraysOfMemory });
  return !nest.memory.isVirtual(buffer) && isLarge(nest.memory.decl(buffer)) && asksForResults(nest.target);
}

/** Which loads are asked for: of arrays that do not stay in the caches. */
const arraysOfMemory: RowLimits = { bufferBytes: 4 * 1024 * 1024, leastRow: 0, mostRow: Infinity };

/** A tile: its first point across the grain, that of the block of tiles, and the vector of lanes in `frame`. */
export interface TileStart {
  readonly corner: Index;
  readonly start: Index;
  readonly frame: Frame;
}

/** Asks for the lines of turned accesses of a later tile, lane by lane, and for later rows in the order of memory. */
export function writeTilesAhead(nest: Nest, axes: TileAxes & { readonly ahead: TilesAhead }, tile: TileStart): void {
  const { ahead, lane, across, lanes } = axes;
  const { corner, start, frame } = tile;
  const first = frame.axes.get(lane.name);
  if (first === undefined || frame.lane?.count !== undefined) return;
  const askAt = (asked: readonly Ahead[], along: Index, at: Index): void => {
    const point = bindAxis(scalarFrame(frame), lane.name, along);
    writeAhead(nest, asked, bindAxis(point, across.name, at));
  };
  if (ahead.turned.length + ahead.inOrder.length === 0) return;
  const later = ahead.turned.length === 0 ? undefined : laterTile(nest, axes, { first, corner });
  const { round = 1 } = ahead;
  const [done, rows] = [multiply(difference(corner, start), int(lanes)), add(first, int(ahead.rows * lanes))];
  const lineAt =
    ahead.inOrder.length === 0
      ? undefined
      : linesOfTile(nest, done, {
          row: round,
          points: round * lanes,
          share: lanes * lanes,
          isWhole: start.kind === 'int',
        });
  const counts = new Set([...(later === undefined ? [] : [lanes]), ...ahead.inOrder.map(countOf(nest, lanes))]);
  for (const count of counts)
    eachLine(nest, count, (number) => {
      if (later !== undefined && count === lanes) askAt(ahead.turned, add(later.first, number), later.corner);
      if (lineAt === undefined) return;
      const { down, along } = lineAt(multiply(number, int((lanes * lanes) / count)));
      const asked = ahead.inOrder.filter((one) => countOf(nest, lanes)(one) === count);
      askAt(asked, add(rows, down), add(start, along));
    });
}

interface Rows {
  /** Points of a row, and of all rows. */
  readonly row: number;
  readonly points: number;
  /** Points that ask for as many one after another: a tile's. */
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
  ({ buffer }: Pick<Ahead, 'buffer'>): number =>
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
export function within({ writer }: Nest, value: Index, { name, extent }: { name: string; extent: Index }): Index {
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
function laterTile(
  nest: Nest,
  { ahead, lane, across, lanes }: TileAxes & { readonly ahead: TilesAhead },
  { first, corner }: Place,
): Place {
  const { tiles, round } = ahead;
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
