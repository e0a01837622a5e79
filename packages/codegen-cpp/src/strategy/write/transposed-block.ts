// Blocks of an array that is read across the grain beside others that are read with it (see plan/tiles.ts). A block is transposed into
// scratch by panels of as many rows as there are lanes; then the block's points are computed row by row. So every array is read and
// written in sequences of 16 lines, where tile by tile it would be one line here and one there.
//
// A panel prefetches the lines of the next, and each row what the next one reads with the grain. Where a hardware prefetcher follows lines
// in the order of their addresses alone, a block is prefetched in two phases of one order each: while it is transposed, what its points
// read with the grain; while they are computed, what the next block transposes.
import { bindAxis, difference, isMultipleOf } from '@tsinductor/codegen';
import type { Frame } from '@tsinductor/codegen';
import { add, axisIndex, int, minimum, multiply } from '@tsinductor/ir';
import type { Index } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import { scalarLoop, vectorFrame, vectorLoop } from './loops.ts';
import type { Range, Vector } from './loops.ts';
import { scalarFrame } from './nest.ts';
import type { Nest } from './nest.ts';
import { writePrefetches } from './prefetch.ts';
import { countOf, eachLine, linesOfTile } from './tile-prefetch.ts';
import { rowPitch, transposition } from './tile.ts';
import type { Tiling } from './tile.ts';

/** The rows of a block, which run along the lanes' axis, and the part of that axis that they cover. */
interface TransposedBlock {
  readonly tiling: Tiling;
  readonly frame: Frame;
  readonly rows: Range;
  readonly columns: Range;
  /** Writes one point. */
  readonly body: (frame: Frame) => void;
}

export function writeTransposedBlock(nest: Nest, block: TransposedBlock): void {
  eachPanel(nest, block, (vector, corner) => {
    transposeTile(nest, block, { vector, corner });
  });
  const { tiling, frame, rows, columns, body } = block;
  // A row of a block that is prefetched in phases is a few vectors.
  const unroll = isPhased(tiling) ? tiling.plan.block.along : 1;
  scalarLoop(nest, rows, (row) => {
    const prefetchNext = isPhased(tiling) ? nextBlock(nest, block, row) : undefined;
    eachVector(nest, { ...block, unroll }, (vector) => {
      for (const { access, tile } of tiling.scratch)
        nest.memory.setTile(access, { name: tile, at: placeIn(block, row, vector.at) });
      nest.memory.scoped(() => {
        const point = vectorFrame(frame, columns.axis.name, vector);
        body(bindAxis(point, rows.axis.name, row));
        if (prefetchNext !== undefined) prefetchNext(vector);
        else writePrefetches(nest, tiling.traffic.straight, bindAxis(point, rows.axis.name, add(row, int(1))));
      });
      nest.memory.clearTiles();
    });
  });
}

function eachVector(
  nest: Nest,
  { tiling, columns, unroll = 1 }: TransposedBlock & { readonly unroll?: number },
  body: (vector: Vector) => void,
): void {
  vectorLoop(nest, { ...columns, lanes: tiling.plan.lanes, instances: 1, unroll }, ([vector]) => {
    if (vector !== undefined) body(vector);
  });
}

/** The tiles of a block, those of each panel one after another. */
function eachPanel(nest: Nest, block: TransposedBlock, body: (vector: Vector, corner: Index) => void): void {
  const { writer, memory } = nest;
  const { rows, tiling } = block;
  eachVector(nest, block, (vector) => {
    const name = writer.fresh(rows.axis.name);
    memory.multiples.set(name, isMultipleOf(rows.from, tiling.plan.lanes, memory.multiples) ? tiling.plan.lanes : 1);
    const inner = writer.block([name], () => {
      body(vector, axisIndex({ name, extent: rows.axis.extent }));
    });
    writer.emit({ kind: 'for', name, from: rows.from, to: rows.to, step: tiling.plan.lanes, body: inner });
  });
}

interface Tile {
  readonly vector: Vector;
  readonly corner: Index;
}

function transposeTile(nest: Nest, block: TransposedBlock, { vector, corner }: Tile): void {
  const { tiling, rows, columns } = block;
  const { plan } = tiling;
  const { lanes } = plan;
  const frame = vectorFrame(block.frame, columns.axis.name, vector);
  const whole = isMultipleOf(rows.to, lanes, nest.memory.multiples);
  const count = whole ? int(lanes) : minimum(int(lanes), difference(rows.to, corner));
  for (const { access, tile, dtype } of tiling.scratch) {
    const to = { buffer: tile, at: placeIn(block, corner, vector.at), step: int(rowPitch(plan.block, lanes)) };
    nest.writer.emit(transposition(nest, { access, dtype, corner, rows: count, plan, scratch: to }, frame));
  }
  if (isPhased(tiling)) writeStraight(nest, block, { vector, corner });
  else writeNextStrip(nest, block, { vector, corner });
}

const isPhased = ({ plan }: Tiling): boolean => plan.block.style === 'phased';

/** Prefetches, as the tiles of a block are transposed, what its points read with the grain, row by row from its first one. */
function writeStraight(nest: Nest, { tiling, frame, rows, columns }: TransposedBlock, { vector, corner }: Tile): void {
  const { plan, traffic } = tiling;
  const { lanes } = plan;
  if (vector.lane.count !== undefined) return;
  const { along, across } = plan.block;
  const [panels, tiles] = [difference(vector.at, columns.from), difference(corner, rows.from)];
  const done = add(multiply(panels, int(across * lanes)), multiply(tiles, int(lanes)));
  if (traffic.straight.length === 0) return;
  const lineAt = linesOfTile(nest, done, {
    row: along * lanes,
    points: along * across * lanes * lanes,
    share: lanes * lanes,
  });
  for (const planned of traffic.straight) {
    const count = countOf(nest, lanes)(planned);
    eachLine(nest, count, (number) => {
      const line = lineAt(multiply(number, int((lanes * lanes) / count)));
      const point = bindAxis(scalarFrame(frame), columns.axis.name, add(columns.from, line.along));
      const row = add(rows.from, line.down);
      writePrefetches(nest, [planned], bindAxis(point, rows.axis.name, row));
    });
  }
}

/** Prefetches, vector by vector of a row that is computed, what the next block transposes, in the order of its addresses. */
function nextBlock(
  nest: Nest,
  { tiling, frame, rows, columns }: TransposedBlock,
  row: Index,
): (vector: Vector) => void {
  const { plan, traffic } = tiling;
  const { lanes } = plan;
  const [width, height] = [plan.block.along * lanes, plan.block.across * lanes];
  if (traffic.inOrder.length === 0) return () => undefined;
  const done = multiply(difference(row, rows.from), int(width));
  const lineAt = linesOfTile(nest, done, { row: height, points: width * height, share: width });
  return (vector) => {
    if (vector.lane.count !== undefined) return;
    for (const planned of traffic.inOrder)
      for (let element = 0; element < lanes; element += lineBytes / nest.memory.bytesOf(planned.buffer)) {
        const line = lineAt(add(difference(vector.at, columns.from), int(element)));
        const lane = add(columns.from, add(int(width), line.down));
        const point = bindAxis(scalarFrame(frame), columns.axis.name, lane);
        writePrefetches(nest, [planned], bindAxis(point, rows.axis.name, add(rows.from, line.along)));
      }
  };
}

/** Prefetches, lane by lane, what the tile of the next panel reads. */
function writeNextStrip(nest: Nest, { tiling, frame, rows, columns }: TransposedBlock, { vector, corner }: Tile): void {
  const { plan, traffic } = tiling;
  const { lanes } = plan;
  if (traffic.transposed.length === 0 || vector.lane.count !== undefined) return;
  const { writer } = nest;
  const lane = writer.fresh('lane');
  const body = writer.block([lane], () => {
    const along = add(vector.at, add(int(lanes), axisIndex({ name: lane, extent: int(lanes) })));
    const point = bindAxis(scalarFrame(frame), columns.axis.name, along);
    writePrefetches(nest, traffic.transposed, bindAxis(point, rows.axis.name, corner));
  });
  writer.emit({ kind: 'for', name: lane, from: int(0), to: int(lanes), step: 1, unroll: 4, body });
}

/** Where a point of the block lies in its scratch. */
const placeIn = ({ tiling, rows, columns }: TransposedBlock, row: Index, column: Index): Index =>
  add(
    multiply(difference(row, rows.from), int(rowPitch(tiling.plan.block, tiling.plan.lanes))),
    difference(column, columns.from),
  );
