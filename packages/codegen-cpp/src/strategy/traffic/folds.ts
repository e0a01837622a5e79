// How a loop whose lanes are points of one reduced axis reads memory. In: the nodes of the loop, and what the other loops of its region
// prefetch. Out: its lanes, fewer where narrow loads gain, and how many sequences it reads a row as.
import { hasIndirect, isLeaf, staticValue, strideAlong } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { Axis, BufferId, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { memoryBound, rowsOf } from '../../machine/measure.ts';
import { foldLane, reductionBands } from '../plan/chunks.ts';
import type { FoldLane } from '../plan/chunks.ts';
import type { Planning } from '../plan/planning.ts';
import type { RegionPlan } from '../plan/region.ts';
import { isRowOf, isSameLoad, loadsOf } from '../plan/rows.ts';
import type { RowOf } from '../plan/rows.ts';
import { operationsOf } from '../plan/work.ts';
import { namesOf, runRules } from './rule.ts';
import type { Decided, TrafficRule } from './rule.ts';
import type { RegionTraffic } from './traffic.ts';

/** A loop over lanes that are joined into one state. */
interface Fold {
  readonly nodes: readonly LoopNode[];
  readonly over: readonly LoopBand[];
  readonly lane: FoldLane;
  /** Points of the first axis that it goes over at a time, where that is known: all of them, or a chunk. */
  readonly length: number | undefined;
  /** What other loops of the region prefetch: then another pass reads the rows as well. */
  readonly prefetchedElsewhere: ReadonlySet<BufferId>;
}

export interface FoldTraffic extends Decided {
  /** The axis whose points are lanes. */
  readonly axis: string;
  readonly lanes: number;
  /** Sequences that a row is read as; one in neighbouring vectors. */
  readonly streams: number;
  /** States side by side, each advanced by a vector of its own. */
  readonly accumulators: number;
}

type FoldRule = TrafficRule<Fold, FoldTraffic>;

const onlyAxis = ({ over }: Fold): Axis | undefined => (over.length > 1 ? undefined : over[0]?.axis);

/** Whether reductions alone read one row of memory, which no other pass reads: such a pass waits for memory, and for nothing else. */
function isPassOver(planning: Planning, { nodes, prefetchedElsewhere }: Fold, row: RowOf): boolean {
  const [first, ...others] = nodes.flatMap(loadsOf);
  if (first === undefined || others.some((other) => !isSameLoad(first, other))) return false;
  const { buffer, position } = first;
  if (nodes.some(({ kind }) => kind !== 'reduce') || hasIndirect(position)) return false;
  if (strideAlong(position, row.axis.name) !== 1) return false;
  return !prefetchedElsewhere.has(buffer) && isRowOf(planning, buffer, row);
}

const narrowLoadsRule: FoldRule = {
  name: 'narrow loads',
  doc: 'a pass over memory that does little has more lines on their way where each is loaded in two halves',
  measure: memoryBound('in memory', 'full sum', 'row sum'),
  applies: ({ choices }) => choices.narrowLoadBytes < Infinity,
  plan: (planning, fold, traffic) => {
    const axis = onlyAxis(fold);
    const { memoryBytes, narrowLoads } = planning.choices;
    const limits = { bufferBytes: memoryBytes, leastRow: narrowLoads.leastRow, mostRow: Infinity };
    if (axis === undefined || !isPassOver(planning, fold, { axis, ...limits })) return undefined;
    const buffers = fold.nodes.flatMap(loadsOf).map(({ buffer }) => buffer);
    const lanes = narrowedLanes(planning, { nodes: fold.nodes, buffers }, traffic.lanes);
    if (lanes >= traffic.lanes) return undefined;
    return {
      traffic: { ...traffic, lanes },
      what: `${namesOf(planning, buffers)}: loaded in ${String(lanes)} lanes along ${axis.name}`,
    };
  },
};

interface Passing {
  readonly nodes: readonly LoopNode[];
  readonly buffers: readonly BufferId[];
}

/** So many of `lanes` that `buffers` come in narrow loads; all, where much is done with each point. */
export function narrowedLanes({ memory, choices }: Planning, { nodes, buffers }: Passing, lanes: number): number {
  const operations = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  if (operations > choices.narrowLoads.mostOperations) return lanes;
  return Math.min(lanes, choices.narrowLoadBytes / Math.max(...buffers.map((buffer) => memory.bytesOf(buffer))));
}

const rowStreamsRule: FoldRule = {
  name: 'row streams',
  doc: 'two halves of a row side by side are two sequences for the hardware prefetcher, and few enough sums that more lines are on their way',
  measure: rowsOf('pointwise', 'row sum [8192,8192]'),
  applies: ({ choices }) => !choices.prefetchesInAddressOrder,
  plan: (planning, fold, traffic) => {
    const axis = onlyAxis(fold);
    const { count, ...limits } = planning.choices.rowStreams;
    const { length } = fold;
    if (axis === undefined || length === undefined || length % (count * traffic.lanes) !== 0) return undefined;
    if (!isPassOver(planning, fold, { axis: { ...axis, extent: int(length) }, ...limits })) return undefined;
    return {
      traffic: { ...traffic, streams: count },
      what: `rows along ${axis.name} are read as ${String(count)} sequences at once`,
    };
  },
};

export const foldRules: readonly FoldRule[] = [narrowLoadsRule, rowStreamsRule];

/** How a fold reads memory, and how many states it has side by side. */
export function planFold(planning: Planning, fold: Fold): FoldTraffic {
  const { axis, lanes } = fold.lane;
  const none: FoldTraffic = { axis, lanes, streams: 1, accumulators: 1, decisions: [] };
  const traffic = runRules(planning, foldRules, { region: fold, none });
  const accumulators = traffic.streams > 1 ? traffic.streams : accumulatorsOf(planning, fold, traffic.lanes);
  return { ...traffic, accumulators };
}

/** More than one where a vector loop is long enough to be bound by the latency of its own results. */
function accumulatorsOf({ choices }: Planning, { nodes, over, lane }: Fold, lanes: number): number {
  if (nodes.some((node) => node.kind !== 'reduce')) return 1;
  const axis = over.find((band) => band.axis.name === lane.axis)?.axis;
  const extent = axis === undefined ? undefined : staticValue(axis.extent);
  const states = nodes.reduce((sum, node) => sum + (node.kind === 'reduce' ? node.state.length : 0), 0);
  const most = Math.ceil(choices.accumulators / (states > 4 ? 4 : states > 2 ? 2 : 1));
  return extent === undefined || extent >= 2 * most * lanes ? most : 1;
}

/** The folds of a region: of each innermost tree whose lanes are points of an axis that it reduces or scans. */
export function planFolds(
  planning: Planning,
  region: RegionPlan,
  { prefetches }: RegionTraffic,
): RegionTraffic['folds'] {
  const folds = new Map<LoopTree, FoldTraffic>();
  for (const { tree, nodes, shared } of [region, ...region.below.values()]) {
    const lane = isLeaf(tree) ? foldLane(tree, shared) : undefined;
    if (lane === undefined) continue;
    const over = reductionBands(tree);
    const elsewhere = [...prefetches].flatMap(([leaf, own]) => (leaf === tree ? [] : own.map(({ buffer }) => buffer)));
    const length = over[0] === undefined ? undefined : staticValue(over[0].axis.extent);
    folds.set(tree, planFold(planning, { nodes, over, lane, length, prefetchedElsewhere: new Set(elsewhere) }));
  }
  return folds;
}

/** What a kernel notes of a fold whose lanes were narrowed. */
export const narrowedNote = (axis: string, lanes: number): string => `loads of ${String(lanes)} lanes along ${axis}`;
