// Reductions to few results in two steps: chunks of the reduced axis give partial states, in parallel, then the states of
// a result are merged in order. The chunks follow from sizes alone, so that a sum does not depend on the threads.
import { invariant } from '@tsinductor/base';
import { isLeaf, parallelBands, typicalValue } from '@tsinductor/codegen';
import { int } from '@tsinductor/ir';
import type { LoopBand, LoopTree } from '@tsinductor/ir';
import { columnChunk, columnRowBytes, reductionChunk } from '../target.ts';
import { isOfMemory, planColumns, writeColumns } from './columns.ts';
import type { ColumnPlan, ColumnStates } from './columns.ts';
import type { LaneChoice } from './lane-choice.ts';
import { loadsOf } from './memory-rows.ts';
import { scalarLoop, wholeRange } from './nest.ts';
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
  const columns = columnsOf(nest, tree, shared);
  if ((units >= 16 && columns === undefined) || typicalValue(first.axis.extent) < 8) return false;
  const { splitReductions = true, leastSplits = 0 } = nest.target;
  return splitReductions && typicalValue(cutOf(tree, first, { lanes: shared, columns }).chunks) >= leastSplits;
}

/**
 * How the columns of an array of memory are reduced where its rows are so short that threads which share its columns would read
 * pieces of rows, and so few results come of it that chunks of rows are cheaply merged. (Measured on a Zen 4 with two threads: sums
 * down the columns of 64 MB, rows of 4 KB, take 1.8 ms so, and 3.2 where each thread has half of every row.)
 */
function columnsOf(nest: Nest, tree: LoopTree, shared: LaneChoice): ColumnPlan | undefined {
  const nodes = nodesOf(nest, tree);
  const plan = planColumns(nest, { tree, nodes }, shared);
  const loads = nodes.flatMap(loadsOf);
  if (plan === undefined || !loads.some(({ buffer }) => isOfMemory(nest, buffer, plan.axis))) return undefined;
  const rowBytes = loads.map(({ buffer }) => nest.memory.bytesOf(buffer) * typicalValue(plan.axis.extent));
  const isAlone = parallelBands(tree).every(({ axis }) => axis.name === plan.axis.name);
  return isAlone && Math.max(...rowBytes) <= columnRowBytes ? plan : undefined;
}

interface Split {
  readonly rows: RowChunks;
  readonly nodes: readonly Carrying[];
  readonly states: ChunkStates;
  readonly lanes: ChunkWork['lanes'];
  readonly columns: ColumnPlan | undefined;
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

function cutOf(tree: LoopTree, cut: LoopBand, { lanes, columns }: Pick<Split, 'lanes' | 'columns'>): RowChunks {
  if (columns !== undefined) return chunksOf(tree, cut, { unit: columns.rows, about: columnChunk });
  return chunksOf(tree, cut, { unit: lanes.axis?.name === cut.axis.name ? lanes.lanes * 4 : 1 });
}

function planSplit(nest: Nest, tree: LoopTree): Split {
  const [first] = reductionBands(tree);
  invariant(first !== undefined, 'a split reduction has no reduction loop');
  const lanes = chooseShared(nest, tree);
  const columns = columnsOf(nest, tree, lanes);
  const rows = cutOf(tree, first, { lanes, columns });
  const nodes = nodesOf(nest, tree).filter((node) => node.kind === 'reduce');
  return { rows, nodes, states: reserveStates(nest, rows, nodes), lanes, columns };
}

function writePartials(nest: Nest, split: Split): void {
  const { rows, nodes, states, lanes, columns } = split;
  const { tree, axis } = rows;
  if (columns !== undefined) {
    writeColumnPartials(nest, { ...split, columns });
    return;
  }
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

/** A chunk of whole rows at a time, each read from end to end. */
function writeColumnPartials(
  nest: Nest,
  { rows, nodes, states, lanes, columns }: Split & { readonly columns: ColumnPlan },
): void {
  const cycles = pointsOfChunk(rows) * (typicalValue(columns.axis.extent) / 8);
  writeChunks(nest, { rows, work: { lanes, instances: 1, cycles, isWhole: true } }, ([frame], { number, part }) => {
    invariant(frame !== undefined, 'a chunk of rows has no frame');
    const deliver = ({ node, values, frame: inner }: ColumnStates): void => {
      storeStates(nest, { rows, states, node, values, chunk: number }, inner);
    };
    writeColumns(nest, { plan: columns, nodes, range: wholeRange(columns.axis), ahead: [], part, deliver }, frame);
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
