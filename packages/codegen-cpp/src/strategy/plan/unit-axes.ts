// The loops that a region's units are made of. In: its parallel loops, in the order in which they run. Out: the same, but where
// short rows of a large result lie one after another along a loop, so many of the rows are written one after another.
import { ceilDivide, int } from '@tsinductor/ir';
import type { Axis, Index } from '@tsinductor/ir';
import { lastTwo } from './order.ts';
import type { RowRuns } from './order.ts';

/** One factor of the units that are distributed. */
export interface UnitAxis {
  readonly axis: Axis;
  readonly count: Index;
  /** Elements per unit, which a loop of their own goes through; undefined: the axis is bound to one. */
  readonly block: number | undefined;
  /** How many points of the axis a step is, where another factor has those between; one, if absent. */
  readonly step?: number;
}

export const blocksOf = (axis: Axis, block: number): UnitAxis => ({
  axis,
  count: ceilDivide(axis.extent, int(block)),
  block,
});

/** With the last loop but one in two where rows are written in runs: the runs, and inside of the last loop the rows of one. */
export function inRuns(axes: readonly UnitAxis[], runs: RowRuns | undefined): readonly UnitAxis[] {
  const [down, across] = lastTwo(axes);
  if (runs === undefined || down === undefined || across === undefined) return axes;
  const { rows } = runs;
  const each = { ...down, count: ceilDivide(down.count, int(rows)), step: rows };
  const around = axes.filter((axis) => axis !== down && axis !== across);
  return [...around, each, across, { ...down, count: int(rows) }];
}
