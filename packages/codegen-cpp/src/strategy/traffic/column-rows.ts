// What columns that are reduced or scanned several rows at a time prefetch: the rows of the next turn, in the order of their addresses.
// In: a block of columns whose width is known. Out: the loads whose next rows are prefetched so.
//
// Rows side by side are read a line of each in turn, which few hardware prefetchers follow. While one vector of columns is summed down
// its rows, as many vectors of the next rows are prefetched, one after the other: at vector v those from v * rows on, counted through the
// next rows' columns. Of what a last-level cache holds nothing is prefetched, neither so nor along the way.
import { hasIndirect, isMultipleOf, strideAlong } from '@tsinductor/codegen';
import type { LoopNode } from '@tsinductor/ir';
import { lineBytes } from '../../machine/facts.ts';
import { memoryBound } from '../../machine/measure.ts';
import type { ColumnPlan } from '../plan/columns.ts';
import { exceedsCaches } from '../plan/planning.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { isRowOf, isSameLoad, loadsOf } from '../plan/rows.ts';
import type { Load } from '../plan/rows.ts';
import { prefetchOf } from './prefetch.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { namesOf } from './rule.ts';
import type { TrafficRule } from './rule.ts';
import type { RegionTraffic } from './traffic.ts';

/** A block of columns, of all columns of an axis or of those of a unit. */
interface ColumnBlock {
  readonly columns: ColumnPlan;
  readonly nodes: readonly LoopNode[];
  /** Columns of a unit; undefined where that is all. */
  readonly unit: number | undefined;
}

const doc =
  'the hardware prefetcher follows lines in the order of their addresses alone, and columns are read a line of each row';

export const columnRowsRule: TrafficRule<RegionPlan, RegionTraffic> = {
  name: 'column rows in order',
  doc,
  measure: memoryBound('in memory', 'column sum'),
  applies: ({ choices }, { columns }) => choices.prefetchesInAddressOrder && columns !== undefined,
  plan: (planning, { columns, nodes, isWhole, block }, traffic) => {
    if (columns === undefined) return undefined;
    const nextRows = nextColumnRows(planning, { columns, nodes, unit: isWhole ? undefined : block });
    if (nextRows === undefined) return undefined;
    const names = namesOf(
      planning,
      nextRows.map(({ buffer }) => buffer),
    );
    return { traffic: { ...traffic, nextRows }, what: `${names}: ${String(columns.rows)} rows at a time, in order` };
  },
};

/** What of the next rows is prefetched in the order of memory; undefined where rows are not of whole vectors, or nothing is to be. */
export function nextColumnRows(
  planning: Planning,
  { columns, nodes, unit }: ColumnBlock,
): readonly PlannedPrefetch[] | undefined {
  const { lanes, rows, block: width, axis } = columns;
  const isExact =
    unit === undefined ? isMultipleOf(axis.extent, width) : isMultipleOf(axis.extent, unit) && unit % width === 0;
  if (rows < 2 || !isExact || width % (lanes * rows) !== 0) return undefined;
  const loads = nodes.flatMap(loadsOf);
  const rowLoads = loads
    .filter((load, place) => loads.findIndex((other) => isSameLoad(other, load)) === place)
    .filter((load) => isRowOfColumns(planning, load, columns));
  if (rowLoads.length === 0) return undefined;
  return rowLoads
    .filter(({ buffer }) => exceedsCaches(planning, buffer))
    .map((load) => prefetchOf(planning, load, { into: 'second' }));
}

function isRowOfColumns(
  planning: Planning,
  { buffer, position }: Load,
  { axis, over, lanes, rows }: ColumnPlan,
): boolean {
  const isLine = !hasIndirect(position) && strideAlong(position, axis.name) === 1;
  const isFurther = strideAlong(position, over.at(-1)?.name ?? '') !== 0;
  const isWholeLines = (lanes * rows * planning.memory.bytesOf(buffer)) % lineBytes === 0;
  return isLine && isFurther && isWholeLines && isRowOf(planning, buffer, { axis, ...planning.choices.prefetchedRows });
}
