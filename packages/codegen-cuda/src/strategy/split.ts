// Reductions of many elements to few results: blocks reduce chunks of fixed length and leave their states in workspace; a
// second kernel merges those, in order. So there is no atomic update, and the order of a sum depends on sizes only.
import { at } from '@tsinductor/base';
import type { Frame } from '@tsinductor/codegen';
import {
  assignVariables,
  emptyFrame,
  isLeaf,
  nodesBelow,
  parallelBands,
  product,
  staticValue,
  typicalValue,
} from '@tsinductor/codegen';
import { add, ceilDivide, floorDivide, int, modulo, multiply } from '@tsinductor/ir';
import type { Axis, Group, Index, KernelBuffer, LoopTree } from '@tsinductor/ir';
import { fewResults, mapThreads, mostBlocks, splitChunk } from '../target.ts';
import {
  axisValue,
  byThreads,
  clipped,
  gridOf,
  loop,
  nodeAt,
  onlyFirst,
  share,
  threadOf,
  unravel,
  writeMap,
} from './nest.ts';
import type { Grid, Nest } from './nest.ts';
import { advance, declareState, finish, isCarrying, mergeStates, mergeTeam } from './states.ts';
import type { Carrying, State } from './states.ts';

const threads = mapThreads;

/** A reduction in chunks. */
export interface Split {
  readonly tree: LoopTree;
  readonly outer: readonly Axis[];
  readonly over: readonly Axis[];
  readonly results: Index;
  readonly elements: Index;
  /** How many elements of the reduction a chunk has, and how many chunks there are. */
  readonly length: Index;
  readonly chunks: Index;
}

export function splitOf(tree: LoopTree, lengthOf: (elements: Index) => Index = () => int(splitChunk)): Split {
  const outer = parallelBands(tree).map(({ axis }) => axis);
  const over = tree.loops.filter(({ role }) => role === 'reduction').map(({ axis }) => axis);
  const elements = product(over.map(({ extent }) => extent));
  const results = product(outer.map(({ extent }) => extent));
  const length = lengthOf(elements);
  return { tree, outer, over, results, elements, length, chunks: ceilDivide(elements, length) };
}

/** Whether a tree is a reduction whose states may be merged: nothing but it and what it reads is computed in its loops. */
export function canSplit(group: Group, tree: LoopTree): boolean {
  if (!isLeaf(tree)) return false;
  const nodes = nodesBelow(tree).map((index) => at(group.nodes, index));
  const rows = new Set(group.locals.filter(({ kind }) => kind === 'row').map(({ buffer }) => buffer));
  const fits = nodes.every(
    ({ kind, outs }) => kind === 'reduce' || (kind === 'map' && !outs.some((out) => rows.has(out))),
  );
  return fits && nodes.some(({ kind }) => kind === 'reduce');
}

/** Whether a tree has so few results that whole blocks would idle. */
export function shouldSplit(group: Group, tree: LoopTree): boolean {
  if (!canSplit(group, tree)) return false;
  const { results, elements } = splitOf(tree);
  // Of unknown length, a reduction may be long: a second kernel costs little where it is not.
  const many = (staticValue(elements) ?? Infinity) > splitChunk;
  return many && typicalValue(results) <= fewResults;
}

/** The workspaces of the partial states: one per state of each reduction. */
export function partials(nest: Nest, { tree, results, chunks }: Split): ReadonlyMap<Carrying, readonly KernelBuffer[]> {
  const nodes = nodesBelow(tree)
    .map((index) => nodeAt(nest, index))
    .filter(isCarrying);
  return new Map(
    nodes.map((node) => [
      node,
      node.state.map((dtype) => nest.memory.workspace('partial', dtype, multiply(results, chunks))),
    ]),
  );
}

/** The first kernel: a block for every chunk of every result. */
export function writeChunks(nest: Nest, tree: LoopTree): Grid {
  const split = splitOf(tree);
  const workspaces = partials(nest, split);
  const units = multiply(split.results, split.chunks);
  nest.notes.push(`reduction in chunks of ${String(splitChunk)}, a block each`);
  const range = { from: axisValue(nest, 'block'), to: units, step: axisValue(nest, 'blocks'), extent: units };
  loop(nest, { name: 'unit', ...range }, (unit) => {
    const frame = unravel(nest, split.outer, { point: floorDivide(unit, split.chunks), frame: emptyFrame });
    const first = multiply(modulo(unit, split.chunks), int(splitChunk));
    const states = reduceChunk(nest, split, { frame, first });
    for (const [node, state] of states) {
      const merged = mergeTeam(nest, node, { state, frame, threads });
      const buffers = workspaces.get(node) ?? [];
      onlyFirst(nest, () => {
        merged.forEach((value, slot) => {
          const access = { buffer: at(buffers, slot).name, at: unit, step: int(0), align: 1 };
          nest.writer.emit({ kind: 'store', access, value });
        });
      });
    }
  });
  return gridOf(units, { threads, most: mostBlocks });
}

function reduceChunk(
  nest: Nest,
  { tree, over, elements }: Split,
  { frame, first }: { readonly frame: Frame; readonly first: Index },
): readonly (readonly [Carrying, State])[] {
  const nodes = nodesBelow(tree).map((index) => nodeAt(nest, index));
  const states = nodes.filter(isCarrying).map((node) => [node, declareState(nest, node, frame)] as const);
  const range = {
    from: add(first, threadOf(nest, threads)),
    to: clipped(add(first, int(splitChunk)), { name: 'element', extent: elements }),
    step: threads,
    extent: elements,
    guards: true,
  };
  loop(nest, { name: 'element', ...range }, (element) => {
    const inner = unravel(nest, over, { point: element, frame });
    for (const node of nodes) {
      if (node.kind === 'map') writeMap(nest, node, { frame: inner, by: 'thread' });
      const entry = states.find(([candidate]) => candidate === node);
      if (entry !== undefined) advance(nest, { node: entry[0], state: entry[1], frame: inner });
    }
  });
  return states;
}

/** The second kernel: a block for every result. */
export function writeMerges(nest: Nest, tree: LoopTree): Grid {
  const split = splitOf(tree);
  const workspaces = partials(nest, split);
  nest.notes.push('merges the chunks of a reduction');
  const range = {
    from: axisValue(nest, 'block'),
    to: split.results,
    step: axisValue(nest, 'blocks'),
    extent: split.results,
  };
  loop(nest, { name: 'result', ...range }, (result) => {
    const frame = unravel(nest, split.outer, { point: result, frame: emptyFrame });
    for (const [node, buffers] of workspaces) {
      const state = declareState(nest, node, frame);
      const chunk: Axis = { name: 'piece', extent: split.chunks };
      share(nest, [chunk], {
        sharing: byThreads(nest, threads),
        frame,
        body: (inner) => {
          const place = add(multiply(result, split.chunks), inner.axes.get('piece') ?? int(0));
          const right = buffers.map(({ name, dtype }) =>
            nest.writer.define(
              { kind: 'load', type: { dtype, lanes: 1 }, access: { buffer: name, at: place, step: int(0), align: 1 } },
              'of_piece',
              nest.writer.depth,
            ),
          );
          assignVariables(nest.writer, state, mergeStates(nest, node, { left: state, right, frame }));
        },
      });
      finish(nest, { node, state: mergeTeam(nest, node, { state, frame, threads }) }, { frame, by: 'team' });
    }
  });
  return gridOf(split.results, { threads, most: mostBlocks });
}
