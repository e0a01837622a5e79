// The memory traffic of reductions and scans that are cut in chunks: what the pass over a chunk prefetches, and how it reads memory. In:
// how the axis is cut, and what gives the states of a chunk. Out: its traffic.
import { staticValue } from '@tsinductor/codegen';
import type { LoopBand, LoopNode } from '@tsinductor/ir';
import { memoryBound } from '../../machine/measure.ts';
import type { FoldLane, RowChunks } from '../plan/chunks.ts';
import type { ColumnPlan } from '../plan/columns.ts';
import type { Planning } from '../plan/planning.ts';
import { nextColumnRows } from './column-rows.ts';
import { narrowedNote, planFold } from './folds.ts';
import type { FoldTraffic } from './folds.ts';
import { longRowPrefetches } from './passes.ts';
import type { PlannedPrefetch } from './prefetch.ts';
import { namesOf, runRules } from './rule.ts';
import type { Decided, TrafficRule } from './rule.ts';

/** A pass over the chunks of an axis. */
interface ChunkPass {
  readonly rows: RowChunks;
  readonly nodes: readonly LoopNode[];
  readonly over: readonly LoopBand[];
  readonly lane: FoldLane | undefined;
  readonly columns?: ColumnPlan | undefined;
}

export interface SplitTraffic extends Decided {
  readonly prefetches: readonly PlannedPrefetch[];
  readonly nextRows: readonly PlannedPrefetch[] | undefined;
  readonly fold: FoldTraffic | undefined;
  readonly notes: readonly string[];
}

type ChunkRule = TrafficRule<ChunkPass, SplitTraffic>;

const longChunksRule: ChunkRule = {
  name: 'long rows',
  doc: 'rows that are too long to prefetch the next one are prefetched some lines further on',
  measure: memoryBound('in memory', 'full sum'),
  applies: ({ choices }, { columns }) => choices.prefetchesStreams && columns === undefined,
  plan: (planning, { nodes, rows }, traffic) => {
    const prefetches = longRowPrefetches(planning, nodes, rows.axis);
    if (prefetches.length === 0) return undefined;
    const names = namesOf(
      planning,
      prefetches.map(({ buffer }) => buffer),
    );
    const how = `${String(planning.choices.longRowDistance)} bytes further on`;
    return { traffic: { ...traffic, prefetches }, what: `${names}: prefetched ${how}` };
  },
};

const columnChunksRule: ChunkRule = {
  name: 'column rows in order',
  doc: 'the hardware prefetcher follows lines in the order of their addresses alone, and columns are read a line of each row',
  measure: memoryBound('in memory', 'column sum'),
  applies: ({ choices }, { columns }) => choices.prefetchesInAddressOrder && columns !== undefined,
  plan: (planning, { columns, nodes }, traffic) => {
    const nextRows = columns && nextColumnRows(planning, { columns, nodes, unit: undefined });
    if (nextRows === undefined || columns === undefined) return undefined;
    const names = namesOf(
      planning,
      nextRows.map(({ buffer }) => buffer),
    );
    return { traffic: { ...traffic, nextRows }, what: `${names}: ${String(columns.rows)} rows at a time, in order` };
  },
};

export const chunkRules: readonly ChunkRule[] = [longChunksRule, columnChunksRule];

export function planSplitTraffic(planning: Planning, pass: ChunkPass): SplitTraffic {
  const { rows, nodes, over, lane } = pass;
  const none: SplitTraffic = { prefetches: [], nextRows: undefined, fold: undefined, notes: [], decisions: [] };
  const traffic = runRules(planning, chunkRules, { region: pass, none });
  if (lane === undefined) return traffic;
  const length = lengthOfChunks(rows);
  const fold = planFold(planning, { nodes, over, lane, length, prefetchedElsewhere: new Set() });
  const notes = fold.lanes < lane.lanes ? [narrowedNote(rows.axis.name, fold.lanes)] : [];
  return { ...traffic, fold, notes, decisions: [...traffic.decisions, ...fold.decisions] };
}

/** Points of every chunk, where all have as many. */
function lengthOfChunks({ axis, chunk, chunks }: RowChunks): number | undefined {
  const [extent, points] = [staticValue(axis.extent), staticValue(chunk)];
  if (extent === undefined || points === undefined) return undefined;
  if (staticValue(chunks) === 1) return extent;
  return extent % points === 0 ? points : undefined;
}
