// What columns that are reduced or scanned several rows at a time ask for: the rows of the next turn, in the order of their addresses.
// In: the loads of the nodes, and a block of columns. Out: for each vector of columns, as many lines as it has rows.
//
// Rows side by side are read a line of each in turn, which few processors foresee (see `asksInOrder` in target.ts and
// strategy/rows-beside.ts). While one vector of columns is summed down its rows, as many vectors of the next rows are asked for, one
// after the other: at vector v those from v * rows on, counted through the next rows' columns. (Measured on a Zen 4, 64 MB: sums of
// sixteen rows take 9 to 14 % less, sums of all rows 31 to 33, running sums down columns 34 to 35.) Of what a last-level cache holds
// nothing is asked for, neither so nor along the way: columns of 4 MB are summed in a fifth less then, running sums in 10 to 20 % less.
import { difference, hasIndirect, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Index, LoopNode } from '@tsinductor/ir';
import { habitsOf, lineBytes, streams } from '../target.ts';
import { isBesideCaches, isRowOf, loadsOf } from './memory-rows.ts';
import { bindAxis } from './nest.ts';
import type { Ahead, Frame, Nest, Range, Vector } from './nest.ts';
import { distinct, writeAhead } from './row-ahead.ts';

export interface Turn {
  readonly nodes: readonly LoopNode[];
  readonly lanes: number;
  /** The axis from row to row, where this turn begins, and how many rows it has. */
  readonly down: Axis;
  readonly row: Index;
  readonly rows: number;
  readonly columns: Range;
}

/** Asks for what belongs to a vector, and says that all is asked for that is to be: not where rows are not of whole vectors. */
export function askNextRows(nest: Nest, turn: Turn, { vector, frame }: { vector: Vector; frame: Frame }): boolean {
  const { lanes, down, row, rows, columns } = turn;
  const width = staticValue(difference(columns.to, columns.from));
  if (
    !habitsOf(nest.target).asksInOrder ||
    rows < 2 ||
    width === undefined ||
    width === 0 ||
    width % (lanes * rows) !== 0
  )
    return false;
  const asked = distinct(turn.nodes.flatMap(loadsOf)).filter((load) => isRowOfColumns(nest, load, turn));
  const place = multiply(difference(vector.at, columns.from), int(rows));
  const below = bindAxis(frame, down.name, add(row, add(int(rows), floorDivide(place, int(width)))));
  for (const load of asked.filter(({ buffer }) => isBesideCaches(nest, buffer))) {
    const step = lineBytes / nest.memory.bytesOf(load.buffer);
    for (let at = 0; at < lanes * rows; at += step) {
      const column = add(columns.from, add(modulo(place, int(width)), int(at)));
      writeAhead(nest, [{ ...load, into: 'second' }], bindAxis(below, columns.axis.name, column));
    }
  }
  return asked.length > 0;
}

function isRowOfColumns(
  nest: Nest,
  { buffer, position }: Ahead,
  { columns: { axis }, down, lanes, rows }: Turn,
): boolean {
  const isLine = !hasIndirect(position) && strideAlong(position, axis.name) === 1;
  const isFurther = strideAlong(position, down.name) !== 0;
  const isWholeLines = (lanes * rows * nest.memory.bytesOf(buffer)) % lineBytes === 0;
  return isLine && isFurther && isWholeLines && isRowOf(nest, buffer, { axis, ...streams, leastRow: 0 });
}
