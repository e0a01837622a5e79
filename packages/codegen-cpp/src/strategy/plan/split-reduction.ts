// Reductions to few results in two steps: chunks of the reduced axis give partial states, in parallel, then the states of
// a result are merged in order. The chunks follow from sizes alone, so that a sum does not depend on the threads. In: a tree. Out: how it
// is cut; nothing where it is not reductions alone, long ones, to fewer results than would keep the threads busy.
import { isLeaf, parallelBands, typicalValue } from '@tsinductor/codegen';
import type { LoopBand, LoopTree } from '@tsinductor/ir';
import { chunksOf, foldLane, reductionBands } from './chunks.ts';
import type { FoldLane, RowChunks } from './chunks.ts';
import { isOfMemory, planColumns } from './columns.ts';
import type { ColumnPlan } from './columns.ts';
import type { LaneChoice } from './lanes.ts';
import { nodesOf } from './planning.ts';
import type { Planning } from './planning.ts';
import { chooseShared } from './region.ts';
import { loadsOf } from './rows.ts';
import type { Carrying } from './work.ts';

export interface SplitReduction {
  readonly rows: RowChunks;
  readonly nodes: readonly (Carrying & { readonly kind: 'reduce' })[];
  readonly shared: LaneChoice;
  /** The lanes, where they are points of a reduced axis. */
  readonly lane: FoldLane | undefined;
  /** Blocks of columns, where chunks are whole rows. */
  readonly columns: ColumnPlan | undefined;
}

const extentProduct = (bands: readonly LoopBand[]): number =>
  bands.reduce((left, band) => left * typicalValue(band.axis.extent), 1);

/** So few units that threads would go without one, and so few points of the cut axis that nothing is to be gained. */
const [fewUnits, fewPoints] = [16, 8] as const;

export function planSplitReduction(planning: Planning, tree: LoopTree): SplitReduction | undefined {
  const all = nodesOf(planning, tree);
  const nodes = all.filter((node) => node.kind === 'reduce');
  const { splitReductions = true, leastSplits = 0 } = planning.target;
  const [first] = reductionBands(tree);
  if (!splitReductions || first === undefined || !isLeaf(tree) || nodes.length < all.length) return undefined;
  const shared = chooseShared(planning, tree);
  if (extentProduct(tree.loops) < 4 * planning.choices.reductionChunk) return undefined;
  const columns = columnsOf(planning, tree, shared);
  const isBusy = unitsOf(tree, shared) >= fewUnits && columns === undefined;
  if (isBusy || typicalValue(first.axis.extent) < fewPoints) return undefined;
  const rows = chunksOf(tree, first, chunkSize(planning, { first, shared, columns }));
  if (typicalValue(rows.chunks) < leastSplits) return undefined;
  return { rows, nodes, shared, lane: foldLane(tree, shared), columns };
}

/** Into how many units the results fall: vectors of them, four at a time, where results are the lanes. */
function unitsOf(tree: LoopTree, { axis, lanes }: LaneChoice): number {
  const outer = parallelBands(tree);
  const hasOuterLanes = outer.some((band) => band.axis.name === axis?.name);
  return hasOuterLanes ? extentProduct(outer) / (lanes * 4) : extentProduct(outer);
}

interface Cut {
  readonly first: LoopBand;
  readonly shared: LaneChoice;
  readonly columns: ColumnPlan | undefined;
}

function chunkSize({ choices }: Planning, { first, shared, columns }: Cut): { unit: number; about: number } {
  if (columns !== undefined) return { unit: columns.rows, about: choices.columnChunk.elements };
  return { unit: shared.axis?.name === first.axis.name ? shared.lanes * 4 : 1, about: choices.reductionChunk };
}

/**
 * How the columns of an array of memory are reduced where its rows are so short that threads which share its columns would read
 * parts of rows, and so few results come of it that chunks of rows are cheaply merged.
 */
function columnsOf(planning: Planning, tree: LoopTree, shared: LaneChoice): ColumnPlan | undefined {
  const nodes = nodesOf(planning, tree);
  const plan = planColumns(planning, { tree, nodes }, shared);
  const loads = nodes.flatMap(loadsOf);
  if (plan === undefined || !loads.some(({ buffer }) => isOfMemory(planning, buffer, plan.axis))) return undefined;
  const rowBytes = loads.map(({ buffer }) => planning.memory.bytesOf(buffer) * typicalValue(plan.axis.extent));
  const isAlone = parallelBands(tree).every(({ axis }) => axis.name === plan.axis.name);
  return isAlone && Math.max(...rowBytes) <= planning.choices.columnChunk.rowBytes ? plan : undefined;
}
