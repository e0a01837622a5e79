// Reductions along an outer axis: results lie side by side, as do the elements that threads read at a time, a thread for each
// result. Where that leaves a device idle, the reduction is cut into pieces: the first kernel has a thread for each piece of each
// result, and leaves states in workspace; the second merges those, in order, a thread for each result. As in `split.ts`, the
// order of a sum depends on sizes only.
import { at } from '@tsinductor/base';
import { assignVariables, emptyFrame, nodesBelow, staticValue, typicalValue } from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, maximum, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Group, Index, LoopTree } from '@tsinductor/ir';
import { columnPieces, fewResults, mapThreads, mostBlocks } from '../target.ts';
import { byThreadsOfGrid, clipped, gridOf, loop, nodeAt, share, unravel, writeMap } from './nest.ts';
import type { Grid, Nest } from './nest.ts';
import { liesAlong } from './rows.ts';
import { canSplit, partials, splitOf } from './split.ts';
import type { Split } from './split.ts';
import { advance, declareState, finish, isCarrying, mergeStates } from './states.ts';

/** At least so many that pieces are worth a kernel, and no more pieces than one thread merges in little time. */
const pieceLength = (elements: Index): Index =>
  maximum(int(columnPieces.least), ceilDivide(elements, int(columnPieces.most)));

const columnsOf = (tree: LoopTree): Split => splitOf(tree, pieceLength);

/** Whether a tree has results side by side, of many elements each, but too few for a thread each to fill a device. */
export function shouldSplitColumns(group: Group, tree: LoopTree): boolean {
  if (!canSplit(group, tree) || !liesAlong(group, tree)) return false;
  const { results, elements } = columnsOf(tree);
  const count = typicalValue(results);
  const isLong = (staticValue(elements) ?? Infinity) >= 4 * columnPieces.least;
  return isLong && count > fewResults && count <= columnPieces.results;
}

/** The first kernel: a thread for every piece of every result. */
export function writePieces(nest: Nest, tree: LoopTree): Grid {
  const split = columnsOf(tree);
  const { outer, over, results, elements, length, chunks } = split;
  const workspaces = partials(nest, split);
  const units = multiply(results, chunks);
  const nodes = nodesBelow(tree).map((index) => nodeAt(nest, index));
  nest.notes.push('reduction along an outer axis in pieces, a thread each');
  share(nest, [{ name: 'unit', extent: units }], {
    sharing: byThreadsOfGrid(nest, mapThreads),
    frame: emptyFrame,
    body: (shared) => {
      const unit = shared.axes.get('unit') ?? int(0);
      const frame = unravel(nest, outer, { point: modulo(unit, results), frame: emptyFrame });
      const states = new Map(nodes.filter(isCarrying).map((node) => [node, declareState(nest, node, frame)]));
      const from = multiply(floorDivide(unit, results), length);
      const to = clipped(add(from, length), { name: 'element', extent: elements });
      loop(nest, { name: 'element', from, to, extent: elements, guards: true }, (element) => {
        const inner = unravel(nest, over, { point: element, frame });
        for (const node of nodes) {
          if (node.kind === 'map') writeMap(nest, node, { frame: inner, by: 'thread' });
          const state = isCarrying(node) ? states.get(node) : undefined;
          if (isCarrying(node) && state !== undefined) advance(nest, { node, state, frame: inner });
        }
      });
      for (const [node, state] of states) {
        const buffers = workspaces.get(node) ?? [];
        state.forEach((value, slot) => {
          const access = { buffer: at(buffers, slot).name, at: unit, step: int(0), align: 1 };
          nest.writer.emit({ kind: 'store', access, value });
        });
      }
    },
  });
  return gridOf(ceilDivide(units, int(mapThreads)), { threads: mapThreads, most: mostBlocks });
}

/** The second kernel: a thread for every result. */
export function writePieceMerges(nest: Nest, tree: LoopTree): Grid {
  const split = columnsOf(tree);
  const { outer, results, chunks } = split;
  const workspaces = partials(nest, split);
  const piece: Axis = { name: 'piece', extent: chunks };
  nest.notes.push('merges the pieces of a reduction along an outer axis');
  share(nest, [{ name: 'result', extent: results }], {
    sharing: byThreadsOfGrid(nest, mapThreads),
    frame: emptyFrame,
    body: (shared) => {
      const result = shared.axes.get('result') ?? int(0);
      const frame = unravel(nest, outer, { point: result, frame: emptyFrame });
      for (const [node, buffers] of workspaces) {
        const state = declareState(nest, node, frame);
        loop(nest, { name: piece.name, from: int(0), to: chunks, extent: chunks }, (value) => {
          const place = add(multiply(value, results), result);
          const right = buffers.map(({ name, dtype }) =>
            nest.writer.define(
              { kind: 'load', type: { dtype, lanes: 1 }, access: { buffer: name, at: place, step: int(0), align: 1 } },
              'of_piece',
              nest.writer.depth,
            ),
          );
          assignVariables(nest.writer, state, mergeStates(nest, node, { left: state, right, frame }));
        });
        finish(nest, { node, state }, { frame, by: 'thread' });
      }
    },
  });
  return gridOf(ceilDivide(results, int(mapThreads)), { threads: mapThreads, most: mostBlocks });
}
