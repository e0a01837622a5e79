// The loops that a region's units are made of. In: its parallel loops, in the order in which they run. Out: the same, but where
// short rows of a large result lie one after another along a loop, and what is read has another loop in between, so many of the rows
// are written one after another: memory then gets pages of a result, not lines of as many as that loop has points.
//
// (Measured on a Granite Rapids: of 256 MB of heads, [b, s, h, d] as [b, h, s, d] with rows of 256 bytes, 20 % less.)
import { at } from '@tsinductor/base';
import { hasIndirect, isLeaf, staticValue, strideAlong } from '@tsinductor/codegen';
import { add, axisIndex, ceilDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopNode } from '@tsinductor/ir';
import { habitsOf } from '../target.ts';
import { isBesideCaches, loadsOf } from './memory-rows.ts';
import { isLarge } from './nest.ts';
import type { Ahead, Nest } from './nest.ts';
import { nodesOf, runningOrder } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';

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

/** Rows of more bytes are runs by themselves. */
const mostRowBytes = 512;

const isOne = (extent: Index): boolean => staticValue(extent) === 1;

/** A loop along whose points short rows of what is written lie one after another, and the one inside of it, along which rows are read. */
export interface Runs {
  readonly down: Axis;
  readonly across: Axis;
  /** How many rows are written one after another. */
  readonly rows: number;
  /** Elements of a row. */
  readonly width: number;
}

/** The runs of a region's results, where all that it writes are such rows, and whole runs. */
export function runsOf(nest: Nest, plan: RegionPlan): Runs | undefined {
  const { rowsInRun: rows } = habitsOf(nest.target);
  const along = plan.shared.axis;
  if (rows === 1 || along === undefined || !isOfUnits(nest, plan)) return undefined;
  const loops = runningOrder(nest, plan).map(({ axis }) => axis);
  const [down, across] = loops.filter((axis) => axis.name !== along.name && !isOne(axis.extent)).slice(-2);
  const width = staticValue(along.extent);
  if (down === undefined || across === undefined || width === undefined) return undefined;
  const runs = { down, across, rows, width };
  const isWhole = (staticValue(down.extent) ?? 1) % rows === 0;
  return isWhole && nodesOf(nest, plan.tree).every((node) => writesRows(nest, node, { ...runs, along }))
    ? runs
    : undefined;
}

/** Whether a unit is a point of every loop but that along lanes, which is innermost. */
const isOfUnits = ({ target }: Nest, { tree, tiles, block }: RegionPlan): boolean =>
  target.threads > 1 && tiles === undefined && block === undefined && isLeaf(tree);

const writesRows = (nest: Nest, node: LoopNode, rows: Omit<RowWrite, 'write'>): boolean =>
  node.kind === 'map' &&
  node.writes.every((write, place) => isShortRow(nest, at(node.outs, place), { ...rows, write }));

interface RowWrite extends Runs {
  readonly write: Index;
  readonly along: Axis;
}

const isShortRow = (nest: Nest, buffer: BufferId, { write, along, down, across, rows, width }: RowWrite): boolean =>
  isLarge(nest.memory.decl(buffer)) &&
  width * nest.memory.bytesOf(buffer) <= mostRowBytes &&
  strideAlong(write, along.name) === 1 &&
  strideAlong(write, down.name) === width &&
  (strideAlong(write, across.name) ?? 0) >= rows * width;

/** With the last loop but one in two where rows are written in runs: the runs, and inside of the last loop the rows of one. */
export function inRuns(axes: readonly UnitAxis[], runs: Runs | undefined): readonly UnitAxis[] {
  const [down, across] = axes.filter(({ axis }) => !isOne(axis.extent)).slice(-2);
  if (runs === undefined || down === undefined || across === undefined) return axes;
  const { rows } = runs;
  const each = { ...down, count: ceilDivide(down.count, int(rows)), step: rows };
  const around = axes.filter((axis) => axis !== down && axis !== across);
  return [...around, each, across, { ...down, count: int(rows) }];
}

/**
 * What the next run is read from, in the order of addresses, where that is one piece of memory. (The same heads: 11.8 ms, 14.3
 * without asking, 14.0 where it is asked for into the first cache, 12.7 where only a quarter of a run further on is.)
 */
export function runsFurtherOn(nest: Nest, plan: RegionPlan): readonly Ahead[] {
  const runs = habitsOf(nest.target).asksInPasses ? runsOf(nest, plan) : undefined;
  if (runs === undefined) return [];
  const { down, across, rows, width } = runs;
  const group = width * (staticValue(across.extent) ?? 0);
  const row = modulo(axisIndex(down), int(rows));
  return nodesOf(nest, plan.tree)
    .flatMap(loadsOf)
    .flatMap(({ buffer, position }): readonly Ahead[] => {
      const isPiece =
        !hasIndirect(position) &&
        strideAlong(position, plan.shared.axis?.name ?? '') === 1 &&
        strideAlong(position, across.name) === width &&
        strideAlong(position, down.name) === group;
      if (!isPiece || !isBesideCaches(nest, buffer)) return [];
      // Row by row of the next run instead of all first rows of its groups, then all second ones.
      const next = add(position, int(rows * group));
      const along = add(multiply(axisIndex(across), int((rows - 1) * width)), multiply(row, int(width - group)));
      return [{ buffer, position: add(next, along), into: 'second' }];
    });
}
