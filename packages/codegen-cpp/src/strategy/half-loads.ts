// Passes over memory in loads of less than a register. In: the site of a reduction. Out: the same with fewer lanes, where it reads one
// row of memory, does little with it, and the processor has more lines on their way if each is loaded in two halves (`mostLoaded`).
//
// (Measured on a Zen 4, 64 MB, by hand and side by side: a sum of all takes 4 to 15 % less in 32 bytes at a time than in 64, sums of
// rows of 4 KB 6 to 10. Of 4 MB, which a third-level cache has, they take 3 to 4 % more so. Rows of 4 KB that are added by index take 5 to
// 7 % less; see scatter.ts.)
import { dtypeInfo } from '@tsinductor/base';
import type { Axis, BufferId } from '@tsinductor/ir';
import { habitsOf, asking } from '../target.ts';
import { operationsOf } from './lane-choice.ts';
import { loadsOf } from './memory-rows.ts';
import type { Nest } from './nest.ts';
import type { Site } from './reduce.ts';
import { isPassOver } from './row-streams.ts';

/** About how many operations a point takes at most where memory is what is waited for. */
const fewOperations = 8;

/** Rows of fewer bytes are left alone. */
const leastRow = 1024;

export function withHalfLoads(nest: Nest, site: Site): Site {
  const { nodes, over, lane, part, ahead } = site;
  const axis = part?.axis ?? over[0]?.axis;
  if (axis === undefined || lane === undefined || over.length > 1) return site;
  if (habitsOf(nest.target).mostLoaded === Infinity) return site;
  const row = { axis, bufferBytes: asking.leastBytes, leastRow, mostRow: Infinity };
  if (!isPassOver(nest, { nodes, ahead }, row)) return site;
  if (nodes.reduce((sum, node) => sum + operationsOf(node), 0) > fewOperations) return site;
  const buffers = nodes.flatMap(loadsOf).map(({ buffer }) => buffer);
  const lanes = halfLanes(nest, buffers, lane.lanes);
  if (lane.lanes <= lanes) return site;
  noteHalves(nest, axis, lanes);
  return { ...site, lane: { ...lane, lanes } };
}

/** At most so many of `lanes` that what is loaded of `buffers`, which lie in memory, comes in loads of `mostLoaded` bytes. */
export function halfLanes({ memory, target }: Nest, buffers: readonly BufferId[], lanes: number): number {
  const bytes = buffers.map((buffer) => dtypeInfo[memory.decl(buffer).dtype].bytes);
  return Math.min(lanes, habitsOf(target).mostLoaded / Math.max(1, ...bytes));
}

export function noteHalves({ notes }: Nest, axis: Axis, lanes: number): void {
  const note = `memory along ${axis.name} in ${String(lanes)} lanes`;
  if (!notes.includes(note)) notes.push(note);
}
