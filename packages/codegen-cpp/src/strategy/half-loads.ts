// Passes over memory in loads of less than a register. In: the site of a reduction, or the lanes of rows that are added by index into a
// table. Out: fewer lanes, where one row of memory is read, little is done with it, and the processor has more lines on their way if each
// is loaded in two halves (`mostLoaded`).
//
// (Measured on a Zen 4, 64 MB, by hand and side by side: a sum of all takes 4 to 15 % less in 32 bytes at a time than in 64, sums of
// rows of 4 KB 6 to 10. Of 4 MB, which a third-level cache has, they take 3 to 4 % more so. Rows of 4 KB that are added by index into 64
// take 13 to 15 % less so, and with the row after the next asked for; of 64 KB 3 % less, of 1 KB 12 % more.)
import { dtypeInfo } from '@tsinductor/base';
import { strideAlong } from '@tsinductor/codegen';
import type { Axis, BufferId, LoopNode } from '@tsinductor/ir';
import { habitsOf, asking } from '../target.ts';
import { operationsOf } from './lane-choice.ts';
import { isRowOf, loadsOf } from './memory-rows.ts';
import type { RowLimits } from './memory-rows.ts';
import type { Ahead, Nest } from './nest.ts';
import type { Site } from './reduce.ts';
import { isPassOver } from './row-streams.ts';

/** About how many operations a point takes at most where memory is what is waited for. */
const fewOperations = 8;

/** Rows of memory; those of fewer bytes are left alone. */
const rows: RowLimits = { bufferBytes: asking.leastBytes, leastRow: 1024, mostRow: Infinity };

export function withHalfLoads(nest: Nest, site: Site): Site {
  const { nodes, over, lane, part, ahead } = site;
  const axis = part?.axis ?? over[0]?.axis;
  if (axis === undefined || lane === undefined || over.length > 1) return site;
  if (!isPassOver(nest, { nodes, ahead }, { axis, ...rows })) return site;
  const buffers = nodes.flatMap(loadsOf).map(({ buffer }) => buffer);
  const lanes = fewerLanes(nest, { nodes, buffers }, lane.lanes);
  if (lanes < lane.lanes) noteHalves(nest, axis, lanes);
  return { ...site, lane: { ...lane, lanes } };
}

/** The same of rows that are added by index. */
const addedRows: RowLimits = { ...rows, leastRow: 4096 };

/** The lanes of a node that adds rows along `axis` to others. */
export function halfLanes(nest: Nest, { node, axis }: Adding, lanes: number): number {
  const isRow = ({ buffer, position }: Ahead): boolean =>
    strideAlong(position, axis.name) === 1 && isRowOf(nest, buffer, { axis, ...addedRows });
  const buffers = loadsOf(node)
    .filter(isRow)
    .map(({ buffer }) => buffer);
  const fewer = buffers.length === 0 ? lanes : fewerLanes(nest, { nodes: [node], buffers }, lanes);
  if (fewer < lanes) noteHalves(nest, axis, fewer);
  return fewer;
}

interface Adding {
  readonly node: LoopNode;
  readonly axis: Axis;
}

interface Passing {
  readonly nodes: readonly LoopNode[];
  readonly buffers: readonly BufferId[];
}

/** So many of `lanes` that `buffers` come in loads of `mostLoaded` bytes at most; all, where much is done with each point. */
function fewerLanes({ memory, target }: Nest, { nodes, buffers }: Passing, lanes: number): number {
  if (nodes.reduce((sum, node) => sum + operationsOf(node), 0) > fewOperations) return lanes;
  const bytes = buffers.map((buffer) => dtypeInfo[memory.decl(buffer).dtype].bytes);
  return Math.min(lanes, habitsOf(target).mostLoaded / Math.max(...bytes));
}

function noteHalves({ notes }: Nest, axis: Axis, lanes: number): void {
  const note = `memory along ${axis.name} in ${String(lanes)} lanes`;
  if (!notes.includes(note)) notes.push(note);
}
