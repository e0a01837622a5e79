// The order in which the parallel loops of a region run, and the short rows of a result that are written in runs. In: the layout of a
// region so far. Out: its loops, outermost first, and the runs, where there are any.
import { at, get } from '@tsinductor/base';
import { isLeaf, parallelBands, staticValue, strideAlong } from '@tsinductor/codegen';
import type { Axis, BufferId, Index, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import type { LaneChoice } from './lanes.ts';
import { isNonTemporal, nodesOf } from './planning.ts';
import type { Planning } from './planning.ts';
import { loadsOf } from './rows.ts';
import { writesLines } from './tiles.ts';

interface Loops {
  readonly tree: LoopTree;
  readonly shared: LaneChoice;
}

/**
 * The parallel loops in the order in which they are run, outermost first. Results that are written by non-temporal stores, whole lines
 * at a time, may be written in any order: then large arrays are read as they lie.
 */
export function runningOrder(planning: Planning, { tree, shared }: Loops): readonly LoopBand[] {
  const bands = parallelBands(tree);
  const nodes = nodesOf(planning, tree);
  const { axis, lanes } = shared;
  if (axis === undefined || !isLeaf(tree) || !writesLines(planning, nodes, { axis, lanes })) return bands;
  const large = nodes.flatMap(loadsOf).filter(({ buffer }) => isNonTemporal(planning, buffer));
  const strideOf = (band: LoopBand): number =>
    large.reduce((sum, { position }) => sum + Math.abs(strideAlong(position, band.axis.name) ?? Number.NaN), 0);
  const strides = new Map(bands.map((band) => [band, strideOf(band)]));
  if (large.length === 0 || [...strides.values()].some(Number.isNaN)) return bands;
  return bands.toSorted((left, right) => get(strides, right) - get(strides, left));
}

/** A loop along whose points short rows of what is written lie one after another, and the one inside of it, along which rows are read. */
export interface RowRuns {
  readonly down: Axis;
  readonly across: Axis;
  /** How many rows are written one after another. */
  readonly rows: number;
  /** Elements of a row. */
  readonly width: number;
}

interface OrderedLoops extends Loops {
  readonly order: readonly LoopBand[];
}

const isOne = ({ extent }: Axis): boolean => staticValue(extent) === 1;

/** Of some loops, outermost first, the last two that have more points than one. */
export const lastTwo = <Loop extends { readonly axis: Axis }>(loops: readonly Loop[]): readonly Loop[] =>
  loops.filter(({ axis }) => !isOne(axis)).slice(-2);

/**
 * The runs of a region's results, where all that it writes are short rows, and whole runs: where what is read has another loop in
 * between, so many of the rows are written one after another, and memory gets pages of a result instead of lines of as many as that
 * loop has points. `order` has a unit for every point of its loops but that along lanes, which is innermost.
 */
export function runsOf(planning: Planning, { tree, shared, order }: OrderedLoops): RowRuns | undefined {
  const { rows } = planning.choices.rowRuns;
  const along = shared.axis;
  if (rows === 1 || along === undefined || planning.target.threads === 1 || !isLeaf(tree)) return undefined;
  const [down, across] = lastTwo(order.filter(({ axis }) => axis.name !== along.name)).map(({ axis }) => axis);
  const width = staticValue(along.extent);
  if (down === undefined || across === undefined || width === undefined) return undefined;
  const runs = { down, across, rows, width };
  const isWhole = (staticValue(down.extent) ?? 1) % rows === 0;
  const nodes = nodesOf(planning, tree);
  return isWhole && nodes.every((node) => writesRows(planning, node, { ...runs, along })) ? runs : undefined;
}

interface RowWrite extends RowRuns {
  readonly write: Index;
  readonly along: Axis;
}

const writesRows = (planning: Planning, node: LoopNode, rows: Omit<RowWrite, 'write'>): boolean =>
  node.kind === 'map' &&
  node.writes.every((write, place) => isShortRow(planning, at(node.outs, place), { ...rows, write }));

const isShortRow = (
  planning: Planning,
  buffer: BufferId,
  { write, along, down, across, rows, width }: RowWrite,
): boolean =>
  isNonTemporal(planning, buffer) &&
  width * planning.memory.bytesOf(buffer) <= planning.choices.rowRuns.mostRowBytes &&
  strideAlong(write, along.name) === 1 &&
  strideAlong(write, down.name) === width &&
  (strideAlong(write, across.name) ?? 0) >= rows * width;
