// How a tree of loops is laid out before it is written: which axis has the lanes, what goes through tiles, what is
// distributed over threads and in how large units.
import { get } from '@tsinductor/base';
import {
  isLeaf,
  isMultipleOf,
  nodesBelow,
  parallelBands,
  staticValue,
  strideAlong,
  typicalValue,
} from '@tsinductor/codegen';
import { ceilDivide, floorDivide, int, maximum, minimum, multiply } from '@tsinductor/ir';
import type { Axis, Index, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { chunkCycles, chunks, stackScratchBytes, unitsPerThread } from '../target.ts';
import { blockedBy, planColumns } from './columns.ts';
import type { ColumnPlan } from './columns.ts';
import { chooseLanes, cyclesAlong, lanesAlong, pointWork } from './lane-choice.ts';
import type { LaneChoice } from './lane-choice.ts';
import { loadsOf } from './memory-rows.ts';
import { isLarge, nodeAt } from './nest.ts';
import type { Nest } from './nest.ts';
import { besideOf } from './side-by-side.ts';
import { planTiles, unitRows, writesLines } from './tile.ts';
import type { TilePlan } from './tile.ts';

/** How the outermost tree is laid out. */
export interface RegionPlan {
  readonly tree: LoopTree;
  /** The axis whose lanes everything below shares; undefined where each innermost tree has its own. */
  readonly shared: LaneChoice;
  /** Elements of the shared axis that one unit has, where that axis is distributed. */
  readonly block: number | undefined;
  /** Accesses across the grain, and the elements per unit of the axis that they run along. */
  readonly tiles: TilePlan | undefined;
  readonly tileBlock: number;
  readonly columns: ColumnPlan | undefined;
  readonly cycles: number;
}

export const leavesOf = (tree: LoopTree): readonly LoopTree[] =>
  isLeaf(tree) ? [tree] : tree.children.flatMap((child) => (child.kind === 'node' ? [] : leavesOf(child)));

export const nodesOf = (nest: Nest, tree: LoopTree): readonly LoopNode[] =>
  nodesBelow(tree).map((index) => nodeAt(nest, index));

/** The lanes of the whole region: of the tree itself if it is innermost, else of a shared axis if that is cheaper. */
export function chooseShared(nest: Nest, tree: LoopTree): LaneChoice {
  const nodes = nodesOf(nest, tree);
  if (isLeaf(tree)) return chooseLanes(tree.loops, nodes, nest);
  const none: LaneChoice = { axis: undefined, lanes: 1, cycles: 0 };
  let best = none;
  let cost = 0;
  for (const leaf of leavesOf(tree)) cost += chooseLanes(leaf.loops, nodesOf(nest, leaf), nest).cycles;
  best = { ...none, cycles: cost };
  if (nodes.some((node) => node.kind === 'scan')) return best;
  const works = leavesOf(tree).map((leaf) => pointWork(nodesOf(nest, leaf)));
  for (const band of parallelBands(tree)) {
    const lanes = lanesAlong(band.axis, nodes, nest);
    const cycles = works.reduce((sum, work) => sum + cyclesAlong(band, { bands: [], work, machine: nest }), 0);
    if (lanes > 1 && cycles < best.cycles * 0.9 && rowsFit(nest, lanes)) best = { axis: band.axis, lanes, cycles };
  }
  return best;
}

/** Whether rows of scratch still fit on a stack where each element has so many lanes. */
const rowsFit = (nest: Nest, lanes: number): boolean =>
  nest.group.locals.every(({ buffer, kind, size }) => {
    const elements = staticValue(size);
    return (
      kind === 'scalar' ||
      (elements !== undefined && elements * lanes * nest.memory.bytesOf(buffer) <= stackScratchBytes)
    );
  });

export function planRegion(nest: Nest, tree: LoopTree): RegionPlan {
  const shared = chooseShared(nest, tree);
  const inner = leavesOf(tree).map((leaf) => {
    const own = leaf === tree ? leaf.loops.filter((band) => band.role === 'reduction') : leaf.loops;
    const points = own.reduce((left, band) => left * Math.max(1, typicalValue(band.axis.extent)), 1);
    return points * (leaf === tree ? shared.cycles : chooseLanes(leaf.loops, nodesOf(nest, leaf), nest).cycles);
  });
  const cycles = 4 + inner.reduce((left, right) => left + right, 0);
  const bands = parallelBands(tree);
  const distributed = bands.some((band) => band.axis.name === shared.axis?.name);
  const tiles = isLeaf(tree) ? planTiles(nest, { tree, nodes: nodesOf(nest, tree), choice: shared }) : undefined;
  const columns =
    isLeaf(tree) && tiles === undefined ? planColumns(nest, { tree, nodes: nodesOf(nest, tree) }, shared) : undefined;
  if (tiles?.block.order === 'across')
    return { tree, shared, cycles, tiles, columns, ...acrossBlocks(nest, { bands, tiles, lanes: shared.lanes }) };
  const block = distributed ? blockSize(nest, { tree, shared, cycles, columns }) : undefined;
  const tileBlock =
    tiles === undefined ? 1 : tileBlockSize(tiles, { lanes: shared.lanes, threads: nest.target.threads });
  return { tree, shared, cycles, tiles, tileBlock, columns: columns && blockedBy(columns, block), block };
}

interface TileUnits {
  readonly bands: readonly LoopBand[];
  readonly tiles: TilePlan;
  readonly lanes: number;
}

/** Units of whole blocks, as long as they can be across the grain; parts of the lanes' axis where threads would go without. */
function acrossBlocks(nest: Nest, { bands, tiles, lanes }: TileUnits): Pick<RegionPlan, 'block' | 'tileBlock'> {
  const { across, lane, block } = tiles;
  const rounded = (extent: number, unit: number): number => Math.ceil(extent / unit) * unit;
  const extent = typicalValue(across.extent);
  const tileBlock = Math.min(lanes * block.across, rounded(extent, lanes));
  const others = bands.filter(({ axis }) => axis.name !== across.name && axis.name !== lane.name);
  const units = others.reduce((left, { axis }) => left * typicalValue(axis.extent), Math.ceil(extent / tileBlock));
  const parts = (nest.target.threads * unitsPerThread) / units;
  return { tileBlock, block: parts <= 1 ? undefined : rounded(typicalValue(lane.extent) / parts, lanes * 4) };
}

/**
 * The parallel loops in the order in which they are run, outermost first. Results that go past the caches by whole lines may be
 * written in any order: then large arrays are read as they lie. (Measured on a Cascade Lake: rows of 256 bytes, exchanged with
 * another axis, take half as long so as in the order of the result.)
 */
export function runningOrder(nest: Nest, { tree, shared }: RegionPlan): readonly LoopBand[] {
  const bands = parallelBands(tree);
  const nodes = nodesOf(nest, tree);
  if (
    shared.axis === undefined ||
    !isLeaf(tree) ||
    !writesLines(nest, nodes, { axis: shared.axis, lanes: shared.lanes })
  )
    return bands;
  const large = nodes.flatMap(loadsOf).filter(({ buffer }) => isLarge(nest.memory.decl(buffer)));
  const strideOf = ({ axis }: LoopBand): number =>
    large.reduce((sum, { position }) => sum + Math.abs(strideAlong(position, axis.name) ?? Number.NaN), 0);
  const strides = new Map(bands.map((band) => [band, strideOf(band)]));
  if (large.length === 0 || [...strides.values()].some(Number.isNaN)) return bands;
  return bands.toSorted((left, right) => get(strides, right) - get(strides, left));
}

/** Elements per unit along the tiles' axis: whole blocks of tiles, smaller ones where threads would go without a unit. */
function tileBlockSize({ across, block }: TilePlan, { lanes, threads }: { lanes: number; threads: number }): number {
  return Math.max(lanes, Math.min(lanes * block.across, unitRows(across, { lanes, threads })));
}

/** Elements per unit of a distributed lane axis, or undefined where the other axes give units enough. */
function blockSize(
  nest: Nest,
  { tree, shared, cycles, columns }: Pick<RegionPlan, 'tree' | 'shared' | 'cycles' | 'columns'>,
): number | undefined {
  const others = parallelBands(tree).filter((band) => band.axis.name !== shared.axis?.name);
  const units = others.reduce((left, band) => left * typicalValue(band.axis.extent), 1);
  const { threads } = nest.target;
  if (shared.axis === undefined || (others.length > 0 && units >= threads * unitsPerThread)) return undefined;
  const { instances } = besideOf(nest, { tree, shared }, { nodes: nodesOf(nest, tree), axis: shared.axis });
  const wide = shared.lanes * Math.max(4, instances);
  if (columns !== undefined) {
    const each = Math.ceil(typicalValue(shared.axis.extent) / threads / wide) * wide;
    return Math.max(4 * wide, Math.min(columns.block, each));
  }
  const enough = Math.ceil(chunkCycles(nest.target) / cycles / 4 / wide) * wide;
  const spread = Math.ceil(typicalValue(shared.axis.extent) / (threads * unitsPerThread) / wide) * wide;
  return evenBlock(shared.axis, { block: Math.max(wide, Math.min(enough, spread, 4096)), wide });
}

/** The next lower power of two of vectors where these divide the axis, so that no unit has a rest of its own. */
function evenBlock({ extent }: Axis, { block, wide }: { readonly block: number; readonly wide: number }): number {
  const even = wide * 2 ** Math.floor(Math.log2(block / wide));
  return isMultipleOf(extent, even) ? even : block;
}

/** Says in the kernel's notes how a region was laid out. */
export function noteLayout(nest: Nest, { shared, tree, tiles, columns }: RegionPlan): void {
  const axes = tree.loops.map((band) => band.axis.name).join(' ');
  if (columns !== undefined)
    nest.notes.push(`${String(columns.rows)} rows at a time into ${String(columns.block)} columns`);
  if (tiles !== undefined) nest.notes.push(`tiles turned along ${tiles.across.name}`);
  nest.notes.push(
    shared.axis === undefined ? `loops ${axes}` : `loops ${axes}, ${String(shared.lanes)} lanes of ${shared.axis.name}`,
  );
}

/**
 * Units per chunk: work that pays for a thread, and one chunk for each thread, or several where each of them has work that is worth a
 * claim. (Measured on two cores of a shared machine: logits of 64 MB, whose exponentials take all of a core, take 6 % less in 32
 * chunks than in 8. On a Redwood Cove a claim waits some 70 ns for what was stored before: 3 to 4 us of rows take 4 to 8 % less in
 * two chunks than in 8. On a Zen 4 sums over an axis of 256 KB take 6 to 9 % less so; of 38 such kernels the mean, and what a third-level
 * cache has, differ by no more than two equal builds do.)
 */
export function grainOf(nest: Nest, total: Index, cyclesPerUnit: number): Index {
  const { threads, anyThreads = false } = nest.target;
  const unitsFor = (cycles: number): number => Math.min(mostUnits, Math.max(1, Math.ceil(cycles / cyclesPerUnit)));
  const least = chunkCycles(nest.target);
  const worthwhile = floorDivide(total, int(threads * unitsFor(chunks.claimed * least)));
  const areSeveral = minimum(int(1), floorDivide(worthwhile, int(chunks.several)));
  const perThread = minimum(worthwhile, multiply(areSeveral, int(chunks.most)));
  const parts = maximum(perThread, int(anyThreads ? chunks.several : 1));
  return maximum(int(unitsFor(least)), ceilDivide(total, multiply(int(threads), parts)));
}

/** More units than any loop has, and few enough to be reckoned with. */
const mostUnits = 2 ** 40;

/** Whether a loop of `tree` is a reduction's (or scan's) over `axis`. */
export const isReduced = (tree: LoopTree, axis: Axis): boolean =>
  tree.loops.some((band) => band.role === 'reduction' && band.axis.name === axis.name);
