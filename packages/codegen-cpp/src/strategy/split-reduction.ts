// Reductions to few results in two steps: chunks of the reduced axis give partial states, in parallel, then the states of
// a result are merged in order. The chunks follow from sizes alone, so that a sum does not depend on the threads.
import { invariant } from '@tsinductor/base';
import { isLeaf, parallelBands, typicalValue } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { LoopBand, LoopTree } from '@tsinductor/ir';
import { reductionChunk } from '../target.ts';
import { scalarLoop } from './nest.ts';
import type { Carrying, Frame, Nest } from './nest.ts';
import { chooseShared, nodesOf } from './region-plan.ts';
import { finish, merge, writeSite } from './reduce.ts';
import { longRowsAhead } from './row-ahead.ts';
import {
  chunksOf,
  declareVariables,
  eachResult,
  loadStates,
  pointsOfChunk,
  reserveStates,
  setVariables,
  siteLane,
  storeStates,
  writeChunks,
} from './row-chunks.ts';
import type { ChunkStates, ChunkWork, RowChunks } from './row-chunks.ts';

const reductionBands = (tree: LoopTree): readonly LoopBand[] => tree.loops.filter((band) => band.role === 'reduction');

const extentProduct = (bands: readonly LoopBand[]): number =>
  bands.reduce((left, band) => left * typicalValue(band.axis.extent), 1);

/** Whether a tree is reductions alone, long ones, to fewer results than would keep the threads busy. */
export function shouldSplit(nest: Nest, tree: LoopTree): boolean {
  if (!isLeaf(tree) || nodesOf(nest, tree).some((node) => node.kind !== 'reduce')) return false;
  const shared = chooseShared(nest, tree);
  const outer = extentProduct(parallelBands(tree));
  const units = parallelBands(tree).some((band) => band.axis.name === shared.axis?.name)
    ? outer / (shared.lanes * 4)
    : outer;
  const points = outer * extentProduct(reductionBands(tree));
  const first = reductionBands(tree)[0];
  if (first === undefined || points < 4 * reductionChunk) return false;
  if (units >= 16 || typicalValue(first.axis.extent) < 8) return false;
  const { splitReductions = true, leastSplits = 0 } = nest.target;
  return splitReductions && typicalValue(cutOf(tree, first, shared).chunks) >= leastSplits;
}

interface Split {
  readonly rows: RowChunks;
  readonly nodes: readonly Carrying[];
  readonly states: ChunkStates;
  readonly lanes: ChunkWork['lanes'];
}

export function writeSplit(nest: Nest, tree: LoopTree): void {
  const split = planSplit(nest, tree);
  nest.notes.push(`${split.rows.axis.name} in chunks, merged in order`);
  writePartials(nest, split);
  const work = { lanes: split.lanes, instances: 1 };
  eachResult(nest, { tree, work }, (frames) => {
    for (const frame of frames) for (const node of split.nodes) mergeChunks(nest, { split, node }, frame);
  });
}

const cutOf = (tree: LoopTree, cut: LoopBand, { axis, lanes }: ChunkWork['lanes']): RowChunks =>
  chunksOf(tree, cut, axis?.name === cut.axis.name ? lanes * 4 : 1);

function planSplit(nest: Nest, tree: LoopTree): Split {
  const [first] = reductionBands(tree);
  invariant(first !== undefined, 'a split reduction has no reduction loop');
  const lanes = chooseShared(nest, tree);
  const rows = cutOf(tree, first, lanes);
  const nodes = nodesOf(nest, tree).filter((node) => node.kind === 'reduce');
  return { rows, nodes, states: reserveStates(nest, rows, nodes), lanes };
}

function writePartials(nest: Nest, { rows, nodes, states, lanes }: Split): void {
  const { tree, axis } = rows;
  const work = { lanes, instances: 4, cycles: pointsOfChunk(rows) / 8 };
  writeChunks(nest, { rows, work }, (frames, { number, part }) => {
    const ahead = longRowsAhead(nest, tree, axis);
    writeSite(
      nest,
      {
        nodes,
        over: reductionBands(tree),
        part,
        ...siteLane(tree, lanes),
        ahead,
        deliver: ({ node, states: values, frame }) => {
          storeStates(nest, { rows, states, node, values, chunk: number }, frame);
        },
      },
      frames,
    );
  });
}

interface Merged {
  readonly split: Split;
  readonly node: Carrying;
}

/** state := partial 0; then the other chunks' in ascending order. */
function mergeChunks(nest: Nest, { split: { rows, states }, node }: Merged, frame: Frame): void {
  const state = declareVariables(nest, loadStates(nest, { rows, states, node, chunk: int(0) }, frame));
  const range = { axis: { name: 'chunk', extent: rows.chunks }, from: int(1), to: rows.chunks };
  scalarLoop(nest, range, (chunk) => {
    const right = loadStates(nest, { rows, states, node, chunk }, frame);
    setVariables(nest, state, merge(nest, node, { left: state, right, point: frame }));
  });
  finish(nest, { node, states: state, frame });
}
