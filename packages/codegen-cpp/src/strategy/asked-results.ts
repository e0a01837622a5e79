// Results larger than the caches that are written by way of them all the same: their lines are asked for a while before. In:
// the layout of a region. Out: the results that this is for; others that are far larger than the caches go past them.
//
// A core has few places for lines on their way to or from memory, and a store past the caches holds one until memory has
// taken the line. Its second-level cache has many more, so few cores write faster by way of it, though memory then reads every
// line before it is written. (Measured on a Cascade Lake with two threads, arrays of 64 MB: to fill one takes 3.3 ms instead of
// 5.0, a copy 5.7 instead of 6.8, softmax 8.8 instead of 10.6, rows by their indices 5.8 instead of 7.6; a sum of two arrays the
// same, a product of three 2 % more. Of 16 MB, which else are not written past the caches, a copy takes 9 % less than plain
// stores; of 4 MB the same.) It needs loops that write in the order of memory, or nearly: a scan down columns takes a
// quarter longer so.
import { dtypeInfo } from '@tsinductor/base';
import { hasIndirect, isLeaf, staticValue, strideAlong } from '@tsinductor/codegen';
import { coefficientOf } from '@tsinductor/ir';
import type { Axis, BufferId, Index, LoopTree } from '@tsinductor/ir';
import { asking, asksForResults } from '../target.ts';
import { chooseLanes } from './lane-choice.ts';
import { loadsOf } from './memory-rows.ts';
import type { Nest } from './nest.ts';
import { leavesOf, nodesOf, runningOrder } from './region-plan.ts';
import type { RegionPlan } from './region-plan.ts';

export function askedResults(nest: Nest, region: RegionPlan): ReadonlySet<BufferId> {
  const { tree, tiles, columns } = region;
  if (!asksForResults(nest.target) || tiles !== undefined || columns !== undefined) return new Set();
  const nodes = nodesOf(nest, tree);
  const isResult = (buffer: BufferId): boolean => bytesOf(nest, [buffer]) >= asking.leastBytes;
  const results = nodes.flatMap((node) => node.outs).filter(isResult);
  const loaded = nodes.flatMap(loadsOf).map(({ buffer }) => buffer);
  if (bytesOf(nest, loaded) > asking.mostReads * bytesOf(nest, results)) return new Set();
  return new Set(leavesOf(tree).flatMap((leaf) => inOrder(nest, leaf, region).filter(isResult)));
}

/** Bytes of the buffers in memory among `buffers`, of those whose size is known. */
function bytesOf({ memory }: Nest, buffers: readonly BufferId[]): number {
  let sum = 0;
  for (const buffer of new Set(buffers)) {
    const { dtype, size } = memory.decl(buffer);
    if (!memory.isVirtual(buffer)) sum += (staticValue(size) ?? 0) * dtypeInfo[dtype].bytes;
  }
  return sum;
}

/** What a leaf writes in the order of memory, or nearly. */
function inOrder(nest: Nest, leaf: LoopTree, region: RegionPlan): readonly BufferId[] {
  const nodes = nodesOf(nest, leaf);
  const lane = region.shared.axis ?? chooseLanes(leaf.loops, nodes, nest).axis;
  if (lane === undefined) return [];
  const others = leaf === region.tree ? runningOrder(nest, region) : [...region.tree.loops, ...leaf.loops];
  const reduced = isLeaf(region.tree) ? leaf.loops.filter(({ role }) => role === 'reduction') : [];
  const loops = [...others, ...reduced].map(({ axis }) => axis).filter(({ name }) => name !== lane.name);
  const axes = [lane, ...loops.toReversed()];
  return nodes.flatMap((node) =>
    node.outs.filter((buffer, slot) => {
      const position = node.writes[slot];
      return position !== undefined && comesSoon(position, axes, nest.memory.bytesOf(buffer));
    }),
  );
}

/** Whether loops, the innermost first, soon come to where they ask. */
function comesSoon(position: Index, [lane, ...others]: readonly Axis[], bytes: number): boolean {
  if (lane === undefined || hasIndirect(position) || strideAlong(position, lane.name) !== 1) return false;
  let reach = bytes * (staticValue(lane.extent) ?? 0);
  for (const axis of others) {
    if (reach >= asking.bytes) return true;
    const step = bytes * strideOf(position, axis);
    if (step === 0 || step > asking.bytes) return false;
    reach = step * (staticValue(axis.extent) ?? 0);
  }
  return reach >= asking.bytes;
}

function strideOf(position: Index, axis: Axis): number {
  const step = coefficientOf(position, axis);
  return step === undefined ? Infinity : (staticValue(step) ?? Infinity);
}
