// Columns that are reduced or scanned by tiles of several rows: the states of a block of columns stay in scratch while several rows stream
// past, each from end to end. Walking down few columns at once would touch a page per row. In: an innermost tree and its lanes. Out:
// columns per block and rows at a time, where that is what the tree does and it is large enough to gain.
//
// Threads that write parts of the same pages are kept apart: what a CPU prefetches of its own accord, further on in a page, would
// be the lines that another is writing. So a scan whose part of a row is less than a page takes a narrow block at a time, and what is
// prefetched beyond it is its own.
import { dtypeInfo } from '@tsinductor/base';
import { isMultipleOf, strideAlong, typicalValue } from '@tsinductor/codegen';
import type { Axis, BufferId, LoopBand, LoopNode, LoopTree } from '@tsinductor/ir';
import { pageBytes } from '../../machine/facts.ts';
import type { LaneChoice } from './lanes.ts';
import type { Planning } from './planning.ts';
import { isRowOf, loadsOf } from './rows.ts';
import { accessesOf, isCarrying, operationsOf } from './work.ts';
import type { Carrying } from './work.ts';

export interface ColumnPlan {
  readonly axis: Axis;
  readonly lanes: number;
  /** The reduced axes, and how many points of the last are taken at a time. */
  readonly over: readonly Axis[];
  readonly rows: number;
  /** Columns per block. */
  readonly block: number;
  /** Columns per block where threads write parts of the same pages; undefined where they never do. */
  readonly narrow: number | undefined;
  /** Whether rows are written as they are read: those of sums alone are foreseen by the hardware prefetcher. */
  readonly isScanned: boolean;
}

interface Columns {
  readonly tree: LoopTree;
  readonly nodes: readonly LoopNode[];
}

/** Bytes of the widest element that a node reads: what lies side by side in a page. */
const elementBytes = (node: Carrying): number =>
  Math.max(1, ...accessesOf(node).map(({ load }) => (load === undefined ? 0 : dtypeInfo[load].bytes)));

const stateBytes = (node: Carrying): number => node.state.reduce((sum, dtype) => sum + dtypeInfo[dtype].bytes, 0);

export function planColumns(
  planning: Planning,
  { tree, nodes }: Columns,
  { axis, lanes }: LaneChoice,
): ColumnPlan | undefined {
  const { columns: choices } = planning.choices;
  const over = tree.loops.filter((band: LoopBand) => band.role === 'reduction').map((band) => band.axis);
  const last = over.at(-1);
  const isOuter = tree.loops.some((band) => band.axis.name === axis?.name && band.role === 'parallel');
  const carrying = nodes.filter(isCarrying);
  if (last === undefined || axis === undefined || !isOuter || carrying.length < nodes.length) return undefined;
  const isScanned = nodes.some((node) => node.kind === 'scan');
  const least = isScanned ? choices.leastRows : leastRows(planning, nodes, axis);
  const isSmall = typicalValue(last.extent) < least || typicalValue(axis.extent) < choices.leastColumns;
  if (isSmall || !crosses(nodes, axis, last)) return undefined;
  const rows = rowsAtOnce(nodes, isScanned ? choices.scannedRows : choices.rows);
  const bytes = carrying.reduce((sum, node) => sum + stateBytes(node), 0);
  const block = blockOf(planning, { axis, bytes, isScanned });
  if (rows === undefined) return undefined;
  const narrow = isScanned ? narrowBlock(planning, { axis, lanes, block, nodes: carrying }) : undefined;
  return { axis, lanes, over, rows, block, narrow, isScanned };
}

interface Blocking extends Pick<ColumnPlan, 'axis' | 'isScanned'> {
  /** Of the states of a column. */
  readonly bytes: number;
}

/** The widest block of which an axis has a whole number: only then are its next rows prefetched in order. No less than a page of floats. */
function blockOf({ choices }: Planning, { axis: { extent }, bytes, isScanned }: Blocking): number {
  const widest = choices.columnBlock[isScanned ? 'scanned' : 'reduced'];
  const most = Math.min(widest, 2 ** Math.floor(Math.log2(choices.columns.scratchBytes / bytes)));
  for (let block = most; block >= pageBytes / 4; block /= 2) if (isMultipleOf(extent, block)) return block;
  return most;
}

interface Narrow {
  readonly axis: Axis;
  readonly lanes: number;
  readonly block: number;
  readonly nodes: readonly Carrying[];
}

/** Columns per block of scans whose threads write parts of the same pages, of arrays that a cache holds: others are read page by page. */
function narrowBlock(planning: Planning, { axis, lanes, block, nodes }: Narrow): number | undefined {
  const isHeld = !nodes.flatMap(loadsOf).some(({ buffer }) => isOfMemory(planning, buffer, axis));
  const most = Math.max(...nodes.map(elementBytes));
  const { narrowBytes } = planning.choices.columns;
  const narrow = Math.min(block, Math.max(lanes, narrowBytes / 2 ** Math.ceil(Math.log2(most))));
  return isHeld && planning.target.threads > 1 ? narrow : undefined;
}

/**
 * The plan for units of so many columns, each of which one thread takes: in blocks of no more than a unit has, whose width is known
 * then, or in narrow ones that keep clear of other threads' columns.
 */
export function blockedBy({ choices }: Planning, plan: ColumnPlan, unit: number | undefined): ColumnPlan {
  if (unit === undefined) return plan;
  const { block, narrow } = plan;
  const { narrowBytes } = choices.columns;
  const isPart = narrow !== undefined && unit < (narrow * pageBytes) / narrowBytes && unit % narrow === 0;
  if (isPart) return { ...plan, block: narrow };
  return block % unit === 0 ? { ...plan, block: unit } : plan;
}

/** So few rows that states of more columns than registers hold do not pay, unless memory is waited for. */
const leastRows = (planning: Planning, nodes: readonly LoopNode[], axis: Axis): number => {
  const { leastMemoryRows, leastRows: least } = planning.choices.columns;
  return nodes.flatMap(loadsOf).some(({ buffer }) => isOfMemory(planning, buffer, axis)) ? leastMemoryRows : least;
};

/** Whether rows along `axis` are of an array that no cache holds. */
export const isOfMemory = (planning: Planning, buffer: BufferId, axis: Axis): boolean =>
  isRowOf(planning, buffer, { axis, bufferBytes: planning.choices.memoryBytes, leastRow: 0, mostRow: Infinity });

/** Up to `most`, fewer where points cost more; none where they cost so much that memory does not matter. */
function rowsAtOnce(nodes: readonly LoopNode[], most: number): number | undefined {
  const work = nodes.reduce((sum, node) => sum + operationsOf(node), 0);
  return work <= 4 ? most : work <= 10 ? most / 2 : undefined;
}

/** Whether columns lie side by side, and rows far apart, in what is read. */
function crosses(nodes: readonly LoopNode[], axis: Axis, last: Axis): boolean {
  const steps = nodes.flatMap(accessesOf).map(({ at: index }) => {
    return { along: strideAlong(index, axis.name), down: strideAlong(index, last.name) };
  });
  return (
    steps.every(({ along }) => along === 0 || along === 1) &&
    steps.some(({ along, down }) => along === 1 && isFar(down))
  );
}

/** A step from row to row that leaves the page after few rows. */
const isFar = (step: number | undefined): boolean => step === undefined || Math.abs(step) >= 128;
