// Scans of few long rows in three steps: chunks of a row give their totals, in parallel; the totals of a row are joined in order,
// into the state before each chunk; then each chunk is scanned from that state, in parallel (Blelloch, Prefix sums and their
// applications, 1990). In: an innermost tree with scans, and maps before and after them. Out: how it is cut, or nothing, with
// the reason where its sizes ask for it.
//
// What a scan reads is read twice, so rows are cut where threads are twice as many as rows, or more. So a row alone has the same
// results on any number of threads from two on, and several rows on any from two for each: the chunks follow from sizes and vectors.
// Totals have lanes and accumulators as reductions do, with points between each other's: what a scan joins is a reduction's.
import { at } from '@tsinductor/base';
import { isLeaf, parallelBands, strideAlong, typicalValue } from '@tsinductor/codegen';
import { equal } from '@tsinductor/ir';
import type { Body, BufferId, Index, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { chunksOf, reductionBands } from './chunks.ts';
import type { RowChunks } from './chunks.ts';
import { chooseLanes } from './lanes.ts';
import type { LaneChoice } from './lanes.ts';
import { narrowed } from './narrow-scan.ts';
import { nodesOf } from './planning.ts';
import type { Planning } from './planning.ts';
import { planRegion } from './region.ts';
import type { RegionPlan } from './region.ts';
import { pointBodies } from './work.ts';

/** How a tree's scans are cut. */
export interface SplitScan {
  readonly region: RegionPlan;
  readonly band: LoopBand;
  readonly rows: RowChunks;
  /** What gives the totals: reductions with the scans' states, and the maps that their steps read; and its lanes. */
  readonly totals: readonly LoopNode[];
  readonly lanes: LaneChoice;
}

/** Why a tree is not cut whose sizes ask for it. */
interface KeptWhole {
  readonly axis: string;
  readonly reason: string;
}

export const isCut = (split: SplitScan | KeptWhole): split is SplitScan => 'region' in split;

/** How a tree is cut, where it is scans of rows so long, and so few, that it gains. */
export function planSplitScan(planning: Planning, tree: LoopTree): SplitScan | KeptWhole | undefined {
  const nodes = nodesOf(planning, tree);
  const [band] = reductionBands(tree);
  const { splitReductions = true, leastSplits = 0, threads } = planning.target;
  const { reductionChunk } = planning.choices;
  const isAllowed = splitReductions && threads >= 2;
  if (!isAllowed || band === undefined || !areLongScans(tree, nodes, 4 * reductionChunk)) return undefined;
  const region = planRegion(planning, tree);
  const totals = totalsOf(nodes);
  const lanes = chooseLanes(tree.loops, totals, planning);
  const unit = Math.max(
    ...[region.shared, lanes].map((one) => (one.axis?.name === band.axis.name ? 4 * one.lanes : 1)),
  );
  const rows = chunksOf(tree, band, { unit, about: reductionChunk });
  const chunks = typicalValue(rows.chunks);
  if (threads < 2 * unitsOf(region) || chunks < Math.max(2, leastSplits)) return undefined;
  const reason = obstacle(planning, nodes, region);
  return reason === undefined ? { region, band, rows, totals, lanes } : { axis: band.axis.name, reason };
}

/** Whether an innermost tree scans one axis, and has points enough that threads pay. */
function areLongScans(tree: LoopTree, nodes: readonly LoopNode[], least: number): boolean {
  const points = tree.loops.reduce((product, { axis }) => product * typicalValue(axis.extent), 1);
  const isRow = isLeaf(tree) && reductionBands(tree).length === 1;
  return isRow && points >= least && nodes.some(({ kind }) => kind === 'scan');
}

/** Into how many units a region falls that is not cut: rows, or vectors of neighbouring rows. */
function unitsOf({ tree, shared }: RegionPlan): number {
  const extents = parallelBands(tree).map(({ axis }) => {
    const extent = typicalValue(axis.extent);
    return axis.name === shared.axis?.name ? Math.ceil(extent / shared.lanes) : extent;
  });
  return extents.reduce((left, right) => left * right, 1);
}

type AnyLoad = Body['nodes'][number] & { readonly kind: 'load' };

const loadsIn = (bodies: readonly Body[]): readonly AnyLoad[] =>
  bodies.flatMap(({ nodes }) => nodes.filter((scalar) => scalar.kind === 'load'));

/** The scans as reductions, of narrower states where these may be, and the maps that give what they read, in order. */
function totalsOf(nodes: readonly LoopNode[]): readonly LoopNode[] {
  const wanted = new Set<BufferId>();
  const want = (bodies: readonly Body[]): void => {
    for (const { buffer } of loadsIn(bodies)) wanted.add(buffer);
  };
  const totals: LoopNode[] = [];
  for (const node of nodes.toReversed()) {
    if (node.kind === 'scan') {
      totals.unshift({ ...(narrowed(node) ?? node), kind: 'reduce' });
      want([node.step]);
    } else if (node.outs.some((out) => wanted.has(out))) {
      totals.unshift(node);
      want(pointBodies(node));
    }
  }
  return totals;
}

/** Why the rows of a tree cannot be cut. */
function obstacle(
  planning: Planning,
  nodes: readonly LoopNode[],
  { tree, tiles, columns }: RegionPlan,
): string | undefined {
  if (tiles !== undefined) return 'tiles hold the states of several rows';
  if (columns !== undefined) return 'blocks of columns hold the states of their rows';
  if (nodes.some(({ kind }) => kind !== 'map' && kind !== 'scan'))
    return 'something else is computed in the same loops';
  const written = new Map<BufferId, Index>();
  for (const node of nodes) node.outs.forEach((out, slot) => written.set(out, at(node.writes, slot)));
  const [axis] = reductionBands(tree).map((band) => band.axis.name);
  const isPoint = (buffer: BufferId, position: Index): boolean => {
    const inMemory = !planning.memory.isVirtual(buffer) || planning.memory.row(buffer) !== undefined;
    return !inMemory || (strideAlong(position, axis ?? '') ?? 0) !== 0;
  };
  if (![...written].every(([buffer, position]) => isPoint(buffer, position)))
    return 'a result does not have an element for each point';
  for (const { buffer, at: position } of loadsIn(nodes.flatMap(pointBodies))) {
    const own = written.get(buffer);
    if (own !== undefined && !isScalar(planning, buffer) && !equal(own, position))
      return 'results are read elsewhere than where they are written';
  }
  return readsScans(nodes) ? 'a scan follows another' : undefined;
}

const isScalar = ({ group }: Planning, buffer: BufferId): boolean =>
  group.locals.some((local) => local.buffer === buffer && local.kind === 'scalar');

/** Whether what gives the totals of a scan reads a scan's results. */
function readsScans(nodes: readonly LoopNode[]): boolean {
  const scanned = new Set(nodes.flatMap((node) => (node.kind === 'scan' ? node.outs : [])));
  const read = totalsOf(nodes).flatMap((node) => loadsIn(pointBodies(node)));
  return read.some(({ buffer }) => scanned.has(buffer));
}
