// Blocks of an array that is read across the grain beside others that are read with it. A block is turned into scratch by strips of
// as many rows as there are lanes, each of which asks for the lines of the next; then the block's points are computed row by row,
// and each row asks for what the next one reads with the grain. So every array is read and written in runs of 16 lines, where
// tile by tile it would be one line here and one there.
//
// (Measured on a Cascade Lake: a.T + b of 64 MB each takes a fifth less than by tiles. Blocks of 128 rows of 1 KB; as many of
// half the rows or half the bytes lose half of that, and larger ones gain nothing.)
//
// Where a processor foresees lines in the order of their addresses alone (`asksInOrder` in target.ts), a block is asked for in two
// phases of one order each: while it is turned, what its points read with the grain; while they are computed, what the next block
// turns. (Measured on a Zen 4, by hand and side by side: 512 rows of 256 bytes so take 11 to 17 % less than the above with two
// third-level caches, 15 to 18 with one; 128 rows of 1 KB, or asking for both at a time, nothing or little. As it is generated 12 to
// 16 %, in rows that are no loop: as loops of four vectors they took a quarter more than the above.)
import { difference, isMultipleOf } from '@tsinductor/codegen';
import { add, axisIndex, int, minimum, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { lineBytes } from '../target.ts';
import { bindAxis, scalarFrame, scalarLoop, vectorFrame, vectorLoop } from './nest.ts';
import type { Frame, Nest, Range, Vector } from './nest.ts';
import { writeAhead } from './row-ahead.ts';
import { rowPitch, turning } from './tile.ts';
import type { Tiling } from './tile.ts';
import { countOf, eachLine, linesOfTile } from './tiles-ahead.ts';

/** The rows of a block, which run along the lanes' axis, and the part of that axis that they cover. */
export interface TurnedBlock {
  readonly tiling: Tiling;
  readonly frame: Frame;
  readonly rows: Range;
  readonly columns: Range;
  /** Writes one point. */
  readonly body: (frame: Frame) => void;
}

export function writeTurnedBlock(nest: Nest, block: TurnedBlock): void {
  eachStrip(nest, block, (vector, corner) => {
    turnTile(nest, block, { vector, corner });
  });
  const { tiling, frame, rows, columns, body } = block;
  // A row of a block that asks in phases is a few vectors.
  const unroll = isPhased(tiling) ? tiling.plan.block.along : 1;
  scalarLoop(nest, rows, (row) => {
    const askNext = isPhased(tiling) ? nextBlock(nest, block, row) : undefined;
    eachVector(nest, { ...block, unroll }, (vector) => {
      for (const { access, tile } of tiling.scratch)
        nest.memory.setTile(access, { name: tile, at: placeIn(block, row, vector.at) });
      nest.memory.scoped(() => {
        const point = vectorFrame(frame, columns.axis.name, vector);
        body(bindAxis(point, rows.axis.name, row));
        if (askNext !== undefined) askNext(vector);
        else writeAhead(nest, tiling.plan.ahead.straight, bindAxis(point, rows.axis.name, add(row, int(1))));
      });
      nest.memory.clearTiles();
    });
  });
}

function eachVector(
  nest: Nest,
  { tiling, columns, unroll = 1 }: TurnedBlock & { readonly unroll?: number },
  body: (vector: Vector) => void,
): void {
  vectorLoop(nest, { ...columns, lanes: tiling.lanes, instances: 1, unroll }, ([vector]) => {
    if (vector !== undefined) body(vector);
  });
}

/** The tiles of a block, those of each strip one after another. */
function eachStrip(nest: Nest, block: TurnedBlock, body: (vector: Vector, corner: Index) => void): void {
  const { writer, memory } = nest;
  const { rows, tiling } = block;
  eachVector(nest, block, (vector) => {
    const name = writer.fresh(rows.axis.name);
    memory.multiples.set(name, isMultipleOf(rows.from, tiling.lanes, memory.multiples) ? tiling.lanes : 1);
    const inner = writer.block([name], () => {
      body(vector, axisIndex({ name, extent: rows.axis.extent }));
    });
    writer.emit({ kind: 'for', name, from: rows.from, to: rows.to, step: tiling.lanes, body: inner });
  });
}

interface Tile {
  readonly vector: Vector;
  readonly corner: Index;
}

function turnTile(nest: Nest, block: TurnedBlock, { vector, corner }: Tile): void {
  const { tiling, rows, columns } = block;
  const { plan, lanes } = tiling;
  const frame = vectorFrame(block.frame, columns.axis.name, vector);
  const whole = isMultipleOf(rows.to, lanes, nest.memory.multiples);
  const count = whole ? int(lanes) : minimum(int(lanes), difference(rows.to, corner));
  for (const { access, tile, dtype } of tiling.scratch) {
    const to = { buffer: tile, at: placeIn(block, corner, vector.at), step: int(rowPitch(plan.block, lanes)) };
    nest.writer.emit(turning(nest, { access, dtype, corner, rows: count, plan, lanes, scratch: to }, frame));
  }
  if (isPhased(tiling)) writeStraight(nest, block, { vector, corner });
  else writeNextStrip(nest, block, { vector, corner });
}

/** Only a block that asks in phases asks for whole rows of tiles. */
const isPhased = ({ plan }: Tiling): boolean => plan.ahead.rows > 0;

/** Asks, as the tiles of a block are turned, for what its points read with the grain, row by row from its first one. */
function writeStraight(nest: Nest, { tiling, frame, rows, columns }: TurnedBlock, { vector, corner }: Tile): void {
  const { plan, lanes } = tiling;
  if (vector.lane.count !== undefined) return;
  const { along, across } = plan.block;
  const [strips, tiles] = [difference(vector.at, columns.from), difference(corner, rows.from)];
  const done = add(multiply(strips, int(across * lanes)), multiply(tiles, int(lanes)));
  if (plan.ahead.straight.length === 0) return;
  const lineAt = linesOfTile(nest, done, {
    row: along * lanes,
    points: along * across * lanes * lanes,
    share: lanes * lanes,
  });
  for (const asked of plan.ahead.straight) {
    const count = countOf(nest, lanes)(asked);
    eachLine(nest, count, (number) => {
      const line = lineAt(multiply(number, int((lanes * lanes) / count)));
      const point = bindAxis(scalarFrame(frame), columns.axis.name, add(columns.from, line.along));
      const row = add(rows.from, line.down);
      writeAhead(nest, [{ ...asked, into: 'second' }], bindAxis(point, rows.axis.name, row));
    });
  }
}

/** What asks, vector by vector of a row that is computed, for what the next block turns, in the order of its addresses. */
function nextBlock(nest: Nest, { tiling, frame, rows, columns }: TurnedBlock, row: Index): (vector: Vector) => void {
  const { plan, lanes } = tiling;
  const [width, height] = [plan.block.along * lanes, plan.block.across * lanes];
  if (plan.ahead.inOrder.length === 0) return () => undefined;
  const done = multiply(difference(row, rows.from), int(width));
  const lineAt = linesOfTile(nest, done, { row: height, points: width * height, share: width });
  return (vector) => {
    if (vector.lane.count !== undefined) return;
    for (const asked of plan.ahead.inOrder)
      for (let element = 0; element < lanes; element += lineBytes / nest.memory.bytesOf(asked.buffer)) {
        const line = lineAt(add(difference(vector.at, columns.from), int(element)));
        const lane = add(columns.from, add(int(width), line.down));
        const point = bindAxis(scalarFrame(frame), columns.axis.name, lane);
        writeAhead(nest, [{ ...asked, into: 'second' }], bindAxis(point, rows.axis.name, add(rows.from, line.along)));
      }
  };
}

/** Asks, lane by lane, for what the tile of the next strip reads. */
function writeNextStrip(nest: Nest, { tiling, frame, rows, columns }: TurnedBlock, { vector, corner }: Tile): void {
  const { plan, lanes } = tiling;
  if (plan.ahead.turned.length === 0 || vector.lane.count !== undefined) return;
  const { writer } = nest;
  const lane = writer.fresh('lane');
  const body = writer.block([lane], () => {
    const along = add(vector.at, add(int(lanes), axisIndex({ name: lane, extent: int(lanes) })));
    const point = bindAxis(scalarFrame(frame), columns.axis.name, along);
    writeAhead(nest, plan.ahead.turned, bindAxis(point, rows.axis.name, corner));
  });
  writer.emit({ kind: 'for', name: lane, from: int(0), to: int(lanes), step: 1, unroll: 4, body });
}

/** Where a point of the block lies in its scratch. */
const placeIn = ({ tiling, rows, columns }: TurnedBlock, row: Index, column: Index): Index =>
  add(
    multiply(difference(row, rows.from), int(rowPitch(tiling.plan.block, tiling.lanes))),
    difference(column, columns.from),
  );
