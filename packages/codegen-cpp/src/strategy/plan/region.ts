// How a region, a tree of loops with a parallel loop of its own, is laid out before it is written: which axis has the lanes, what goes
// through tiles, what is distributed over threads and in how large units. In: the tree. Out: the plan of it and of every tree below.
import { isLeaf, isMultipleOf, parallelBands, product, staticValue, typicalValue } from '@tsinductor/codegen';
import type { Axis, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { chunkCycles } from '../../machine/target.ts';
import { blockedBy, planColumns } from './columns.ts';
import type { ColumnPlan } from './columns.ts';
import { interleaveOf } from './interleave.ts';
import type { Interleave } from './interleave.ts';
import { partsOf, wholePart } from './lane-parts.ts';
import type { LanePart } from './lane-parts.ts';
import { chooseLanes, cyclesAlong, lanesAlong } from './lanes.ts';
import type { LaneChoice } from './lanes.ts';
import { runningOrder, runsOf } from './order.ts';
import type { RowRuns } from './order.ts';
import { leavesOf, nodesOf } from './planning.ts';
import type { Planning } from './planning.ts';
import { planTileCopy } from './tile-copy.ts';
import type { TileCopy } from './tile-copy.ts';
import { planTiles, runsAcross, unitRows } from './tiles.ts';
import type { TilePlan } from './tiles.ts';
import { blocksOf, inRuns } from './unit-axes.ts';
import type { UnitAxis } from './unit-axes.ts';
import { pointWork } from './work.ts';

/** How a tree inside a region is laid out: its own plain loops, and in an innermost tree the vectors. */
export interface TreePlan {
  readonly tree: LoopTree;
  readonly nodes: readonly LoopNode[];
  /** The lanes of its loops; none where trees below have their own, or the loops around it have them. */
  readonly shared: LaneChoice;
  /** Its parallel loops in the order in which they are run, outermost first. */
  readonly order: readonly LoopBand[];
  /** The vectors along an axis of parallel loops, in parts where that decides something. */
  readonly parts: readonly PartPlan[];
  /** Whether the loop over the lanes goes over the whole axis, in an innermost tree: else a unit has a part of it. */
  readonly isWhole: boolean;
}

export interface PartPlan extends LanePart {
  readonly interleave: Interleave;
}

export interface RegionPlan extends TreePlan {
  /** Elements of the shared axis that one unit has, where that axis is distributed. */
  readonly block: number | undefined;
  /** Accesses across the grain, and the elements per unit of the axis that they run along. */
  readonly tiles: TilePlan | undefined;
  /** How tiles are copied that nothing is computed with. */
  readonly copy: TileCopy | undefined;
  readonly tileBlock: number;
  readonly columns: ColumnPlan | undefined;
  readonly cycles: number;
  /** Short rows of results that are written one after another. */
  readonly runs: RowRuns | undefined;
  /** The factors of the units that threads share; undefined where plain loops are as good. */
  readonly units: readonly UnitAxis[] | undefined;
  /** The trees below it, each with loops of its own. */
  readonly below: ReadonlyMap<LoopTree, TreePlan>;
}

const noLanes: LaneChoice = { axis: undefined, lanes: 1, cycles: 0 };

/** The lanes of each innermost tree by itself. */
type LeafLanes = ReadonlyMap<LoopTree, LaneChoice>;

const leafLanes = (planning: Planning, tree: LoopTree): LeafLanes =>
  new Map(leavesOf(tree).map((leaf) => [leaf, chooseLanes(leaf.loops, nodesOf(planning, leaf), planning)]));

/** The lanes of the whole region: of the tree itself if it is innermost, else of a shared axis if that is cheaper. */
export const chooseShared = (planning: Planning, tree: LoopTree): LaneChoice =>
  sharedLanes(planning, tree, leafLanes(planning, tree));

function sharedLanes(planning: Planning, tree: LoopTree, own: LeafLanes): LaneChoice {
  const nodes = nodesOf(planning, tree);
  const ofTree = own.get(tree);
  if (ofTree !== undefined) return ofTree;
  const cost = [...own.values()].reduce((sum, { cycles }) => sum + cycles, 0);
  let best: LaneChoice = { ...noLanes, cycles: cost };
  if (nodes.some((node) => node.kind === 'scan')) return best;
  const works = leavesOf(tree).map((leaf) => pointWork(nodesOf(planning, leaf)));
  for (const band of parallelBands(tree)) {
    const lanes = lanesAlong(band.axis, nodes, planning);
    const cycles = works.reduce((sum, work) => sum + cyclesAlong(band, { bands: [], work, machine: planning }), 0);
    if (lanes > 1 && cycles < best.cycles * 0.9 && rowsFit(planning, lanes)) best = { axis: band.axis, lanes, cycles };
  }
  return best;
}

/** Whether rows of scratch still fit on a stack where each element has so many lanes. */
const rowsFit = ({ group, memory, choices }: Planning, lanes: number): boolean =>
  group.locals.every(({ buffer, kind, size }) => {
    const elements = staticValue(size);
    return (
      kind === 'scalar' ||
      (elements !== undefined && elements * lanes * memory.bytesOf(buffer) <= choices.stackScratchBytes)
    );
  });

export function planRegion(planning: Planning, tree: LoopTree): RegionPlan {
  const own = leafLanes(planning, tree);
  const shared = sharedLanes(planning, tree, own);
  const nodes = nodesOf(planning, tree);
  const cycles = cyclesOf(tree, shared, own);
  const order = runningOrder(planning, { tree, shared });
  const layout = { tree, nodes, shared, cycles, order, ...blocksFor(planning, { tree, nodes, shared, cycles }) };
  const isOfUnits = layout.tiles === undefined && layout.block === undefined;
  const runs = isOfUnits ? runsOf(planning, layout) : undefined;
  const units = unitsFor(planning, layout, runs);
  const isWhole = isLeaf(tree) && (units === undefined || layout.block === undefined);
  const below = treesBelow(planning, tree, shared.axis === undefined ? own : new Map<LoopTree, LaneChoice>());
  return { ...layout, runs, units, isWhole, parts: partsFor(planning, { ...layout, isWhole }), below };
}

/** What a point of the loops of a region takes that are not reductions'. */
function cyclesOf(tree: LoopTree, shared: LaneChoice, own: LeafLanes): number {
  const inner = [...own].map(([leaf, { cycles }]) => {
    const loops = leaf === tree ? leaf.loops.filter((band) => band.role === 'reduction') : leaf.loops;
    const points = loops.reduce((left, band) => left * Math.max(1, typicalValue(band.axis.extent)), 1);
    return points * (leaf === tree ? shared.cycles : cycles);
  });
  return 4 + inner.reduce((left, right) => left + right, 0);
}

type Laid = Pick<RegionPlan, 'tree' | 'nodes' | 'shared' | 'cycles'>;
type Blocks = Pick<RegionPlan, 'tiles' | 'copy' | 'columns' | 'block' | 'tileBlock'>;

function blocksFor(planning: Planning, laid: Laid): Blocks {
  const { tree, nodes, shared } = laid;
  const tiles = isLeaf(tree) ? planTiles(planning, { tree, nodes, choice: shared }) : undefined;
  const copy = tiles && planTileCopy(planning, nodes, tiles);
  if (tiles !== undefined && runsAcross(tiles.block))
    return { tiles, copy, columns: undefined, ...acrossBlocks(planning, tree, tiles) };
  const columns = isLeaf(tree) && tiles === undefined ? planColumns(planning, { tree, nodes }, shared) : undefined;
  const isDistributed = parallelBands(tree).some((band) => band.axis.name === shared.axis?.name);
  const block = isDistributed ? blockSize(planning, laid, columns) : undefined;
  const tileBlock = tiles === undefined ? 1 : tileBlockSize(planning, tiles);
  return { tiles, copy, tileBlock, columns: columns && blockedBy(planning, columns, block), block };
}

/** Units of whole blocks, as long as they can be across the grain; parts of the lanes' axis where threads would go without. */
function acrossBlocks(
  { target, choices }: Planning,
  tree: LoopTree,
  { across, lane, lanes, block }: TilePlan,
): Pick<RegionPlan, 'block' | 'tileBlock'> {
  const rounded = (extent: number, unit: number): number => Math.ceil(extent / unit) * unit;
  const extent = typicalValue(across.extent);
  const tileBlock = Math.min(lanes * block.across, rounded(extent, lanes));
  const others = parallelBands(tree).filter(({ axis }) => axis.name !== across.name && axis.name !== lane.name);
  const units = others.reduce((left, { axis }) => left * typicalValue(axis.extent), Math.ceil(extent / tileBlock));
  const parts = (target.threads * choices.unitsPerThread) / units;
  return { tileBlock, block: parts <= 1 ? undefined : rounded(typicalValue(lane.extent) / parts, lanes * 4) };
}

/** Elements per unit along the tiles' axis: whole blocks of tiles, smaller ones where threads would go without a unit. */
const tileBlockSize = (planning: Planning, { across, block, lanes }: TilePlan): number =>
  Math.max(lanes, Math.min(lanes * block.across, unitRows(planning, across, lanes)));

/** Elements per unit of a distributed lane axis, or undefined where the other axes give units enough. */
function blockSize(
  planning: Planning,
  { tree, nodes, shared, cycles }: Laid,
  columns: ColumnPlan | undefined,
): number | undefined {
  const { threads } = planning.target;
  const { unitsPerThread } = planning.choices;
  const others = parallelBands(tree).filter((band) => band.axis.name !== shared.axis?.name);
  const units = others.reduce((left, band) => left * typicalValue(band.axis.extent), 1);
  if (shared.axis === undefined || (others.length > 0 && units >= threads * unitsPerThread)) return undefined;
  const { instances } = interleaveOf(planning, { tree, shared }, { nodes, axis: shared.axis });
  const wide = shared.lanes * Math.max(4, instances);
  if (columns !== undefined) {
    const each = Math.ceil(typicalValue(shared.axis.extent) / threads / wide) * wide;
    return Math.max(4 * wide, Math.min(columns.block, each));
  }
  const enough = Math.ceil(chunkCycles(planning.target) / cycles / 4 / wide) * wide;
  const spread = Math.ceil(typicalValue(shared.axis.extent) / (threads * unitsPerThread) / wide) * wide;
  return evenBlock(shared.axis, { block: Math.max(wide, Math.min(enough, spread, 4096)), wide });
}

/** The next lower power of two of vectors where these divide the axis, so that no unit has a rest of its own. */
function evenBlock({ extent }: Axis, { block, wide }: { readonly block: number; readonly wide: number }): number {
  const even = wide * 2 ** Math.floor(Math.log2(block / wide));
  return isMultipleOf(extent, even) ? even : block;
}

type Layout = Laid & Blocks & Pick<RegionPlan, 'order'>;

/** The factors of the units, where there is work for threads and more units than one. */
function unitsFor(
  { target }: Planning,
  { tree, tiles, tileBlock, shared, block, order, cycles }: Layout,
  runs: RowRuns | undefined,
): readonly UnitAxis[] | undefined {
  const bands = parallelBands(tree);
  const total = bands.reduce((left, band) => left * typicalValue(band.axis.extent), 1) * cycles;
  const isKnown = bands.every((band) => staticValue(band.axis.extent) !== undefined);
  const isWorthwhile = target.threads > 1 && bands.length > 0 && (!isKnown || total >= 2 * chunkCycles(target));
  if (!isWorthwhile) return undefined;
  const loops = order.flatMap(({ axis }): UnitAxis[] => {
    if (axis.name === tiles?.across.name) return [blocksOf(axis, tileBlock)];
    if (axis.name !== shared.axis?.name) return [{ axis, count: axis.extent, block: undefined }];
    return block === undefined ? [] : [blocksOf(axis, block)];
  });
  const units = inRuns(loops, runs);
  return staticValue(product(units.map(({ count }) => count))) === 1 ? undefined : units;
}

/** The vectors of a loop over lanes that is no reduction's: in parts where that decides something. */
function partsFor(
  planning: Planning,
  { tree, nodes, shared, isWhole }: Pick<TreePlan, 'tree' | 'nodes' | 'shared' | 'isWhole'>,
): readonly PartPlan[] {
  const band = parallelBands(tree).find(({ axis }) => axis.name === shared.axis?.name);
  if (band === undefined) return [];
  const { axis } = band;
  const isCut = isWhole && planning.target.decidesBounds !== false;
  const parts = isCut ? partsOf(planning, { axis, nodes, lanes: shared.lanes }) : [wholePart({ axis, nodes })];
  return parts.map((part) => ({ ...part, interleave: interleaveOf(planning, { tree, shared }, part) }));
}

/** Every tree below, with its lanes where it has some of its own. */
function treesBelow(planning: Planning, tree: LoopTree, own: LeafLanes): ReadonlyMap<LoopTree, TreePlan> {
  const plans = new Map<LoopTree, TreePlan>();
  for (const child of tree.children) {
    if (child.kind === 'node') continue;
    const shared = own.get(child) ?? noLanes;
    const plan = { tree: child, nodes: nodesOf(planning, child), shared, isWhole: isLeaf(child) };
    const order = runningOrder(planning, { tree: child, shared });
    plans.set(child, { ...plan, order, parts: partsFor(planning, plan) });
    for (const [inner, below] of treesBelow(planning, child, own)) plans.set(inner, below);
  }
  return plans;
}

/** A note for each thing that is to be known of how a region is laid out. */
export function layoutNotes({ shared, tree, tiles, columns, runs, units }: RegionPlan): readonly string[] {
  const axes = tree.loops.map((band) => band.axis.name).join(' ');
  return [
    ...(columns === undefined ? [] : [`tiles of ${String(columns.rows)} rows x ${String(columns.block)} columns`]),
    ...(tiles === undefined ? [] : [`tiles transposed along ${tiles.across.name}`]),
    shared.axis === undefined ? `loops ${axes}` : `loops ${axes}, ${String(shared.lanes)} lanes of ${shared.axis.name}`,
    ...(runs === undefined || units === undefined
      ? []
      : [`chunks of ${String(runs.rows)} rows along ${runs.down.name}`]),
  ];
}

/** Whether a loop of `tree` is a reduction's (or scan's) over `axis`. */
export const isReduced = (tree: LoopTree, axis: Axis): boolean =>
  tree.loops.some((band) => band.role === 'reduction' && band.axis.name === axis.name);
